"""Formats commands for messages: shell-quoted, with this context's program, variables and `--config`; for remote readers without them.

A command that is shown is copied. Whoever copies it stands in another folder, with another environment than the process that
showed it, and a plain `gatewright approve` then looks into the queue of another gateway. So no message spells a command
itself (a house rule sees to it): it asks `to_type`, which knows from the start of the process how this one is typed.
"""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from pathlib import Path

import msgspec
from msgspec.structs import replace

from gatewright.patterns import Pattern
from gatewright.secret_scanning.escape_invisible import spelled

__all__ = [
    "FILELESS",
    "STATE",
    "VARIABLES",
    "Typed",
    "as_heard",
    "heard_elsewhere",
    "is_heard_elsewhere",
    "line_to_type",
    "program",
    "to_type",
    "typed_as",
    "typed_here",
]

STATE = "GATEWRIGHT_STATE"
"""Names the state folder, over every file."""

VARIABLES = (STATE, "MGP_CONFIG_PATH")
"""Where commands look besides: what one was started with stands in front of those that follow it, too."""

FILELESS = (
    "completion",
    "config schema",
    "config trust",
    "config untrust",
    "demo",
    "disconnect",
    "policy try",
    "run",
    "version",
)
"""The commands that take no `--config`: they read no configuration, or are given the file itself."""

_OF_THE_FILE = (
    "config",
    "connect",
    "doctor",
    "grant",
    "import",
    "init",
    "secret",
    "serve",
    "server add",
    "server check",
    "server disable",
    "server enable",
    "server export",
    "server inspect",
    "server isolate",
    "server login",
    "server logout",
    "server permit",
    "server rm",
    "tool disable",
    "tool enable",
)
"""Those that need the file itself. For all others the state folder is enough."""


class Typed(msgspec.Struct, frozen=True):
    """How commands are typed that concern one gateway."""

    program: str = "gatewright"
    """Our name or path."""
    variables: str = ""
    """What is set in front of it, with a space behind each; `--help` needs none."""
    file: str = ""
    """The configuration to name, absolute; empty where it is found without."""
    always: bool = True
    """Whether every command names it, or only those that need the file itself."""
    local: bool = True
    """Whether nobody but this machine can hear what is shown."""

    def shown(self, words: str) -> str:
        """A command with all that it needs. What stands behind ` -- ` or is no option of it stays at the end."""
        return f"{self._program(words)} {self._with_file(words, shlex.quote(self.file))}"

    def completed(self, words: str, *names: str) -> str:
        """The same where `{}` stands for each of `names`. They are put in last: nothing in them is taken for an option."""
        whole = self._with_file(words, _literal(shlex.quote(self.file)))
        return (
            f"{self._program(words)} {whole.format(*(shlex.quote(spelled(one)) for one in names))}"
        )

    def _program(self, words: str) -> str:
        return self.program if words.endswith("--help") else self.variables + self.program

    def _with_file(self, words: str, file: str) -> str:
        if not self.file or not self._takes_file(words):
            return words
        head, dashes, tail = words.partition(" -- ")
        return f"{head} --config {file}{dashes}{tail}"

    def _takes_file(self, words: str) -> bool:
        if (
            _begins(words, FILELESS)
            or words.endswith("--help")
            or _NAMED.within(words.partition(" -- ")[0])
        ):
            return False
        return self.always or _begins(words, _OF_THE_FILE)


_NAMED = Pattern(r" --config[ =]")
_PLAIN = Typed()
_TYPED: ContextVar[Typed] = ContextVar("gatewright_typed", default=_PLAIN)


_OWN: ContextVar[Typed] = ContextVar("gatewright_typed_here", default=_PLAIN)


def typed_as(typed: Typed) -> None:
    """From now on, in this context and all that are made of it, commands are shown like that."""
    _TYPED.set(typed)
    _OWN.set(typed)


