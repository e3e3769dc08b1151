"""Finds command lines in a call's arguments: members called `command`, `argv` and the like, and the arguments beside one that continue it.

A program in one member and its words in another are one command to the tool, and mean what they mean together: `find` reads, and
`-delete` is a word.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gatewright.schemas.json_strings import Place
from gatewright.validators.shell_syntax import MAX_BYTES

__all__ = ["COMMANDS", "are_texts", "command_lines", "continued_lines", "folders_of"]

COMMANDS = frozenset(
    "command cmd commandline commands cmdline shell script exec execute run program executable binary argv".split()
)
"""What members are called that hold a command, in plain small letters."""
_SEVERAL = frozenset({"commands"})
"""Of these each text in a list is a line of its own."""
_FOLDERS = frozenset("cwd workdir workingdir workingdirectory directory dir".split())
_ARGUMENTS = frozenset("args argv arguments params parameters options flags".split())

_MOST = 16
"""So many commands times members beside them, at most, of one object."""
_TOO_LONG = "ls " + "x" * MAX_BYTES
"""A line that no validator takes, in the place of too many."""


def command_lines(found: dict[str, Any]) -> tuple[set[str], list[tuple[str, Any]]]:
    """The members of one object that are judged as commands, and the lines they make, each by its member.

    A list of arguments beside a command continues it. A text beside it may do so, or be one argument: it makes a further line.
    """
    commands = [(name, one) for name in found for one in _said(name, found[name])]
    if not commands:
        return set(), []
    taken = {name for name, _ in commands if _is_line(found[name]) or all(map(_is_line, found[name]))}  # fmt: skip
    beside = {
        name: found[name] for name in found if name not in taken and _plain(name) in _ARGUMENTS
    }
    lists = [name for name, one in beside.items() if are_texts(one)]
    texts = [one for one in beside.values() if isinstance(one, str) and one.strip()]
    more = [text for name in lists for text in found[name]]
    # Each command is judged with each text, and in each folder: many spellings of both would make more lines than anybody judges in time.
    if len(commands) * (len(lists) + len(texts) + len(folders_of(found))) > _MOST:
        return {*taken, *lists}, [(commands[0][0], _TOO_LONG)]
    lines = [(name, _continued(one, more)) for name, one in commands]
    lines += [(name, f"{one} {text}" if isinstance(one, str) else [*one, *text.split()]) for name, one in commands for text in texts]  # fmt: skip
    return {*taken, *lists}, lines


def folders_of(found: dict[str, Any]) -> list[str]:
    """Where the commands of one object run, by each of its members that says it."""
    said = dict.fromkeys(found[name] for name in found if _plain(name) in _FOLDERS and isinstance(found[name], str))  # fmt: skip
    return [one for one in said if one]


def continued_lines(arguments: Any) -> Iterator[tuple[Place, Any]]:
    """The lines of all objects in a call's arguments that more than one member makes."""
    stack: list[tuple[Place | None, Any]] = [(None, arguments)]
    while stack:
        place, found = stack.pop()
        if isinstance(found, list):
            stack += [(Place(place, at), one) for at, one in enumerate(found)]
        elif isinstance(found, dict):
            _, lines = command_lines(found)
            yield from ((Place(place, name), line) for name, line in lines if line != found[name])
            stack += [(Place(place, name), one) for name, one in found.items()]


def are_texts(value: Any) -> bool:
    """Whether a value is a list of texts."""
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _said(name: str, value: Any) -> list[Any]:
    """The lines, or lists of words, that a member holds."""
    plain = _plain(name)
    if plain not in COMMANDS:
        return []
    if plain in _SEVERAL and isinstance(value, list):
        return [one for one in value if _is_line(one)]
    return [value] if _is_line(value) else []


def _continued(command: Any, more: list[str]) -> Any:
    words = [command] if isinstance(command, str) else command
    return [*words, *more] if more else command


def _is_line(value: Any) -> bool:
    return isinstance(value, str) or (are_texts(value) and bool(value))


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").casefold()
