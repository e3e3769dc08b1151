"""`is_code`: whether a file or folder in a package is itself imported with it, there or not yet, or may hold data; `symlinks_in` packages.

A module, what was compiled, a package or a folder with modules in it (a namespace needs no `__init__`), and a folder of a module's name, which is
found before the module. Nothing is imported by a name that has a dot in it.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections import deque
from collections.abc import Callable, Iterator, Sequence, Set
from importlib.machinery import all_suffixes
from itertools import islice
from operator import attrgetter
from pathlib import Path

from gatewright.servers.module_names import COMPILED, listed, module_name
from gatewright.transport.isolation.rules import real_path

__all__ = ["is_code", "lineage", "symlinks_in"]

_ENTRIES = 10_000
"""So many are looked at in a folder and those in it, for modules: more than that is data."""


def is_code(top: Path, inner: Sequence[str], *, is_package: bool) -> bool:
    """Of `inner`, so far in `top`, which lies in a folder of modules; of all of it where that is empty. Where `top` is no package, it is any
    folder: what is in it is code where it is there already, or in a package on the way."""
    place = top.joinpath(*inner)
    if COMPILED in inner:
        return True
    if not inner:
        return is_package or _is_beside(place)
    if any("." in one for one in inner[:-1]) or not _is_name(place.name):
        return False
    if _is_beside(place):
        return True
    if is_package or any(map(_has_init, _between(place, top))):
        return _is_module(place.name) or _has_modules(place)
    return _has_init(place) or (_is_module(place.name) and place.name in listed(str(place.parent)))


def _between(place: Path, top: Path) -> Iterator[Path]:
    return (one for one in place.parents if top in one.parents)


def _is_module(entry: str) -> bool:
    """Of any Python: the next start may be one of another."""
    return entry.endswith(tuple(all_suffixes()))


def _is_name(entry: str) -> bool:
    return "." not in entry or _is_module(entry)


def _is_beside(place: Path) -> bool:
    """A module of its name is there, in another form, and one of the two comes before the other: folders with an `__init__` before native
    modules, these before sources."""
    name = module_name(place.name)
    return any(module_name(one) == name for one in listed(str(place.parent)) if one != place.name)


def _has_init(folder: Path) -> bool:
    return any(os.path.exists(folder / f"__init__{one}") for one in all_suffixes())  # noqa: PTH110 - that of Path raises where this user may not look


def _has_modules(place: Path) -> bool:
    """At whatever depth."""
    return any(_is_module(one.name) and "." not in module_name(one.name) for one in _entries(str(place)))  # fmt: skip


def lineage(path: Path) -> set[Path]:
    """It and the folders that it is in."""
    real = real_path(path)
    return {real, *real.parents}


def symlinks_in(
    folder: Path, known: Set[Path], changed: Set[Path] = frozenset()
) -> Iterator[tuple[str, ...]]:
    """The way to each link in a folder of modules, and in the packages that are in it, as imports follow them; not in those packages that are
    known to be nobody's to change, or are in such a folder: they are many. What lies in a place that is `changed` by a server is not gone
    through: its links decide for nobody else, and its files keep no other from being looked at."""
    packages = list[str]()
    is_known = not known.isdisjoint((folder, *folder.parents))
    for one in _scanned(str(folder)):
        if _is_symlink(one):
            yield (one.name,)
        path = folder / one.name
        if not is_known and "." not in one.name and path not in known and _has_init(path):
            packages.append(one.path)
    for package in packages:
        own = lineage(Path(package))
        for one in _entries(package, lambda path, own=own: changed.isdisjoint(lineage(path) - own)):  # type: ignore[misc]
            if _is_symlink(one):
                yield Path(one.path).relative_to(folder).parts


def _is_symlink(entry: os.DirEntry[str]) -> bool:
    """No, where this user may not look: some file systems list names alone."""
    with contextlib.suppress(OSError):
        return entry.is_symlink()
    return False


def _entries(
    place: str, enters: Callable[[Path], bool] = lambda _: True
) -> Iterator[os.DirEntry[str]]:
    """Of a folder and those in it that may be packages and may be entered, the nearest first, links followed, each folder once."""
    return islice(_walked(place, enters), _ENTRIES)


def _walked(place: str, enters: Callable[[Path], bool]) -> Iterator[os.DirEntry[str]]:
    todo, seen = deque([place]), {_folder(place)}
    while todo:
        for one in _scanned(todo.popleft(), _ENTRIES):
            yield one
            if "." not in one.name and one.name != COMPILED:
                found = _folder(one.path)
                if found is not None and found not in seen and enters(Path(one.path)):
                    seen.add(found)
                    todo.append(one.path)


def _folder(path: str) -> tuple[int, int] | None:
    """Which it is, by any of its names; None where it is none."""
    try:
        found = os.stat(path)  # noqa: PTH116 - names alone
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISDIR(found.st_mode) else None


def _scanned(folder: str, most: int | None = None) -> list[os.DirEntry[str]]:
    """At most so many; none where this user may not look. What an entry is, the listing itself says of most."""
    try:
        with os.scandir(folder) as found:
            return sorted(islice(found, most), key=attrgetter("name"))
    except OSError:
        return []
