"""`open_secrets` chooses the store of `${secret:NAME}`: the operating system's keyring or a sealed file; `Secrets`: interface of both.

Secrets are kept by the operating system's keyring where there is one, else in a sealed file in the
state folder (`sealed_file`, which says what that protects from). The first secret decides which of
the two, and what is decided stays: a gateway that is started later by a service manager, where no
keyring answers, must say so instead of looking into an empty file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Protocol

from gatewright.storage.errors import StoreError

__all__ = ["CHANGED", "Secrets", "StoreWord", "open_secrets"]

StoreWord = Literal["auto", "keyring", "file"]

CHANGED = ("secrets.sealed", "secrets.names")
"""Files of the state folder of which one is replaced whenever a secret is."""


class Secrets(Protocol):
    """A place for secrets. Every method raises `StoreError` when the place cannot be used."""

    @property
    def where(self) -> str:
        """For people: the keyring's name, or the file."""

    def names(self) -> list[str]:
        """What there is, sorted."""

    def get(self, name: str) -> str | None:
        """The value, None where there is none."""

    def put(self, name: str, value: str) -> None:
        """Keep a value, over the one before it."""

    def remove(self, name: str) -> bool:
        """Forget a value: True where there was one."""


def open_secrets(
    folder: Path, store: StoreWord = "auto", *, key_file: Path | None = None
) -> Secrets:
    """The secrets of the state folder. Nothing is made, read or unlocked before it is needed.

    `key_file` is where the sealed file's key is, `secrets.key` beside it unless given. Raises
    `StoreError` where the keyring was chosen and is not there.
    """
    # Each costs an import that a gateway without secrets need not pay.
    from gatewright.config.keyring_secrets import KeyringSecrets, is_usable  # noqa: PLC0415
    from gatewright.config.sealed_file import SealedFile  # noqa: PLC0415

    sealed = SealedFile(folder, key_file)
    ring = KeyringSecrets(folder)
    if store == "file" or (store == "auto" and sealed.exists()):
        return sealed
    if store == "keyring" or ring.exists():
        if not is_usable():
            raise StoreError(
                "the secrets are kept in the keyring, and no keyring can be used here: log in to "
                "the desktop and install gatewright[keyring], or set them again with "
                '[secrets] store = "file"'
            )
        return ring
    return ring if is_usable() else sealed
