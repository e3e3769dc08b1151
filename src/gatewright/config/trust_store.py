"""`Trust`: keeps digests of accepted configuration files, and which files may use a secret, in `trust.json` of the user's state folder.

That folder is the user's own: neither a project nor its `[storage] path` can say where it is.
A file that cannot be read is an error and never an empty one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

from gatewright.storage.errors import StoreError
from gatewright.storage.private_file import alone, replace_file

__all__ = ["Accepted", "Trust"]


class Accepted(msgspec.Struct, frozen=True):
    """What was accepted of one file: a keyed digest for each of its entries, so that no value can be read here."""

    salt: str
    entries: Mapping[str, str]


class _Content(msgspec.Struct):
    configurations: dict[str, Accepted] = {}
    """By absolute path."""
    secrets: dict[str, dict[str, list[str]]] = {}
    """State folder → name → absolute paths of the configurations that may use it."""


class Trust:
    """The file `trust.json` of one folder. Methods raise `StoreError` where it cannot be read or written."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "trust.json"
        """Replaced whenever something changes."""
        self._lock = folder / "trust.lock"

    def accepted(self, config: Path) -> Accepted | None:
        """What was accepted of a file; None where nothing ever was."""
        return self._read().configurations.get(str(config))

    def accept(self, config: Path, accepted: Accepted) -> None:
        """Remember a file as it is now."""
        with self._changed() as content:
            content.configurations[str(config)] = accepted

    def forget(self, config: Path) -> bool:
        """Take an acceptance back: True where there was one."""
        with self._changed() as content:
            return content.configurations.pop(str(config), None) is not None

    def users(self, store: Path, secret: str) -> list[str]:
        """The configurations that may use a secret of a state folder."""
        return self._read().secrets.get(str(store), {}).get(secret, [])

    def allow(self, store: Path, secret: str, configs: Iterable[Path]) -> list[Path]:
        """Let configurations use a secret of a state folder, beside those that may already; which of them are new."""
        with self._changed() as content:
            users = content.secrets.setdefault(str(store), {}).setdefault(secret, [])
            new = [one for one in dict.fromkeys(configs) if str(one) not in users]
            users += map(str, new)
        return new

    def disallow(self, store: Path, secret: str, configs: Collection[Path] | None = None) -> None:
        """These configurations may not use this secret any more; nobody may where none are named."""
        with self._changed() as content:
            named = content.secrets.get(str(store), {})
            gone = set(map(str, configs or ()))
            left = [] if configs is None else [n for n in named.get(secret, []) if n not in gone]
            named.pop(secret, None)
            if left:
                named[secret] = left

    def _read(self) -> _Content:
        try:
            return msgspec.json.decode(self.file.read_bytes(), type=_Content)
        except FileNotFoundError:
            return _Content()
        except (OSError, msgspec.MsgspecError) as problem:
            raise StoreError(
                f"{self.file}, which says what configurations may do, cannot be read: {problem}; remove it to begin anew"
            ) from None

    @contextmanager
    def _changed(self) -> Iterator[_Content]:
        """The content, written when the block ends; one process at a time."""
        try:
            with alone(self._lock):
                content = self._read()
                yield content
                replace_file(self.file, msgspec.json.encode(content, order="deterministic"))
        except OSError as problem:
            raise StoreError(f"{self.file} cannot be written: {problem.strerror}") from problem
