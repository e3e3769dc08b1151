"""bubblewrap mount options of an isolated child: system, interpreter, script, named folders, tmpfs, persistent home; leaves hidden files out.

Nothing else of the machine is there. The child's program is followed as the system follows it, through symbolic links and `#!`
lines, and the folders of what is found on the way are bound, with the environment (venv, pyenv, nvm) that a folder belongs to.
A home folder is never bound because a program lies in it.

A file that is hidden is hidden by its name: the folder that it is in is made of its other entries. A mount over the file itself would be
gone as soon as somebody saves it by putting a new file in its place, which the child could read then, and write where it may.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from gatewright.transport.isolation.rules import CannotIsolate, Isolation

__all__ = ["HOME", "home_of", "mounts", "program_places"]

HOME = "/home/server"
"""Where a confined child finds the folder that it keeps between its lives: caches of package runners above all."""

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store")
# Each mount costs a start a millisecond or two, so a server gets those that it can have use for.
_ETC = ("alternatives", "ld.so.cache", "localtime", "nsswitch.conf", "pki", "ssl")
_ETC_OF_CONFINED = ("crypto-policies", "fonts", "java", "mime.types", "os-release")
_ETC_OF_NETWORK = ("gai.conf", "host.conf", "hosts", "protocols", "resolv.conf", "services")
_PROC = ("sys", "sysrq-trigger")
_PROC_OF_CONFINED = ("irq", "bus", "fs", "acpi", "scsi")
"""Parts of /proc that somebody who is root in some namespace could write to; a `strict` child never is."""
_NEVER = frozenset({"/", "/dev", "/proc", "/sys", "/run", "/tmp", "/etc"})  # noqa: S108
_ENTRIES = 200
"""So many has a folder at most in which a file is hidden; each of them is a mount."""
_DEEPEST = 16
"""So many links and interpreters are followed."""


def mounts(rules: Isolation, program: str, args: Sequence[str], path: str, cwd: str) -> list[str]:
    """The options, in the order in which bubblewrap carries them out; `--remount-ro /` is to be the last of all.

    Raises `CannotIsolate`.
    """
    found = [*_system(), *_folder("/etc")]
    confined = rules.level == "confined"
    etc = (*_ETC, *(_ETC_OF_CONFINED * confined), *(_ETC_OF_NETWORK * rules.network))
    found += [*_shown("/etc", etc), "--proc", "/proc"]
    found += _shown("/proc", (*_PROC, *(_PROC_OF_CONFINED * confined)))
    room = ["--perms", "1777", "--size", str(rules.tmp_bytes), "--tmpfs"]
    found += ["--dev", "/dev", *room, "/dev/shm", "--remount-ro", "/dev", *room, "/tmp"]  # noqa: S108
    found += [*_folder("/var"), "--symlink", "../tmp", "/var/tmp"]  # noqa: S108
    hidden = _names(rules)
    named = _places(rules, program, args, path, cwd).items()
    places = {one: how for one, how in named if Path(one).is_dir() or Path(one).resolve() not in hidden}  # fmt: skip
    homes = [HOME] if confined else []
    for folder in sorted({one for place in (*places, *homes, cwd) for one in _above(place)}):
        found += _folder(folder)
    for place, writable in sorted(places.items()):
        found += ["--bind" if writable else "--ro-bind", place, place]
    for home in homes:
        found += ["--bind", str(home_of(rules)), home]
    return [*found, *_hidden(hidden, places), *_folder(cwd), "--chdir", cwd]


def _shown(folder: str, names: Iterable[str]) -> list[str]:
    """Parts of a folder that are there."""
    paths = [f"{folder}/{name}" for name in names if Path(folder, name).exists()]
    return [word for path in paths for word in ("--ro-bind", path, path)]


def _system() -> Iterator[str]:
    for folder in map(Path, _SYSTEM):
        if folder.is_symlink():
            yield from ("--symlink", str(folder.readlink()), str(folder))
        elif folder.exists():
            yield from ("--ro-bind", str(folder), str(folder))


def _above(place: str) -> list[str]:
    """The folders on the way to a path, without those that are there anyway."""
    return [
        one
        for one in map(str, Path(place).parents)
        if one not in _NEVER and not _is_system(f"{one}/")
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


def _places(
    rules: Isolation, program: str, args: Sequence[str], path: str, cwd: str
) -> dict[str, bool]:
    """Each path → whether the child may write to it. Sorted, a folder stands before what is in it."""
    found = dict.fromkeys(program_places(program, path), False)
    script = _script(args, cwd)
    if script is not None and (rules.scripts is None or _is_within(script, rules.scripts)):
        found[script] = False
    for places, writable in ((rules.read, False), (rules.write, True)):
        for place in places:
            if os.path.normpath(place) in _NEVER:
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


def _names(rules: Isolation) -> list[Path]:
    """What is hidden, by the name that it really has, and by its own where that is a link: what is put in its place is hidden, too."""
    given = [Path(one) for one in rules.hidden]
    return [*dict.fromkeys(name for one in given for name in (one.resolve(), one.parent.resolve() / one.name))]  # fmt: skip


def _hidden(hidden: Sequence[Path], places: Mapping[str, bool]) -> Iterator[str]:
    """As links lead: what is shown may have another name than what is hidden. Elsewhere, to hide it would be to tell where it is."""
    folders: dict[str, None] = {}
    partly: dict[str, tuple[Path, set[str]]] = {}
    for place in map(Path, places):
        real = place.resolve()
        for one in hidden:
            if not one.is_relative_to(real):
                continue
            inside = place / one.relative_to(real)
            if one.is_dir() and not one.is_symlink():
                folders[str(inside)] = None
            elif one != real and one.parent.is_dir():
                partly.setdefault(str(inside.parent), (one.parent, set()))[1].add(one.name)
    for folder in sorted(partly):
        yield from _without(folder, *partly[folder], places)
    for folder in folders:
        yield from ("--tmpfs", folder, "--remount-ro", folder)


def _without(
    folder: str, real: Path, names: Collection[str], places: Mapping[str, bool]
) -> Iterator[str]:
    """A folder without some of its names, whatever they are put for: each other one is as it was when the child starts."""
    try:
        with os.scandir(real) as found:
            entries = sorted((one.name, one.is_symlink()) for one in found if one.name not in names)
    except OSError as problem:
        raise CannotIsolate(f"{real}, which it is shown, cannot be listed: {problem.strerror}") from None  # fmt: skip
    if len(entries) > _ENTRIES:
        raise CannotIsolate(
            f"{real}, which it is shown, holds what is hidden from it ({', '.join(sorted(names))}) and more than {_ENTRIES} other "
            "entries; name the folders in it instead"
        )
    yield from ("--perms", "0755", "--tmpfs", folder)
    covering = max((one for one in places if _is_in(folder, one)), key=len, default="")
    for name, is_link in entries:
        source, place = str(real / name), f"{folder}/{name}"
        if is_link:
            yield from ("--symlink", str(Path(source).readlink()), place)
        else:
            writable = places.get(place, places.get(covering, False))
            yield from ("--bind-try" if writable else "--ro-bind-try", source, place)
    for place, writable in sorted(places.items()):
        if place != folder and _is_in(place, folder) and str(Path(place).parent) != folder:
            yield from ("--bind-try" if writable else "--ro-bind-try", place, place)
    yield from ("--remount-ro", folder)


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def program_places(program: str, path: str) -> Iterator[str]:
    """What has to be there for a program to start, besides the system. `path` is where `#!/usr/bin/env` looks."""
    todo, known = [program], set[str]()
    while todo and len(known) < _DEEPEST:
        one = todo.pop()
        if one in known:
            continue
        known.add(one)
        if not _is_system(one):
            folder = Path(one).parent
            yield str(folder) if not _too_wide(folder) else one
            if (environment := _environment(folder)) is not None:
                yield str(environment)
        if Path(one).is_symlink():
            todo.append(os.path.normpath(Path(one).parent / Path(one).readlink()))
        todo += [os.path.realpath(one), *_interpreter(one, path)]


def _interpreter(program: str, path: str) -> list[str]:
    """What the first line of a script names."""
    try:
        with Path(program).open("rb") as file:
            line = file.readline(512)
    except OSError:
        return []
    if not line.startswith(b"#!"):
        return []
    words = line[2:].decode("utf-8", "replace").split()
    if not words:
        return []
    if Path(words[0]).name != "env":
        return words[:1]
    named = next((one for one in words[1:] if not one.startswith("-") and "=" not in one), "")
    found = shutil.which(named, path=path) if named else None
    return [words[0]] if found is None else [words[0], str(Path(found).absolute())]


def _environment(folder: Path) -> Path | None:
    """The venv, or the tree of an interpreter, to which a folder of programs belongs."""
    whole = folder.parent
    if folder.name != "bin" or _too_wide(whole) or whole == Path.home() / ".local":
        return None
    if (whole / "pyvenv.cfg").exists() or (whole / "lib/node_modules").exists():
        return whole
    return whole if any(whole.glob("lib/python3.*")) else None


def _script(args: Sequence[str], cwd: str) -> str | None:
    """The folder of the script that an interpreter is to run; the script alone where its folder is a home."""
    named = next((one for one in args if not one.startswith("-")), None)
    if named is None or "\0" in named:
        return None
    script = Path(os.path.normpath(Path(cwd) / named))
    try:
        if not script.is_file() or _is_system(str(script)):
            return None
    except OSError:  # code that is given as an argument is too long for a name
        return None
    return str(script if _too_wide(script.parent) else script.parent)


def _is_within(path: str, folders: Iterable[str]) -> bool:
    """As links lead."""
    return any(Path(path).resolve().is_relative_to(Path(one).resolve()) for one in folders)


def _is_system(path: str) -> bool:
    return path.startswith(tuple(f"{one}/" for one in _SYSTEM))


def _too_wide(folder: Path) -> bool:
    """Whether nobody means a folder as a whole who has one file in it run: homes, and what is above them."""
    home = Path.home()
    return str(folder) in _NEVER or folder == home or folder in home.parents
