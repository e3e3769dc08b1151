"""bubblewrap mount options of an isolated child: system, interpreter, script, named folders, tmpfs, persistent home; leaves hidden files out.

Nothing else of the machine is there. The child's program is followed as the system follows it, through symbolic links and `#!`
lines, and the folders of what is found on the way are bound, with the environment (venv, pyenv, nvm) that a folder belongs to.
A home folder is never bound because a program lies in it.

A file that is hidden is hidden by its name: the folder that it is in is made of its other entries. A mount over the file itself would be
gone as soon as somebody saves it by putting a new file in its place, which the child could read then, and write where it may
(`coverings`).
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from gatewright.transport.isolation.coverings import Coverings, Shown
from gatewright.transport.isolation.interpreters import by_env, not_shown
from gatewright.transport.isolation.lookups import symlink_below, symlinks_to
from gatewright.transport.isolation.programs import (
    NEVER,
    SYSTEM,
    environment_of,
    folder_of,
    is_in,
    is_system,
    program_places,
    script_place,
)
from gatewright.transport.isolation.rules import CannotIsolate, Isolation, real_path

__all__ = ["HOME", "home_of", "mounts"]

log = logging.getLogger(__name__)

HOME = "/home/server"
"""Where a confined child finds the folder that it keeps between its lives: caches of package runners above all."""

# Each mount costs a start a millisecond or two, so a server gets those that it can have use for.
_ETC = ("alternatives", "ld.so.cache", "localtime", "nsswitch.conf", "pki", "ssl")
_ETC_OF_CONFINED = ("crypto-policies", "fonts", "java", "mime.types", "os-release")
_ETC_OF_NETWORK = ("gai.conf", "host.conf", "hosts", "protocols", "resolv.conf", "services")
_PROC = ("sys", "sysrq-trigger")
_PROC_OF_CONFINED = ("irq", "bus", "fs", "acpi", "scsi")
"""Parts of /proc that somebody who is root in some namespace could write to; a `strict` child never is."""


def mounts(
    rules: Isolation,
    program: str,
    args: Sequence[str],
    path: str,
    cwd: str,
    *,
    searched: bool = False,
) -> list[str]:
    """The options, in the order in which bubblewrap carries them out; `--remount-ro /` is to be the last of all. `path` is the PATH that
    the child has, `searched` says that the program was found and not named.

    Raises `CannotIsolate`.
    """
    try:
        return _mounts(rules, program, args, path, cwd, searched=searched)
    except OSError as problem:  # a folder without permission: other servers may close those that they may write to
        raise CannotIsolate(f"what it is shown cannot be looked at: {problem}") from None


def _mounts(
    rules: Isolation, program: str, args: Sequence[str], path: str, cwd: str, *, searched: bool
) -> list[str]:
    found = [*_system(), *_folder("/etc")]
    confined = rules.level == "confined"
    etc = (*_ETC, *(_ETC_OF_CONFINED * confined), *(_ETC_OF_NETWORK * rules.network))
    found += [*_shown("/etc", etc), "--proc", "/proc"]
    found += _shown("/proc", (*_PROC, *(_PROC_OF_CONFINED * confined)))
    room = ["--perms", "1777", "--size", str(rules.tmp_bytes), "--tmpfs"]
    found += ["--dev", "/dev", *room, "/dev/shm", "--remount-ro", "/dev", *room, "/tmp"]  # noqa: S108
    found += [*_folder("/var"), "--symlink", "../tmp", "/var/tmp"]  # noqa: S108
    hidden = frozenset(map(real_path, rules.hidden))
    others = _Others(rules)
    named = program_places(program, path, rules.write, searched=searched, is_led=others.may_lead)
    places = _places(rules, [*named], script_place(args, cwd, rules.write))
    shown = [
        Shown(place, real, writable)
        for place, writable in places.items()
        if (real := real_path(place)) not in hidden or real.is_dir()
    ]
    if confined:
        shown.append(Shown(HOME, real_path(home_of(rules)), writable=True, own=True))
    _check_symlinks(rules, cwd, shown, others)
    _check_program(rules, program, path, shown, others)
    for folder in sorted({one for place in (*(one.place for one in shown), cwd) for one in _above(place)}):  # fmt: skip
        found += _folder(folder)
    return [*found, *_covered(rules, shown).options(), *_folder(cwd), "--chdir", cwd]


def _covered(rules: Isolation, shown: Sequence[Shown]) -> Coverings:
    """The places, with what is out of reach in them."""
    found = Coverings(shown)
    for one in rules.hidden_folders:
        found.hide(Path(one), folder=True)
    for one in rules.hidden:
        found.hide(Path(one))
    for kept in rules.kept:
        found.keep(kept)
    for place in shown:
        found.nest(place.place)
    for name, kept in found.fixed.items():
        log.info("server %s can read %s, and not change it: it is %s", rules.server, name, kept.why)
    return found


class _Others:
    """What other isolated servers may change. Not a link on the way to what is kept: that is the same in the sandbox of each."""

    def __init__(self, rules: Isolation) -> None:
        own = {real_path(one) for one in rules.write}
        self.folders = {real_path(one) for one in rules.changed_by_others} - own
        kept = rules.kept if self.folders else ()
        self._fixed = {link for one in kept for link in symlinks_to(Path(one.path))}

    def symlink_to(self, place: Path) -> Path | None:
        """The first link on the way that one of them may replace."""
        return symlink_below(place, self.folders, self._fixed) if self.folders else None

    def may_lead(self, place: Path) -> bool:
        """Whether there is such a link."""
        return self.symlink_to(place) is not None


def _check_symlinks(rules: Isolation, cwd: str, shown: Sequence[Shown], others: _Others) -> None:
    """No place is where a link leads that a child may have made."""
    changed = {real_path(one) for one in rules.write}
    changed |= {one.source for one in shown if one.own}
    places = [one.place for one in shown if not one.own]
    # Elsewhere the folder that it starts in is made for it.
    places += [cwd] if any(is_in(cwd, one) for one in places) else []
    for place in map(Path, places):
        if (link := symlink_below(place, changed) or others.symlink_to(place)) is not None:
            raise CannotIsolate(
                f"{link}, which leads to {place}, is a link in a folder that an isolated server may change; "
                "name what it leads to instead"
            )


def _check_program(
    rules: Isolation, program: str, path: str, shown: Sequence[Shown], others: _Others
) -> None:
    """It can be started with what is shown."""
    lacking = not_shown(program, path, shown)
    if lacking is None:
        return
    lacks = lacking.path
    if (link := others.symlink_to(Path(lacks))) is not None:
        whose = next(one for one in others.folders if link.is_relative_to(one))
        raise CannotIsolate(
            f"{program} leads to {lacks} by {link}, which another isolated server may replace: its `write` names {whose}; name less there, "
            "or write a path as `command` that does not lead through it"
        )
    if not os.path.lexists(lacks):
        raise CannotIsolate(f"{program} needs {lacks}, which is not there")
    folder = environment_of(Path(lacks).parent) or folder_of(lacks)
    # Somewhere on the way a child that writes may have said itself where that leads, to have its operator show it.
    doubt = " if it is you who wrote that (the server may have)" if rules.write else ""
    named = "write the full path of the program as `command`"
    raise CannotIsolate(
        f"{program} needs {lacks}, which it is not shown; name {folder} in `read`{doubt}, or {by_env(lacking.by_env) or named}"
    )


def _shown(folder: str, names: Iterable[str]) -> list[str]:
    """Parts of a folder that are there."""
    paths = [f"{folder}/{name}" for name in names if Path(folder, name).exists()]
    return [word for path in paths for word in ("--ro-bind", path, path)]


def _system() -> Iterator[str]:
    for folder in map(Path, SYSTEM):
        if folder.is_symlink():
            yield from ("--symlink", str(folder.readlink()), str(folder))
        elif folder.exists():
            yield from ("--ro-bind", str(folder), str(folder))


def _above(place: str) -> list[str]:
    """The folders on the way to a path, without those that are there anyway."""
    return [
        one
        for one in map(str, Path(place).parents)
        if one not in NEVER and not is_system(f"{one}/")
    ]


def home_of(rules: Isolation) -> Path:
    """The folder that a confined child has as its home. It is made where it is not there yet."""
    folder = Path(rules.state, "isolated", rules.name)
    try:
        # One by one: the mode is not that of parents that are made on the way.
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as problem:
        raise CannotIsolate(f"its own folder {folder} cannot be made: {problem.strerror}") from None
    return folder


def _places(rules: Isolation, programs: Sequence[str], script: str | None) -> dict[str, bool]:
    """Each path → whether the child may write to it."""
    found = dict.fromkeys(programs, False)
    if script is not None and (rules.scripts is None or _is_within(script, rules.scripts)):
        found[script] = False
    for places, writable in ((rules.read, False), (rules.write, True)):
        for place in places:
            if not NEVER.isdisjoint((os.path.normpath(place), str(real_path(place)))):
                raise CannotIsolate(
                    f"{place} is more than an isolated server may be shown; name less of it"
                )
            if not Path(place).exists():
                raise CannotIsolate(
                    f"there is no {place}, which `read`, `write` or `cwd` names; make it, or correct its path"
                )
            found[os.path.normpath(place)] = writable
    return found


def _folder(path: str) -> list[str]:
    """A folder that is there. Those that bubblewrap makes by itself are for the gateway's user alone."""
    return ["--perms", "0755", "--dir", path]


def _is_within(path: str, folders: Iterable[str]) -> bool:
    """As links lead."""
    return any(real_path(path).is_relative_to(real_path(one)) for one in folders)
