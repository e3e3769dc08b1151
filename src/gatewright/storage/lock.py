"""Lock file of the state folder: one gateway, or one migration, at a time; notes that an audit trail exists.

The lock belongs to the open file, so the operating system gives it back when the process dies.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gatewright.storage.errors import StoreBusyError, StoreError

__all__ = ["FolderLock", "has_recorded", "without_gateway"]

log = logging.getLogger("gatewright.storage")

NAME = "lock"
RECORDED = b"recorded\n"
_AGAIN_S = 0.02
_NAMED_S = 1.0
"""How long a gateway that holds the folder is waited for: it may be about to end."""
_UNNAMED_S = 60.0
"""The same of a command that changes the form of what is in it."""


class FolderLock:
    """Holds `folder` from construction to `release`. Creates the folder (mode 0700) if needed."""

    def __init__(self, folder: Path) -> None:
        """Raises `StoreBusyError` when another process holds it, `StoreError` when it cannot be."""
        path = folder / NAME
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as problem:
            raise StoreError(f"the state folder {folder} cannot be used: {problem}") from problem
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            owner = _owner(self._descriptor)
            os.close(self._descriptor)
            raise StoreBusyError(
                f"another gateway{f' (process {owner})' if owner else ''} uses the state folder "
                f"{folder}: stop it, or give this one another folder"
            ) from problem
        self.recorded = RECORDED in os.read(self._descriptor, 64)  # before `_say` writes over it
        """Whether something was ever written into the record of this folder."""
        self._failed = False
        try:
            self._say(f"{os.getpid()}\n".encode(), recorded=self.recorded)
        except StoreError:
            os.close(self._descriptor)
            raise

    def keep(self) -> None:
        """Note in the lock file that the folder has an audit trail, so that the loss of the trail is noticed. Called with each
        record: where it fails the record is there all the same, and the next one tries again."""
        if self.recorded:
            return
        try:
            self._say(f"{os.getpid()}\n".encode(), recorded=True)
        except StoreError as problem:
            if not self._failed:
                log.warning("that there is a record is not noted yet: %s", problem)
            self._failed = True

    def release(self) -> None:
        """Give the folder back. The file stays: removing it would let two in at once."""
        try:
            with suppress(StoreError):  # a process that is no more is taken for nobody
                self._say(b"", recorded=self.recorded)
        finally:
            os.close(self._descriptor)

    def _say(self, who: bytes, *, recorded: bool) -> None:
        """Write down who holds it. Raises `StoreError`."""
        text = who + (RECORDED if recorded else b"")
        try:
            # Cut behind what is written, and not before: on a full disk the mark would be gone.
            if os.pwrite(self._descriptor, text, 0) != len(text):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.ftruncate(self._descriptor, len(text))
        except OSError as problem:
            raise StoreError(f"the state folder cannot be written to: {problem}") from problem
        self.recorded = recorded


def has_recorded(folder: Path) -> bool:
    """Whether something was ever written into the record of a folder that nobody holds."""
    try:
        return RECORDED in (folder / NAME).read_bytes()
    except FileNotFoundError:
        return False


@contextmanager
def without_gateway(folder: Path, why: str) -> Iterator[None]:
    """While inside, no gateway runs on a folder, which is there, and no other process is inside. `why` says why that has to be, and
    what to do about it. Raises `StoreBusyError` where one runs, `StoreError`."""
    try:
        descriptor = os.open(folder / NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as problem:
        raise StoreError(f"the state folder {folder} cannot be used: {problem}") from problem
    try:
        _wait(descriptor, folder, why)
        yield
    finally:
        os.close(descriptor)


def _wait(descriptor: int, folder: Path, why: str) -> None:
    began = time.monotonic()
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            owner = _owner(descriptor)
            # A gateway writes its process id into the file, a command that migrates does not.
            if time.monotonic() - began > (_NAMED_S if owner else _UNNAMED_S):
                who = f"a gateway (process {owner})" if owner else "another process"
                raise StoreBusyError(
                    f"{who} uses the state folder {folder}, {why}, and try again"
                ) from problem
            time.sleep(_AGAIN_S)
        else:
            return


def _owner(descriptor: int) -> str:
    """The process that says that it holds the folder; empty where none does."""
    word = os.pread(descriptor, 32, 0).partition(b"\n")[0]
    return word.decode("ascii", "replace") if word.isdigit() else ""
