"""A keyring that keeps what it is given in a file: what a desktop's does, without the desktop."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import keyring
from keyring.backend import KeyringBackend
from keyring.backends import fail, null
from keyring.errors import KeyringLocked, PasswordDeleteError

__all__ = ["FileRing", "LockedRing", "use"]


class FileRing(KeyringBackend):
    """Keeps its entries in the file that the variable TEST_RING names."""

    priority = 5.0

    @property
    def _path(self) -> Path:
        return Path(os.environ["TEST_RING"])

    def _held(self) -> dict[str, str]:
        found: dict[str, str] = json.loads(self._path.read_text()) if self._path.exists() else {}
        return found

    def get_password(self, service: str, username: str) -> str | None:
        return self._held().get(f"{service}|{username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        self._path.write_text(json.dumps({**self._held(), f"{service}|{username}": password}))

    def delete_password(self, service: str, username: str) -> None:
        held = self._held()
        if held.pop(f"{service}|{username}", None) is None:
            raise PasswordDeleteError(username)
        self._path.write_text(json.dumps(held))


class LockedRing(FileRing):
    """Nobody is there to unlock it."""

    def get_password(self, service: str, username: str) -> str | None:
        raise KeyringLocked("hunter2 is not to be shown")


_MADE: dict[str, Callable[[], KeyringBackend]] = {
    "file": FileRing,
    "locked": LockedRing,
    "none": fail.Keyring,
    "forgets": null.Keyring,
}


def use(name: str) -> None:
    """From here on this process has that keyring."""
    keyring.set_keyring(_MADE[name]())