@contextmanager
def heard_elsewhere() -> Iterator[None]:
    """While inside, commands are shown without the folders and files of this machine: whoever hears them is not at it."""
    former = _TYPED.set(_PLAIN)
    try:
        yield
    finally:
        _TYPED.reset(former)


def is_heard_elsewhere() -> bool:
    """Whether this is inside of `heard_elsewhere`."""
    # Before `typed_as` both are `_PLAIN`: then no text has anything of this machine in it.
    return _TYPED.get() is _PLAIN and _OWN.get() is not _PLAIN


def as_heard(text: str) -> str:
    """A text with commands in it as they are shown now, wherever it was made."""
    # Such a text may have been worded before this context began (`mcp.server.locality.worded`).
    own = _OWN.get()
    if not is_heard_elsewhere():
        return text
    if own.variables:
        text = text.replace(own.variables, "")
    if own.file:
        text = text.replace(f" --config {shlex.quote(own.file)}", "")
    return text.replace(f"{own.program} ", f"{_PLAIN.program} ")


def to_type(words: str, *names: str, file: Path | None = None, known: bool = True) -> str:
    """A command to be shown. `words` is what follows `gatewright`, with `{}` for each of `names`, which come from elsewhere: each
    becomes one word of a shell, with nothing in it that is not seen. `file` is the configuration where it is another one. `known` is
    False where nobody knows who hears it: strangers from elsewhere are not told about the folders of this machine."""
    typed = _TYPED.get()
    if not (known or typed.local):
        typed = _PLAIN
    if file is not None:
        typed = replace(typed, file=str(file.absolute()), always=True)
    if any(one.startswith("-") for one in names):
        words = _with_ends(words)
    return typed.completed(words, *names)


def line_to_type(*words: str) -> str:
    """A command of which every word is given, options among them."""
    line = " ".join("{}" if " " in one else _literal(shlex.quote(spelled(one))) for one in words)
    return _TYPED.get().completed(line, *(one for one in words if " " in one))


def _literal(text: str) -> str:
    """Text that is the same after `str.format`."""
    return text.replace("{", "{{").replace("}", "}}")


def _with_ends(words: str) -> str:
    """The same with its options first and the names behind `--`: one that begins with a dash is no option."""
    head: list[str] = []
    options: list[str] = []
    named: list[str] = []
    places = count()
    for word in words.split():
        if word == "{}":
            word = f"{{{next(places)}}}"  # noqa: PLW2901 - they keep their order
        # The value of an option stays with it: behind `--` it would be one more name.
        if options and options[-1] in {"--config", "--permission"} and word.startswith("{"):
            options[-1] += f"={word}"
        elif word.startswith("-"):
            options.append(word)
        else:
            (named if named or word.startswith("{") else head).append(word)
    return " ".join([*head, *options, "--", *named])


def typed_here(config: str, environ: Mapping[str, str]) -> Typed:
    """How commands are typed that follow one at a terminal: with the variables that it was started with, which may have stood
    in front of it alone, and for the same configuration."""
    given = [
        f"{name}={shlex.quote(str(Path(environ[name]).absolute()))} "
        for name in VARIABLES
        if environ.get(name)
    ]
    return Typed(program(), variables="".join(given), file=config)


def program() -> str:
    """Our program: `gatewright` where a shell finds us by that name, else its path, else our module, which no folder that
    the command is typed in can take the place of (`-P`)."""
    python = Path(sys.executable).absolute()
    script = python.with_name("gatewright.exe" if sys.platform == "win32" else "gatewright")
    if not script.is_file():
        return f"{shlex.quote(str(python))} -P -m gatewright"
    found = shutil.which("gatewright")
    return "gatewright" if found and script.samefile(found) else shlex.quote(str(script))


def _begins(words: str, with_: tuple[str, ...]) -> bool:
    return any(words == one or words.startswith(f"{one} ") for one in with_)
