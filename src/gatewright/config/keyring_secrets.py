"""Secret store in the operating system's keyring, by the optional library `keyring`; keeps the names in a file of the state folder.

A keyring cannot say what it holds, so the names (not the values) stand in `secrets.names` in the
state folder. Each state folder is a service of its own: two gateways do not see each other's.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from gatewright.config.secret_rules import check_name, check_value
from gatewright.storage.errors import StoreError
from gatewright.storage.private_file import alone, replace_file

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

__all__ = ["KeyringSecrets", "is_usable"]


def is_usable() -> bool:
    """Whether a keyring answers that keeps what it is given. Those that the library itself does not
    recommend (priority below 1: none at all, or plain text) do not count."""
    backend = _backend()
    try:
        return backend is not None and backend.priority >= 1
    except Exception:  # noqa: BLE001 - a backend says in its own words that it is not there
        return False


def _backend() -> KeyringBackend | None:
    try:
        import keyring  # noqa: PLC0415 - optional, and slow: it looks for every backend
    except ImportError:
        return None
    try:
        return keyring.get_keyring()
    except Exception:  # noqa: BLE001 - as above
        return None


class KeyringSecrets:
    """The keyring's entries of one state folder."""

    def __init__(self, folder: Path) -> None:
        self._index = folder / "secrets.names"
        self._lock = folder / "secrets.lock"
        self._service = f"gatewright {folder}"

    @property
    def where(self) -> str:
        """For people: the keyring's name."""
        backend = _backend()
        return "keyring" if backend is None else f"keyring {backend.name}"

    def exists(self) -> bool:
        """Whether something was ever kept here."""
        return self._index.exists()

    def names(self) -> list[str]:
        """What there is, sorted. Raises `StoreError`."""
        try:
            return sorted(msgspec.json.decode(self._index.read_bytes(), type=list[str]))
        except FileNotFoundError:
            return []
        except (OSError, msgspec.DecodeError) as problem:
            raise StoreError(f"{self._index} cannot be read: {problem}") from problem

    def get(self, name: str) -> str | None:
        """The value, None where there is none. Raises `StoreError`."""
        if name not in self.names():
            return None
        with self._asked() as backend:
            return backend.get_password(self._service, name)

    def put(self, name: str, value: str) -> None:
        """Keep a value, over the one before it. Raises `ValueError` and `StoreError`."""
        check_name(name)
        check_value(value)
        with self._asked() as backend, alone(self._lock):
            # The value first: a crash leaves a value without a name, never a name without a value.
            backend.set_password(self._service, name, value)
            self._keep({*self.names(), name})

    def remove(self, name: str) -> bool:
        """Forget a value: True where there was one. Raises `StoreError`."""
        if name not in self.names():
            return False
        with self._asked() as backend, alone(self._lock):
            names = {*self.names()}
            if name not in names:
                return False
            if backend.get_password(self._service, name) is not None:
                backend.delete_password(self._service, name)
            self._keep(names - {name})
        return True

    def _keep(self, names: set[str]) -> None:
        replace_file(self._index, msgspec.json.encode(sorted(names)))

    @contextmanager
    def _asked(self) -> Iterator[KeyringBackend]:
        backend = _backend()
        if backend is None:
            raise StoreError("there is no keyring here: install gatewright[keyring]")
        try:
            yield backend
        except StoreError:
            raise
        except OSError as problem:
            raise StoreError(f"{self._index} cannot be written: {problem.strerror}") from problem
        except Exception as problem:
            raise StoreError(
                f"the keyring did not do it ({type(problem).__name__}): unlock it, or use "
                '[secrets] store = "file"'
            ) from problem
