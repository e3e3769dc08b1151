"""`program_places`: folders a sandboxed program needs to start (symlinks, `#!`, venv, pyenv, nvm); `script_place`: that of its script.

What a file says about where it leads is believed only where the child cannot have written it: whoever may change a link or a first
line would else choose what its next start is shown.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

from gatewright.transport.isolation.lookups import symlink_below
from gatewright.transport.isolation.rules import CannotIsolate, real_path

__all__ = [
    "NEVER",
    "SYSTEM",
    "beginning",
    "environment_of",
    "first_words",
    "folder_of",
    "is_in",
    "is_system",
    "named_by_env",
    "program_places",
    "script_place",
]

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store")
"""Where programs of the system are; each child sees all of it."""
NEVER = frozenset({"/", "/dev", "/proc", "/sys", "/run", "/tmp", "/etc"})  # noqa: S108
"""What is never shown as a whole."""
_DEEPEST = 16
"""So many links and interpreters are followed."""
_LINE_BYTES = 512


def program_places(
    program: str,
    path: str,
    write: Sequence[str] = (),
    *,
    searched: bool = False,
    is_led: Callable[[Path], bool] = lambda _: False,
) -> Iterator[str]:
    """What has to be there for a program to start, besides the system. `path` is where `#!/usr/bin/env` looks, `write` what the child
    may change, `searched` whether the program was found on a path and not named, `is_led` whether somebody else could lead a path
    elsewhere. Raises `CannotIsolate`."""
    changed = {one: real_path(one) for one in map(os.path.normpath, write)}
    todo, known = [(program, searched)], set[str]()
    while todo and len(known) < _DEEPEST:
        one, searched = todo.pop()
        if one in known or _is_led_to(folder_of(one), changed) or is_led(folder_of(one)):
            continue
        known.add(one)
        if not is_system(one):
            yield str(folder_of(one))
            if (environment := environment_of(Path(one).parent, changed.values())) is not None:
                yield str(environment)
        if _is_fixed(one, changed, searched=searched):
            todo += _next(one, path, searched=searched)


def folder_of(program: str) -> Path:
    """The folder of a program; the program alone where its folder is a home."""
    folder = Path(program).parent
    return Path(program) if _too_wide(folder) else folder


def _is_led_to(place: Path, changed: Mapping[str, Path]) -> bool:
    """Whether a link leads to a place that the child may change."""
    return bool(changed) and symlink_below(place, changed.values()) is not None


def _is_fixed(program: str, changed: Mapping[str, Path], *, searched: bool) -> bool:
    """Whether the child can never have changed an entry: it is not in a folder that the child may change, or at every start a mount for
    reading stands over it there. What was merely found may have been put there since."""
    shown = folder_of(program)
    real = real_path(Path(program).parent)
    real = real / Path(program).name if shown == Path(program) else real
    for name, folder in changed.items():
        if real_path(program) == folder:
            return False
        if real.is_relative_to(folder):
            inside = os.path.normpath(Path(name) / real.relative_to(folder))
            if searched or is_system(program) or inside != str(shown) or inside in changed:
                return False
    return True


def _next(program: str, path: str, *, searched: bool) -> Iterator[tuple[str, bool]]:
    """What an entry leads to, one step further, each with whether it was searched for. The system goes from link to link, and each of
    them may be in a folder that the child may change."""
    one = Path(program)
    yield str(Path(os.path.realpath(one.parent), one.name)), searched
    if one.is_symlink():
        yield os.path.normpath(one.parent / one.readlink()), searched
    else:
        yield from _interpreter(program, path)


def _interpreter(program: str, path: str) -> Iterator[tuple[str, bool]]:
    """What the first line of a script names."""
    words = first_words(program)
    # One that is relative is looked for from wherever the program runs; nothing of that is shown for it.
    if not words or not words[0].startswith("/"):
        return
    yield words[0], False
    named = named_by_env(words)
    if found := shutil.which(named, path=path) if named else None:
        yield str(Path(found).absolute()), True


def first_words(program: str) -> list[str]:
    """The words behind `#!`, cut as the kernel cuts them: at blanks and tabs, and at nothing else."""
    line = beginning(program).split(b"\n", 1)[0]
    if not line.startswith(b"#!") or b"\0" in line:
        return []
    return [os.fsdecode(one) for one in line[2:].replace(b"\t", b" ").split(b" ") if one]


def named_by_env(words: Sequence[str]) -> str:
    """What `env` is told to start; empty where it is something else that starts it."""
    if Path(words[0]).name != "env":
        return ""
    return next((one for one in words[1:] if not one.startswith("-") and "=" not in one), "")


def beginning(program: str) -> bytes:
    """That of a regular file, without waiting for anybody: who made a pipe of it, or has a lease on it, would hold this start for ever."""
    try:
        descriptor = os.open(program, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except (OSError, ValueError):
        return b""
    try:
        return (
            os.read(descriptor, _LINE_BYTES) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
        )
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def environment_of(folder: Path, changed: Collection[Path] = ()) -> Path | None:
    """The venv, or the tree of an interpreter, to which a folder of programs belongs. What the child can put there shows it no more."""
    whole = folder.parent
    if folder.name != "bin" or _too_wide(whole):
        return None
    if not {real_path(whole), whole}.isdisjoint(one / ".local" for one in _homes()):
        return None
    signs = [one for one in ("pyvenv.cfg", "lib/node_modules", "lib") if (whole / one).exists()]
    if not _is_within(whole, changed):
        signs = [one for one in signs if not _is_within(whole / one, changed)]
    if "lib" in signs and not any(whole.glob("lib/python3.*")):
        signs.remove("lib")
    return whole if signs else None


def _is_within(path: Path, folders: Collection[Path]) -> bool:
    """As links lead."""
    real = real_path(path) if folders else path
    return any(real.is_relative_to(one) for one in folders)


def script_place(args: Sequence[str], cwd: str, write: Collection[str] = ()) -> str | None:
    """The folder of the script that an interpreter is to run; the script alone where its folder is a home. None where there is none, and
    where a link leads to it that the child may change."""
    named = next((one for one in args if not one.startswith("-")), None)
    if named is None or "\0" in named:
        return None
    script = Path(os.path.normpath(Path(cwd) / named))
    try:
        if not script.is_file() or is_system(str(script)):
            return None
        place = folder_of(str(script))
        led = _is_led_to(place, {one: real_path(one) for one in write})
    except (OSError, CannotIsolate):  # code that is given as an argument is too long for a name
        return None
    return None if led else str(place)


def is_in(path: str, folder: str) -> bool:
    """Whether a path is a folder or in it, both as they are written."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def is_system(path: str) -> bool:
    """Whether a path leads into what each child sees anyway."""
    return path.startswith(tuple(f"{one}/" for one in SYSTEM))


def _too_wide(folder: Path) -> bool:
    """Whether nobody means a folder as a whole who has one file in it run: homes, and what is above them, whichever way they are reached."""
    names = {folder, real_path(folder)}
    if not NEVER.isdisjoint(map(str, names)):
        return True
    return any(one == home or one in home.parents for home in _homes() for one in names)


def _homes() -> set[Path]:
    """The home of the gateway's user, as it is said and as links lead: other paths are compared with both."""
    home = Path.home()
    return {home, real_path(home)}
