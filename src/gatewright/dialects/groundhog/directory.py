"""Tool `directory_list`: lists a folder below configured roots, safe against symlink races. Source: Groundhog, "Tool Invocation".

Theory of safety: the path is resolved once, links and all, and compared with the roots as they really are;
then that real path is opened from the root downwards, one component at a time and never through a link, and
folders are read through the descriptors that this gave. A link that is put there in between is an error,
not a way out. Links that are found are listed as links and never followed.

Everything is bounded before it is read: entries, depth, and the time that is left.
Plain functions of the standard library only, so that they also run in a process without the gateway.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

__all__ = ["DEFINITION", "NotAllowed", "Unlistable", "list_directory"]

ENTRIES = 1000
ENTRIES_MOST = 10_000
DEPTH = 16
DEPTH_MOST = 64
_PATH_CHARS = 4096

DEFINITION: Mapping[str, Any] = {
    "title": "List a directory",
    "description": "List the entries of a directory, without following symbolic links.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "path": {
                "type": "string",
                "minLength": 1,
                "maxLength": _PATH_CHARS,
                "description": "The directory: absolute, or from the first allowed root.",
            },
            "recursive": {"type": "boolean", "default": False},
            "max_depth": {
                "type": "integer",
                "minimum": 1,
                "maximum": DEPTH_MOST,
                "default": DEPTH,
                "description": "How deep to go where recursive; 1 is the directory itself.",
            },
            "include_hidden": {
                "type": "boolean",
                "default": False,
                "description": "Whether names that begin with a dot are listed.",
            },
            "max_entries": {
                "type": "integer",
                "minimum": 1,
                "maximum": ENTRIES_MOST,
                "default": ENTRIES,
            },
        },
        "required": ["path"],
        "additionalProperties": False,
    },
    "outputSchema": {
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "entries": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "name": {"type": "string"},
                        "path": {"type": "string"},
                        "type": {"enum": ["file", "directory", "symlink", "other"]},
                        "size": {"type": "integer", "description": "Bytes."},
                        "permissions": {"type": "string"},
                        "modified": {"type": "string", "format": "date-time"},
                    },
                    "required": ["name", "path", "type", "size", "permissions", "modified"],
                },
            },
            "metadata": {
                "type": "object",
                "properties": {
                    "total_entries": {"type": "integer"},
                    "execution_time": {"type": "number", "description": "Seconds."},
                    "truncated": {"type": "boolean"},
                },
                "required": ["total_entries", "execution_time", "truncated"],
            },
        },
        "required": ["path", "entries", "metadata"],
    },
    "annotations": {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True},
    "security": {
        "risk_level": "moderate",
        "permissions_required": ["filesystem.read"],
        "validator": "none",
        "confirmation_required": False,
    },
}


class NotAllowed(Exception):  # noqa: N818 - a verdict
    """The path is outside of every root."""


class Unlistable(Exception):  # noqa: N818
    """The path is inside, and cannot be listed: it is no directory, is not there, or may not be read."""


def list_directory(
    arguments: Mapping[str, Any],
    roots: Sequence[str],
    *,
    stop: Callable[[], bool] = lambda: False,
) -> dict[str, Any]:
    """The result as `DEFINITION` describes it. `arguments` have passed the schema; `roots` are absolute.

    `stop` is asked before each directory: once it is true, the rest is left out and `truncated` is set.
    Raises `NotAllowed` or `Unlistable`, whose texts name nothing outside the roots.
    """
    began = time.monotonic()
    path = arguments["path"]
    depth = arguments.get("max_depth", DEPTH) if arguments.get("recursive", False) else 1
    root, inside = _placed(path, roots)
    with ExitStack() as opened:
        here = _open_below(root, inside, opened)
        listing = _Listing(
            arguments.get("max_entries", ENTRIES), arguments.get("include_hidden", False), stop
        )
        listing.walk(here, path.rstrip("/") or "/", depth)
    return {
        "path": path,
        "entries": listing.entries,
        "metadata": {
            "total_entries": len(listing.entries),
            "execution_time": round(time.monotonic() - began, 6),
            "truncated": listing.truncated,
        },
    }


def _placed(path: str, roots: Sequence[str]) -> tuple[str, str]:
    """The root that a path is below, and the way down from there; both real, without links."""
    if not roots or "\x00" in path or path.startswith("~"):
        raise NotAllowed
    real = os.path.realpath(os.path.join(roots[0], path))  # noqa: PTH118 - a way up must count
    for root in roots:
        base = os.path.realpath(root)
        if real == base or real.startswith(base.rstrip("/") + "/"):
            return base, os.path.relpath(real, base)
    raise NotAllowed


def _open_below(root: str, inside: str, opened: ExitStack) -> int:
    """A descriptor of the directory, reached without a link."""
    # `root` is real as well; if a link was put in its place since, O_NOFOLLOW fails.
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    here: int | None = None
    try:
        for name in (root, *(one for one in inside.split("/") if one != ".")):
            here = os.open(name, flags, dir_fd=here)
            opened.callback(os.close, here)
    except OSError as problem:
        raise Unlistable(_why(problem)) from None
    if here is None:
        raise NotAllowed
    return here


def _why(problem: OSError) -> str:
    """What is wrong, without the path that the system would name."""
    return (os.strerror(problem.errno) if problem.errno else "it cannot be read").lower()


class _Listing:
    """The entries so far, and what bounds them."""

    def __init__(self, most: int, hidden: bool, stop: Callable[[], bool]) -> None:
        self.entries: list[dict[str, Any]] = []
        self.truncated = False
        self._most = most
        self._hidden = hidden
        self._stop = stop

    def walk(self, folder: int, path: str, depth: int) -> None:
        """List a directory and, so deep, those in it; a directory that cannot be read has no entries."""
        for name, facts in self._read(folder):
            if len(self.entries) >= self._most:
                self.truncated = True
                return
            shown = name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
            below = f"{path.rstrip('/')}/{shown}"
            self.entries.append(_entry(shown, below, facts))
            if depth > 1 and stat.S_ISDIR(facts.st_mode):
                self._descend(folder, name, below, depth - 1)
            if self.truncated:
                return

    def _descend(self, folder: int, name: str, path: str, depth: int) -> None:
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            inner = os.open(name, flags, dir_fd=folder)
        except OSError:
            return
        try:
            self.walk(inner, path, depth)
        finally:
            os.close(inner)

    def _read(self, folder: int) -> Iterator[tuple[str, os.stat_result]]:
        """Names in their order, each with what it is. Of a directory that has more than may ever be listed,
        only so many are looked at, in no order."""
        if self._stop():
            self.truncated = True
            return
        names, whole = self._names(folder)
        for name in sorted(names):
            try:
                yield name, os.stat(name, dir_fd=folder, follow_symlinks=False)
            except OSError:
                continue  # it went while we read
        self.truncated = self.truncated or not whole

    def _names(self, folder: int) -> tuple[list[str], bool]:
        """The names that may be listed, and whether these are all."""
        names: list[str] = []
        with os.scandir(folder) as found:
            for number, one in enumerate(found, 1):
                # Also among names that are skipped: there may be millions of them.
                if number % 256 == 0 and self._stop():
                    return names, False
                if one.name.startswith(".") and not self._hidden:
                    continue
                if len(names) >= ENTRIES_MOST:
                    return names, False
                names.append(one.name)
        return names, True


def _entry(name: str, path: str, facts: os.stat_result) -> dict[str, Any]:
    return {
        "name": name,
        "path": path,
        "type": _kind(facts.st_mode),
        "size": facts.st_size,
        "permissions": stat.filemode(facts.st_mode)[1:],
        "modified": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(facts.st_mtime)),
    }


def _kind(mode: int) -> str:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "directory"
    return "symlink" if stat.S_ISLNK(mode) else "other"
