"""Atomic replacement of a private file (draft, fsync, rename), whole or from parts, and a lock for read-modify-write.

The draft of `replace_file` stands beside the file under a name nobody else has, so two writers at once leave the
content of one of them. Who changes what stands there, rather than replacing it, asks for `alone` first.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

__all__ = ["alone", "drafted", "replace_file", "replace_from_parts"]


def replace_file(path: Path, content: bytes, *, mode: int = 0o600) -> None:
    """Write `content` where `path` is, with `mode`; the folder (0700) is made if needed. Raises
    `OSError`, and then the old content still stands."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with drafted(path, content, mode=mode):
        pass


def replace_from_parts(path: Path, parts: Iterable[bytes]) -> None:
    """The same from parts, of what is long: for a thread, as no step of it is. For one writer at a time, in a folder that is there."""
    # One name, so that what is left of writers that were killed does not add up.
    draft = path.with_name(f"{path.name}.draft")
    draft.unlink(missing_ok=True)
    with _filled(os.open(draft, _NEW, 0o600), draft, path, parts):
        pass


def drafted(
    path: Path, content: bytes, *, mode: int = 0o600
) -> contextlib.AbstractContextManager[Path]:
    """A file with this content beside `path`, whose place it takes at the end; gone where something fails. Raises `OSError`."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".new", dir=path.parent)
    return _filled(descriptor, Path(name), path, (content,), mode)


_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


@contextlib.contextmanager
def _filled(
    descriptor: int, draft: Path, path: Path, parts: Iterable[bytes], mode: int = 0o600
) -> Iterator[Path]:
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        yield draft
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
