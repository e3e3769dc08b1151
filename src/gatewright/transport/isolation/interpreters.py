"""`not_shown`: resolves a sandboxed program as the sandbox would, through symlinks, `#!` lines and env; tells what is missing; finds shims.

bubblewrap and prlimit would only say that there is no such file, of a program that is there for everybody else. Nothing is shown for what is
found here, so what the child wrote may be looked at, too.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from gatewright.transport.isolation.coverings import Shown
from gatewright.transport.isolation.programs import SYSTEM, beginning, first_words, named_by_env
from gatewright.transport.isolation.rules import CannotIsolate, real_path

__all__ = ["Lacking", "by_env", "not_shown"]

_DEEPEST = 16
_MOST_LINKS = 40
_ALTERNATIVES = "/etc/alternatives"
_SCRIPTS = (b"pyenv", b"rbenv", b"nodenv", b"goenv", b"jenv", b"asdf")
_LINKS = ("asdf", "mise", "volta-shim")
"""Managers of versions, whose shims are scripts, or links to one program: each runs what files choose that are not shown."""


class Lacking(msgspec.Struct, frozen=True):
    """What a program needs and the sandbox does not have."""

    path: str
    by_env: str = ""
    """What `env` was told to look for, where it is that which leads there."""


def not_shown(program: str, path: str, shown: Sequence[Shown]) -> Lacking | None:
    """What is not there in the sandbox on the way to the last interpreter; None where all is. `path` is the PATH that the child has.
    Raises `CannotIsolate` for a shim, and where `env` finds nothing."""
    seen, named = _Seen(shown), ""
    for _ in range(_DEEPEST):
        file = seen.resolved(program)
        if isinstance(file, str):
            return Lacking(file, named)
        _check_shim(program, file, seen, by_env(named))
        words = first_words(str(file))
        # One that is relative is looked for from wherever the program runs.
        if not words or not words[0].startswith("/"):
            return None
        script, program, named = program, words[0], named_by_env(words)
        if named:
            entry = seen.resolved(program)
            if isinstance(entry, str):
                return Lacking(entry)
            found = _found_by_env(named, path, seen)
            if found is None:
                _check_certain(script, words, path)
                return None
            program = found
    return None


def by_env(named: str) -> str:
    """How somebody has another interpreter run a script than the one that `env` finds; empty where it is not `env` that finds it."""
    return named and f"set PATH in `env` so that {named} is found elsewhere, or write the interpreter as `command` and the script as the first of `args`"  # fmt: skip


def _found_by_env(named: str, path: str, seen: _Seen) -> str | None:
    """What the sandbox has comes first, however many folders of the PATH are not shown."""
    inside = [f"{one}/{named}" for one in path.split(":") if one.startswith("/")]
    found = next((one for one in inside if seen.is_program(one)), None)
    return found or shutil.which(named, path=path)


def _check_certain(script: str, words: Sequence[str], path: str) -> None:
    """Options of `env` may have it look elsewhere, or for something else, and where a relative folder of the PATH is, the script may say."""
    named, first = named_by_env(words), words[2:] if words[1] == "-S" else words[1:]
    is_plain = first[:1] == [named] and "/" not in named
    if is_plain and all(one.startswith("/") for one in path.split(":")):
        raise CannotIsolate(f"{script} needs {named}, which `env` does not find on the PATH that the server has there ({path}); {by_env(named)}")  # fmt: skip


def _check_shim(name: str, file: Path, seen: _Seen, advice: str) -> None:
    folder = Path(name).parent
    if folder.name not in ("shims", "bin") or seen.source(folder.parent) is not None:
        return
    is_script = folder.name == "shims" and any(one in beginning(str(file)) for one in _SCRIPTS)
    if is_script or (file.name in _LINKS and file.name != Path(name).name):
        advice = advice or "write the full path of that program as `command`"
        raise CannotIsolate(
            f"{name} is a shim, which starts a program that is not shown; {advice} "
            "(`pyenv which`, `asdf which`, `mise which` and `volta which` say it)"
        )


class _Seen:
    """The file system of the sandbox, as far as programs are in it."""

    def __init__(self, shown: Sequence[Shown]) -> None:
        system = {one: real_path(one) for one in (*SYSTEM, _ALTERNATIVES)}
        self._sources: Mapping[Path, Path] = {
            **{Path(name): source for name, source in system.items()},
            **{Path(one.place): one.source for one in shown},
        }
        self._above = {above for one in self._sources for above in one.parents}
        """Folders that are made for what is in them."""

    def source(self, name: Path) -> Path | None:
        """What the sandbox has under a name without links."""
        for one in (name, *name.parents):
            if one in self._sources:
                return self._sources[one] / name.relative_to(one)
        return None

    def is_program(self, name: str) -> bool:
        """Whether it can be run."""
        found = self.resolved(name)
        return not isinstance(found, str) and shutil.which(found) is not None

    def resolved(self, path: str) -> Path | str:
        """The file outside; a text is the path that is not there."""
        name, todo, links = Path("/"), [*reversed(Path(path).parts[1:])], 0
        while todo:
            part = todo.pop()
            if part == "..":
                name = name.parent
                continue
            child, here = name / part, self.source(name / part)
            if here is None and child not in self._above:
                return str(Path(child, *reversed(todo)))
            target = None if here is None or child in self._sources else _target(here)
            if target is None:
                if here is not None and not os.path.lexists(here):
                    return str(Path(child, *reversed(todo)))
                name = child
                continue
            if (links := links + 1) > _MOST_LINKS:
                return path
            name = Path("/") if target.is_absolute() else name
            todo += [one for one in reversed(target.parts) if one != "/"]
        return self.source(name) or name


def _target(entry: Path) -> Path | None:
    try:
        return entry.readlink()
    except (OSError, ValueError):  # no link
        return None
