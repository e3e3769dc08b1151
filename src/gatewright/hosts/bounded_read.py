"""Reads a foreign configuration file as bytes: regular files only, with a size limit."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from gatewright.hosts.model import CannotRead

__all__ = ["MAX_BYTES", "read_bytes"]

MAX_BYTES = 16 * 1024 * 1024
"""The longest real one is a `~/.claude.json` of a few megabytes."""


def read_bytes(path: Path) -> bytes:
    """The whole file. Raises `CannotRead` (`missing`, `not-regular`, `too-large`, `unreadable`)."""
    try:
        # Opened before it is judged, so that both are the same file; a pipe must not be waited for.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except (FileNotFoundError, NotADirectoryError):
        raise CannotRead("missing", f"{path}: there is no such file", "check the path") from None
    except (OSError, ValueError) as problem:
        why = problem.strerror if isinstance(problem, OSError) else "this is no path"
        raise CannotRead("unreadable", f"{path} cannot be read: {why}", "check the path") from None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise CannotRead("not-regular", f"{path} is not a regular file", "name a file")
        with os.fdopen(descriptor, "rb", closefd=False) as opened:
            content = opened.read(MAX_BYTES + 1) if found.st_size <= MAX_BYTES else b""
    finally:
        os.close(descriptor)
    if found.st_size > MAX_BYTES or len(content) > MAX_BYTES:
        raise CannotRead(
            "too-large",
            f"{path} has more than {MAX_BYTES // 1024 // 1024} MB",
            "name the file that has the servers in it",
        )
    return content
