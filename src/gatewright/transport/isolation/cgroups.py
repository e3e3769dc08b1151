"""Makes control groups (v1, v2) that bound an isolated child's memory and processes; removes them after it, and those of killed gateways.

Where ours is not to be written to, which is so for most users and in most containers, there is no group, and the child is bounded
by resource limits, process by process (`Group.bounds` says what the group bounds).
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

__all__ = ["Group", "make_group", "sweep"]

_PREFIX = "gatewright-"
_BOUNDS = ("memory", "pids")


class Group(msgspec.Struct, frozen=True):
    """One folder a hierarchy: one for v2, one a controller for v1."""

    folders: tuple[Path, ...] = ()
    bounds: frozenset[str] = frozenset()
    """Of `memory` and `pids`, what it bounds."""
    entries: tuple[Path, ...] = ()
    """Files by which a process of a single thread, writing 0 to each, puts itself in."""

    def remove(self) -> bool:
        """Kill whoever is left in it and remove it. False while somebody is still on the way out: try again."""
        return not [folder for folder in self.folders if not _removed(folder)]


def make_group(
    name: str, memory_bytes: int, processes: int, parents: Mapping[str, Path] | None = None
) -> Group:
    """A group for one child, as far as it can be had. `parents` are as `_parents` finds them."""
    limits = {"memory": memory_bytes, "pids": processes}
    folders: dict[Path, None] = {}
    bounds = set()
    for controller, parent in (_parents() if parents is None else parents).items():
        folder = parent / f"{_PREFIX}{_lifetime('self')}-{name}"
        try:
            folder.mkdir(mode=0o755, exist_ok=True)
            _bound(folder, controller, limits[controller])
        except OSError:
            if folder not in folders:
                _removed(folder)
            continue
        folders[folder] = None
        bounds.add(controller)
    return Group(tuple(folders), frozenset(bounds), tuple(map(_entry, folders)))


def sweep() -> None:
    """Remove the groups that gateways have left behind which were killed. Their children died with them: a group in which anybody
    is has a gateway in another namespace, whose number there says nothing to us."""
    for parent in {*_parents().values()}:
        for folder in parent.glob(f"{_PREFIX}*"):
            owner = folder.name.removeprefix(_PREFIX).partition("-")[0]
            pid, _, began = owner.partition(".")
            # Another process may have the number by now. Groups of versions before 0.2 say no more than that.
            if pid.isdigit() and _lifetime(pid) != owner and (began or not _lifetime(pid)):
                with contextlib.suppress(OSError):
                    folder.rmdir()


def _lifetime(pid: str) -> str:
    """Number and start of a process, which no other one has before the machine is started again; empty where it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    # The name of the program stands in between, with whatever characters it likes.
    return f"{text.split(' ', 1)[0]}.{text.rpartition(')')[2].split()[19]}"


def _entry(folder: Path) -> Path:
    # By `cgroup.procs` of v1 the kernel waits until no thread is being made anywhere, which takes longer than the rest of a start.
    return folder / ("cgroup.procs" if _is_modern(folder) else "tasks")


def _is_modern(folder: Path) -> bool:
    return (folder / "cgroup.controllers").exists()


def _bound(folder: Path, controller: str, most: int) -> None:
    modern = _is_modern(folder)
    if controller == "pids":
        (folder / "pids.max").write_text(str(most))
        return
    (folder / ("memory.max" if modern else "memory.limit_in_bytes")).write_text(str(most))
    # What is pushed out to the swap is memory as well. Not every kernel counts it.
    with contextlib.suppress(OSError):
        if modern:
            (folder / "memory.swap.max").write_text("0")
        else:
            (folder / "memory.memsw.limit_in_bytes").write_text(str(most))


def _removed(folder: Path) -> bool:
    try:
        for pid in map(int, (folder / "cgroup.procs").read_text().split()):
            # Somebody of another namespace is listed as 0, which for kill(2) is our own process group.
            if pid > 0:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _parents(
    own: str = "/proc/self/cgroup", mounts: str = "/proc/self/mountinfo"
) -> dict[str, Path]:
    """Controller → the folder in which a group for it can be made."""
    try:
        places = dict(_places(Path(own).read_text(), Path(mounts).read_text()))
    except OSError:
        return {}
    found = {
        one: places[one] for one in _BOUNDS if one in places and os.access(places[one], os.W_OK)
    }
    if not found and "" in places:
        parent = next((one for one in (places[""], places[""].parent) if _hands_down(one)), None)
        found = {} if parent is None else dict.fromkeys(_BOUNDS, parent)
    return found


def _places(own: str, mounts: str) -> Iterator[tuple[str, Path]]:
    """(controller, our own folder) for each hierarchy; the controller of v2 is the empty word."""
    paths: dict[str, str] = {}
    for line in own.splitlines():
        _, controllers, path = line.split(":", 2)
        paths |= dict.fromkeys(controllers.split(","), path)
    for line in mounts.splitlines():
        first, _, second = line.partition(" - ")
        root, point = first.split()[3:5]
        kind, _, options = second.split(" ", 2)
        if kind not in {"cgroup", "cgroup2"}:
            continue
        for controller in [""] if kind == "cgroup2" else options.split(","):
            if controller in paths:
                below = paths[controller].removeprefix("" if root == "/" else root)
                yield controller, Path(point) / below.lstrip("/")


def _hands_down(folder: Path) -> bool:
    """Whether groups in a folder of v2 can bound what we want bounded."""
    control = folder / "cgroup.subtree_control"
    try:
        # Refused where processes are in it, unless it is the root of all.
        if not {*_BOUNDS} <= {*control.read_text().split()}:
            control.write_text(" ".join(f"+{one}" for one in _BOUNDS))
        return os.access(folder, os.W_OK)
    except OSError:
        return False
