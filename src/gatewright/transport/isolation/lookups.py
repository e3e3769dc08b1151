"""`steps`: resolves a path as the kernel does, entry by entry, through symlinks; `symlink_below`: the first that others may change.

A path means what the links on its way lead to at that moment. So whoever may replace an entry on the way decides what the path means.
"""

from __future__ import annotations

import stat
from collections.abc import Collection, Container, Iterator
from pathlib import Path
from typing import Literal

import msgspec

from gatewright.transport.isolation.rules import CannotIsolate

__all__ = ["Step", "steps", "symlink_below", "symlinks_to"]

_MOST_LINKS = 40
"""So many links the system itself follows."""


class Step(msgspec.Struct, frozen=True):
    """One entry on the way to a path."""

    folder: Path
    """The folder that it is in, by its real path."""
    name: str
    kind: Literal["folder", "link", "file", "missing"]
    """`file` is whatever is neither of the others; what cannot be looked at is `missing`."""
    last: bool
    """Whether nothing comes after it: it is what the path means, or a link that stands for that."""

    @property
    def path(self) -> Path:
        """Its own path."""
        return self.folder / self.name


def steps(path: Path) -> Iterator[Step]:
    """The entries, in the order of the lookup. `path` is absolute. Raises `CannotIsolate` where links lead in a circle."""
    folder, todo, links = Path("/"), [*reversed(path.parts[1:])], 0
    while todo:
        name = todo.pop()
        if name == "..":
            folder = folder.parent
            if not todo and folder.name:  # nothing leads there but this: it is what the path means
                yield Step(folder.parent, folder.name, _kind(folder), last=True)
            continue
        step = Step(folder, name, _kind(folder / name), not todo)
        yield step
        if step.kind != "link":
            folder /= name
            continue
        if (links := links + 1) > _MOST_LINKS:
            raise CannotIsolate(f"{path}: there are too many links on the way")
        target = _target(step.path)
        folder = Path("/") if target.is_absolute() else folder
        todo += [one for one in reversed(target.parts) if one != "/"]


def symlink_below(
    path: Path, folders: Collection[Path], fixed: Container[Path] = ()
) -> Path | None:
    """The first link on the way to a path that lies in one of these folders, which are real paths, and is not `fixed`; None where there
    is none."""
    for one in symlinks_to(path) if folders else ():
        if one not in fixed and any(one.parent.is_relative_to(folder) for folder in folders):
            return one
    return None


def symlinks_to(path: Path) -> Iterator[Path]:
    """The links on the way to a path, each by the real path of its folder. Raises `CannotIsolate`."""
    return (step.path for step in steps(path) if step.kind == "link")


def _kind(path: Path) -> Literal["folder", "link", "file", "missing"]:
    try:
        mode = path.lstat().st_mode
    except (OSError, ValueError):
        return "missing"
    if stat.S_ISLNK(mode):
        return "link"
    return "folder" if stat.S_ISDIR(mode) else "file"


def _target(link: Path) -> Path:
    try:
        return link.readlink()
    except OSError as problem:  # it was one a moment ago
        raise CannotIsolate(f"{link} is being replaced: {problem.strerror}") from None
