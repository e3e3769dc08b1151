"""Atomic replacement of a private file (draft and rename), and a lock for read-modify-write.

The draft stands beside the file under a name nobody else has, so two writers at once leave the
content of one of them. Who changes what stands there, rather than replacing it, asks for `alone` first.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

__all__ = ["alone", "replace_file"]


def replace_file(path: Path, content: bytes, *, mode: int = 0o600) -> None:
    """Write `content` where `path` is, with `mode`; the folder (0700) is made if needed. Raises
    `OSError`, and then the old content still stands."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".new", dir=path.parent)
    draft = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)  # flushed before: else a crash may leave the new name with no content
    except BaseException:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise


@contextlib.contextmanager
def alone(lock: Path) -> Iterator[None]:
    """While inside, nobody else is who names the same file, or the same folder. The file is made if
    needed and stays: removing it would let two in. Raises `OSError`."""
    if lock.is_dir():
        descriptor = os.open(lock, os.O_RDONLY | os.O_CLOEXEC)
    else:
        lock.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
