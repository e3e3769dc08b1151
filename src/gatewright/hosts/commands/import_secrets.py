"""`Store`: secrets that `gatewright import` moves into the secret store, for one configuration alone; each write can be undone."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from gatewright.config import Settings
from gatewright.config.secret_users import allow, is_for_alone
from gatewright.config.secrets import Secrets, open_secrets
from gatewright.storage.errors import StoreError

__all__ = ["Store"]


class Store:
    """The secret store of a configuration, opened when the first secret is asked for."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._opened: Secrets | None = None

    def open(self) -> Secrets:
        """Raises `StoreError`."""
        if self._opened is None:
            place = self._settings.secrets
            folder = self._settings.storage.path
            self._opened = open_secrets(folder, place.store, key_file=place.key_file)
        return self._opened

    def put(self, name: str, value: str, config: Path) -> Callable[[], None]:
        """Keep a value, for this configuration; what is returned puts both back as they were. Raises `StoreError`."""
        before = self.get(name)
        forbid = allow(os.environ, self._settings.storage.path, name, [config])
        try:
            self.open().put(name, value)
        except BaseException:
            forbid()
            raise

        def undo() -> None:
            if before is None:
                self.open().remove(name)
            else:
                self.open().put(name, before)
            forbid()

        return undo

    def is_for(self, name: str, config: Path) -> bool:
        """Whether no other configuration may use a secret. Raises `StoreError`."""
        return is_for_alone(os.environ, self._settings.storage.path, name, config)

    def get(self, name: str) -> str | None:
        """The value; None where there is none, or nobody can say."""
        try:
            return self.open().get(name)
        except StoreError:
            return None
