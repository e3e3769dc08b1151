"""Writes a file atomically, mode 0600, from parts: what is there stays until the new content is on the disk."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

__all__ = ["write_private"]


def write_private(file: Path, parts: Iterable[bytes]) -> None:
    """Write a file in the place of what is there. For a thread: no step of it is long. OSError."""
    # One name, so that what is left of a writer that was killed does not add up.
    draft = file.with_name(f"{file.name}.draft")
    draft.unlink(missing_ok=True)
    try:
        with open(draft, "xb", opener=_private) as out:
            out.writelines(parts)
            out.flush()
            os.fsync(out.fileno())  # else a crash may leave the name with no content
        draft.replace(file)
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
