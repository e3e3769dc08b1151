"""`Coverings`: bubblewrap mounts that hide files and folders from a sandboxed server, or make them read-only, under every name.

Linux lets nobody rename or remove a mount point of his own namespace, but every folder above one. So a hidden file in a folder
that the child may change is not hidden by what covers the file: the child would move the folder above out of the way and make
another one. Between what it may change and each name that it must not, every folder is therefore a mount of its own (a *step*), a
folder with a link on the way, or with a file that is hidden or not there yet, is a read-only *view* of its entries, and a hidden folder is
*covered*. Missing folders on the way are made.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from gatewright.transport.isolation.lookups import Step, steps
from gatewright.transport.isolation.rules import CannotIsolate, Kept

__all__ = ["Coverings", "Shown"]

_ENTRIES = 200
"""So many has a view at most; each of them is a mount."""
_ESCAPED = ((b"\\040", b" "), (b"\\011", b"\t"), (b"\\012", b"\n"), (b"\\134", b"\\"))
"""How the kernel writes names in its table of mounts, in the order in which that is undone."""


class Shown(msgspec.Struct, frozen=True):
    """One place that the child is shown."""

    place: str
    """Where it finds it."""
    source: Path
    """What that is, by its real path."""
    writable: bool
    own: bool = False
    """Whether it is its home, which is in the state folder and nevertheless its own."""


class _View(msgspec.Struct):
    real: Path
    hidden: set[str] = msgspec.field(default_factory=set)
    kept: set[str] = msgspec.field(default_factory=set)


class Coverings:
    """Those of one child. Methods raise `CannotIsolate`."""

    def __init__(self, shown: Sequence[Shown]) -> None:
        self._shown = shown
        self._by_place = {one.place: one for one in shown}
        self._within = [*_mounted_within(shown)]
        """What the system mounts below the places, which may be a folder that has another name elsewhere."""
        self._known: dict[Path, tuple[int, int] | None] = {}
        self._steps: dict[str, Path] = {}
        self._views: dict[str, _View] = {}
        self._covered: dict[str, None] = {}
        self._kept: dict[str, Path] = {}
        self.fixed: dict[str, Kept] = {}
        """Each name in what the child may write to, of what it nevertheless can only read."""

    def hide(self, path: Path, *, folder: bool = False) -> None:
        """A file or a folder, there or not, of which the child sees nothing. What is a `folder` is made where it is missing."""
        for step in self._way(path, folder=folder):
            for inside, writable in self._names(step.folder):
                if step.kind == "missing" and not writable:
                    continue  # it cannot make it there, and a view would be old as soon as anybody changes what is in it
                if step.last and step.kind != "folder":
                    self._view(inside, step).hidden.add(step.name)
                elif step.last:
                    self._covered[f"{inside}/{step.name}"] = None
                else:
                    self._guard(inside, step, writable=writable)
            if step.last and step.kind == "folder":
                self._check_within(step.path)
                self._covered |= {one.place: None for one in self._shown if self._is_same(one.source, step.path)}  # fmt: skip

    def keep(self, kept: Kept) -> None:
        """The child cannot change this; it may read it where it is shown."""
        for step in self._way(Path(kept.path), folder=False):
            for inside, writable in self._names(step.folder):
                name = f"{inside}/{step.name}"
                if not step.last:
                    self._guard(inside, step, writable=writable)
                elif writable and step.kind == "folder":
                    self._kept[name] = step.path
                elif writable:
                    self._view(inside, step).kept.add(step.name)
                if step.last and writable:
                    self.fixed.setdefault(name, kept)
            if step.last:
                self._keep_places(step.path, kept)

    def _keep_places(self, path: Path, kept: Kept) -> None:
        for one in self._shown:
            is_same = self._is_same(one.source, path)
            is_in = kept.whole and any(self._is_same(above, path) for above in one.source.parents)
            if one.writable and not one.own and (is_same or is_in):
                where = "is" if is_same else f"is in {path},"
                instead = "another folder" if kept.whole else "folders in it"
                raise CannotIsolate(
                    f"{one.place}, which `write` names, {where} {kept.why}; name {instead}, or keep that elsewhere"
                )
            if is_same:
                self._kept[one.place] = path

    def _is_same(self, one: Path, other: Path) -> bool:
        """One file or folder, which may have several names: it is mounted at several places, or has hard links."""
        if one == other:
            return True
        identity = self._identity(other)
        return identity is not None and self._identity(one) == identity

    def nest(self, place: str) -> None:
        """A place within another one that the child may change stays where it is."""
        for above in Path(place).parents:
            one = self._nearest(str(above))
            if one is not None and one.writable and one.place != str(above):
                self._steps[str(above)] = one.source / os.path.relpath(above, one.place)

    def options(self) -> Iterator[str]:
        """The options for all of it, the places too, each before what is in it."""
        names = {*self._by_place, *self._steps, *self._views, *self._covered, *self._kept}
        for name in sorted(names):
            # A view mounts its entries; in what is covered there is nothing.
            is_entry = str(Path(name).parent) in self._views
            is_own = name in self._covered or name in self._views or name in self._kept
            if (is_own or not is_entry) and self._covered.keys().isdisjoint(_parents(name)):
                yield from self._option(name)

    def _option(self, name: str) -> Iterator[str]:
        if name in self._covered:
            yield from ("--tmpfs", name, "--remount-ro", name)
        elif view := self._views.get(name):
            yield from self._entries(name, view)
        else:
            one = self._by_place.get(name)
            source = self._kept.get(name) or (self._steps[name] if one is None else one.source)
            yield from ("--bind" if self._may_change(name) else "--ro-bind", str(source), name)

    # -- what is where

    def _way(self, path: Path, *, folder: bool) -> Iterator[Step]:
        """The steps to a path, with what is missing on the way made where the child, or anybody, could make it otherwise."""
        for step in steps(path):
            found = step
            if step.kind == "missing" and (folder or not step.last):
                found = self._made(step, folder=folder)
            yield found
            if not step.last and found.kind not in ("folder", "link"):
                return

    def _made(self, step: Step, *, folder: bool) -> Step:
        names = self._names(step.folder)
        writable = any(writable for _, writable in names)
        # For a file nothing is made where the child cannot make it; what comes into a hidden folder later would be seen there, too.
        if not names or not (writable or folder):
            return step
        try:
            step.path.mkdir(mode=0o700)
            _given(step)
        except FileExistsError:
            pass
        except OSError as problem:
            if writable:
                raise CannotIsolate(
                    f"{step.path}, which is hidden or kept from it, cannot be made in a folder that it may change: {problem.strerror}"
                ) from None
            return step
        return Step(step.folder, step.name, "folder", step.last)

    def _guard(self, inside: str, step: Step, *, writable: bool) -> None:
        """An entry on the way stays what it is."""
        if not writable:
            return
        if step.kind == "link":
            self._view(inside, step)
        elif step.kind == "folder":
            self._steps[f"{inside}/{step.name}"] = step.path
        else:
            raise CannotIsolate(
                f"{step.path} is no folder, and leads to what is hidden or kept from it; name less of what is around it"
            )

    def _view(self, inside: str, step: Step) -> _View:
        return self._views.setdefault(inside, _View(step.folder))

    def _names(self, folder: Path) -> list[tuple[str, bool]]:
        """Each name that the child has for a real folder, with whether it may change what is in it; told by device and inode, as
        one folder may be mounted at several places."""
        found: dict[str, bool] = {}
        above = {self._identity(one): one for one in (folder, *folder.parents)}
        for one in (*self._shown, *self._within):
            identity = self._identity(one.source)
            if identity is not None and identity in above:
                inside = str(Path(one.place, folder.relative_to(above[identity])))
                found[inside] = self._may_change(inside)
        return [*found.items()]

    def _identity(self, path: Path) -> tuple[int, int] | None:
        if path not in self._known:
            self._known[path] = _identity(path)
        return self._known[path]

    def _nearest(self, name: str) -> Shown | None:
        found = (self._by_place.get(one) for one in (name, *_parents(name)))
        return next((one for one in found if one is not None), None)

    def _may_change(self, name: str) -> bool:
        for one in (name, *_parents(name)):
            if one in self._kept:
                return False
            if one in self._by_place:
                return self._by_place[one].writable
        return False

    def _check_within(self, hidden: Path) -> None:
        for one in self._shown:
            if one.writable and not one.own and any(self._is_same(above, hidden) for above in one.source.parents):  # fmt: skip
                raise CannotIsolate(f"{one.place} is in {hidden}, which is hidden from it; name another folder")  # fmt: skip

    def _entries(self, name: str, view: _View) -> Iterator[str]:
        """A folder without some of its names, whatever they are put for: each other one is as it was when the child starts."""
        try:
            with os.scandir(view.real) as found:
                shown = [one for one in found if one.name not in view.hidden]
                entries = sorted((one.name, one.is_symlink(), one.is_file(follow_symlinks=False)) for one in shown)  # fmt: skip
        except OSError as problem:
            raise CannotIsolate(f"{view.real}, which it is shown, cannot be listed: {problem.strerror}") from None  # fmt: skip
        beside = tuple(f"{one}{mark}" for one in view.kept for mark in ".-")
        besides, others = list[tuple[str, bool, bool]](), list[tuple[str, bool, bool]]()
        for one in entries:
            (besides if one[2] and one[0].startswith(beside) else others).append(one)
        if len(others) > _ENTRIES:
            names = ", ".join(sorted(view.hidden | view.kept)) or "a link that leads there"
            raise CannotIsolate(
                f"{view.real}, which it is shown, holds what is hidden or kept from it ({names}) and more than {_ENTRIES} other "
                "entries; name the folders in it instead"
            )
        yield from ("--perms", "0755", "--tmpfs", name)
        # Of the former, as many as there is room for: a record may fill files for years.
        for entry, is_link, is_file in [*others, *besides[: _ENTRIES - len(others)]]:
            source, place = str(view.real / entry), f"{name}/{entry}"
            if is_link and place in self._by_place:
                # It was named, and may be shown nowhere else.
                yield from self._option(place)
                continue
            if is_link:
                yield from ("--symlink", str(Path(source).readlink()), place)
                continue
            # Full files of a record and journals of a database are called after it.
            is_kept = entry in view.kept or (is_file and entry.startswith(beside))
            writable = not is_kept and self._may_change(place)
            yield from ("--bind-try" if writable else "--ro-bind-try", source, place)
        yield from ("--remount-ro", name)


def _given(step: Step) -> None:
    """To whom the folder around it belongs: it may be the home of somebody whose programs are to make more in it."""
    if os.geteuid() != 0:
        return
    owner = step.folder.stat()
    made = os.open(step.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.fchown(made, owner.st_uid, owner.st_gid)
    finally:
        os.close(made)


def _mounted_within(shown: Sequence[Shown], table: str = "/proc/self/mountinfo") -> Iterator[Shown]:
    try:
        lines = Path(table).read_bytes().splitlines()
    except OSError:  # no Linux, where nothing is isolated
        return
    for line in lines:
        name = line.split(b" ")[4]
        for written, meant in _ESCAPED:
            name = name.replace(written, meant)
        point = Path(os.fsdecode(name))
        for one in shown:
            if one.source in point.parents:
                yield Shown(
                    str(Path(one.place, point.relative_to(one.source))), point, one.writable
                )


def _parents(name: str) -> Iterator[str]:
    return map(str, Path(name).parents)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
