"""One gateway for one state folder: two writers would fork the hash chain.

The lock belongs to the open file, so the operating system gives it back when the process dies.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from gatewright.stores.errors import StoreBusyError, StoreError

__all__ = ["FolderLock"]


class FolderLock:
    """Holds `folder` from construction to `release`. Creates the folder (mode 0700) if needed."""

    def __init__(self, folder: Path) -> None:
        """Raises `StoreBusyError` when another process holds it, `StoreError` when it cannot be."""
        path = folder / "lock"
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as problem:
            raise StoreError(f"the state folder {folder} cannot be used: {problem}") from problem
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            owner = os.read(self._descriptor, 32).decode("ascii", "replace").strip()
            os.close(self._descriptor)
            raise StoreBusyError(
                f"another gateway{f' (process {owner})' if owner else ''} uses the state folder "
                f"{folder}: stop it, or give this one another folder"
            ) from problem
        os.ftruncate(self._descriptor, 0)
        os.write(self._descriptor, f"{os.getpid()}\n".encode())

    def release(self) -> None:
        """Give the folder back. The file stays: removing it would let two in at once."""
        os.ftruncate(self._descriptor, 0)
        os.close(self._descriptor)
