"""Reads a host's config file (regular, bounded); replaces it atomically or removes it, if unchanged since; keeps mode and owner.

Nobody who reads the file sees half of it, its mode and owner stay, and a link stays a link: what it
points to is replaced.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from gatewright.hosts.model import CannotRead
from gatewright.hosts.served_bounds import check_weight
from gatewright.secret_scanning.message_text import shown
from gatewright.storage.private_file import drafted

__all__ = [
    "MAX_BYTES",
    "CannotEdit",
    "Unreadable",
    "read_bytes",
    "read_text",
    "remove_folders",
    "replace_text",
    "too_large",
]

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
        raise too_large(path)
    check_weight(path, content)
    return content


def too_large(name: Path | str) -> CannotRead:
    """Why more than `MAX_BYTES` of a file or of a stream are not read."""
    return CannotRead(
        "too-large",
        f"{name} has more than {MAX_BYTES // 1024 // 1024} MB",
        "name the file that has the servers in it",
    )


class Unreadable(Exception):  # noqa: N818 - says what the text is
    """The text is not what the host expects. `line` counts from 1; 0 where there is none."""

    def __init__(self, what: str, line: int = 0) -> None:
        self.what = shown(what)
        super().__init__(f"line {line}: {self.what}" if line else self.what)
        self.line = line


class CannotEdit(Exception):  # noqa: N818 - a verdict about a text, not a malfunction
    """The text is right, but the change cannot be made in it without touching anything else."""

    def __init__(self, what: str) -> None:
        super().__init__(shown(what))


def read_text(path: Path) -> str | None:
    """The text, mark of the byte order included; None where there is no file.

    Raises `CannotRead`, and `Unreadable` with the line for a text that is not UTF-8.
    """
    try:
        content = read_bytes(path)
    except CannotRead as problem:
        if problem.kind == "missing":
            return None
        raise
    try:
        return content.decode()
    except UnicodeDecodeError as problem:
        line = content.count(b"\n", 0, problem.start) + 1
        raise Unreadable("not UTF-8; save the file as UTF-8", line) from None


def replace_text(
    path: Path, text: str | None, *, expected: str | None, private: bool
) -> list[Path]:
    """Put a text in the place of `expected`; None removes the file. Returns the folders it made.

    `private` is for a file that is new: whether others may read it. Raises `CannotEdit` when the file
    is not what was expected, so that what somebody else has written meanwhile is not lost.
    """
    # A rename onto a symbolic link would replace the link.
    target = Path(os.path.realpath(path))
    if read_text(target) != expected:
        raise CannotEdit("it has changed in the meantime")
    if text is None:
        target.unlink()
        return []
    made = _make_folders(target.parent)
    # In the same folder, because only there a rename is one step; mode 0600 from the start, as it may hold secrets.
    with drafted(target, text.encode()) as draft:
        _resemble(draft, target, 0o600 if private else 0o644)
    return made


def remove_folders(folders: list[Path]) -> None:
    """Remove these folders, the innermost first, as far as they are empty."""
    with contextlib.suppress(OSError):
        for folder in folders:
            folder.rmdir()


def _make_folders(folder: Path) -> list[Path]:
    """Make a folder and those above it; the ones that were made, the innermost first."""
    missing = [one for one in [folder, *folder.parents] if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return missing


def _resemble(draft: Path, target: Path, mode: int) -> None:
    """Give the draft the mode and the owner of what it replaces."""
    with contextlib.suppress(FileNotFoundError):
        found = target.stat()
        mode = stat.S_IMODE(found.st_mode)
        if hasattr(os, "chown") and (found.st_uid, found.st_gid) != (os.geteuid(), os.getegid()):
            with contextlib.suppress(PermissionError):
                os.chown(draft, found.st_uid, found.st_gid)
    draft.chmod(mode)
