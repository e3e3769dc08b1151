"""`Trust` (`trust.json`): digests of configuration files a user accepted, secrets each may use; `check_accepted` refuses new or changed files.

A file that is merely found, in or above the working directory, may have come with a foreign project. It names
programs that are started, modules that are imported and addresses that secrets are sent to, so nothing of it is used until
the user has accepted it (decision 0048). What was accepted, and which files may use a secret, is kept in the user's own state
folder: neither a project nor its `[storage] path` can say where that is. A kept file that cannot be read is an error and never an empty one.
"""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec
import platformdirs

from gatewright.command_text import to_type
from gatewright.config.documents import Document
from gatewright.config.problems import Origin, Problem, SettingsError
from gatewright.config.review import Entry, changes, contents, digests, effects, entries
from gatewright.storage.errors import StoreError
from gatewright.storage.private_file import alone, replace_file

__all__ = [
    "Accepted",
    "NotAccepted",
    "Trust",
    "accept",
    "check_accepted",
    "is_accepted",
    "is_taken_back",
    "place_of",
    "trust_of",
]


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
        """Take an acceptance back, and with it whatever secrets the file may use: what is accepted at its place later is another
        file. True where there was something."""
        path, found = str(config), False
        with self._changed() as content:
            found = content.configurations.pop(path, None) is not None
            for named in content.secrets.values():
                for secret, users in tuple(named.items()):
                    found = found or path in users
                    named[secret] = [one for one in users if one != path]
                    if not named[secret]:
                        del named[secret]
        return found

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


_SHOWN_IN_ONE_LINE = 12


class NotAccepted(SettingsError):  # noqa: N818 - says what the file is
    """A configuration was found that nobody accepted as it is. `lines` say what it would do, or what changed."""

    def __init__(self, document: Document, lines: list[str], *, changed: bool) -> None:
        self.document = document
        self.lines = lines
        self.changed = changed
        path = document.path.absolute()
        self.what = (
            "this configuration has changed since it was accepted"
            if changed
            else "this configuration was found here and never accepted"
        )
        self.instead = (
            f"read it, then `{to_type('config trust {}', str(path))}`; "
            "--config FILE uses one without asking"
        )
        said = "; ".join(lines[:_SHOWN_IN_ONE_LINE])
        rest = len(lines) - _SHOWN_IN_ONE_LINE
        said += f"; and {rest} more" if rest > 0 else ""
        whole = f"{self.what}, so nothing of it is used. It says: {said or 'nothing that counts'}"
        super().__init__([Problem(Origin(path), "", whole, self.instead)])


def trust_of(environ: Mapping[str, str]) -> Trust:
    """What this user trusts. Neither `GATEWRIGHT_STATE` nor a configuration moves it: several gateways of one user have it in common."""
    named, home = environ.get("XDG_STATE_HOME"), environ.get("HOME")
    # A relative one would be another folder wherever this runs (XDG Base Directory: to be ignored).
    if named and Path(named).is_absolute():
        return Trust(Path(named) / "gatewright")
    if home and sys.platform not in {"darwin", "win32"}:
        return Trust(Path(home) / ".local" / "state" / "gatewright")
    return Trust(platformdirs.user_state_path("gatewright"))


def place_of(path: Path) -> Path:
    """A file by its folder's real path and its own name: what it names is looked for from that folder, so a link in
    another folder is another configuration."""
    return Path(os.path.realpath(path.absolute().parent)) / path.name


def check_accepted(document: Document, environ: Mapping[str, str]) -> dict[str, str]:
    """The files that were accepted with it, by their path: SHA-256 of the content in hex. Raises `NotAccepted` for a file that
    was not accepted as it is now."""
    try:
        accepted = trust_of(environ).accepted(place_of(document.path))
    except StoreError as problem:
        raise SettingsError(
            [Problem(Origin(document.path), "", str(problem), "or name the file: --config FILE")]
        ) from None
    if accepted is None:
        raise NotAccepted(document, effects(document), changed=False)
    # Files that it names are opened only for somebody who once said yes to it.
    found = entries(document)
    if said := changes(found, accepted.salt, accepted.entries):
        raise NotAccepted(document, said, changed=True)
    return contents(document, found)


def is_accepted(document: Document, environ: Mapping[str, str]) -> bool:
    """Whether a file was accepted as it is now."""
    try:
        check_accepted(document, environ)
    except SettingsError:
        return False
    return True


def is_taken_back(path: Path, environ: Mapping[str, str]) -> bool:
    """Whether nothing is accepted of a file, whatever it was and is; False where that cannot be told."""
    try:
        return trust_of(environ).accepted(place_of(path)) is None
    except StoreError:
        return False


def accept(document: Document, environ: Mapping[str, str]) -> None:
    """Remember that the user accepted a file as it was read; nothing is written where it was accepted so before: gateways look
    anew whenever it is. Raises `StoreError`."""
    if is_accepted(document, environ):
        return
    salt = secrets.token_hex(16)
    found: list[Entry] = entries(document)
    trust_of(environ).accept(place_of(document.path), Accepted(salt, digests(found, salt)))
