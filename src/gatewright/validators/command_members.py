"""Finds command lines in a call's arguments (`command`, `argv`), joined with sibling members that continue them; their working folders.

A program in one member and its words in another are one command to the tool, and mean what they mean together: `find` reads, and
`-delete` is a word.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gatewright.schemas.json_pointers import Place
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

    A list of arguments beside a command continues it. A text beside it may do so, or be one argument: it makes a further line. Of two commands
    each may continue the other.
    """
    commands = [(name, one) for name in found for one in _said(name, found[name])]
    if not commands:
        return set(), []
    taken = {name for name, _ in commands if _is_line(found[name]) or all(map(_is_line, found[name]))}  # fmt: skip
    # What may be a command by its name may continue another one as well.
    beside = {name: found[name] for name in found if (len(taken) > 1 if name in taken else _plain(name) in _ARGUMENTS)}  # fmt: skip
    lists = [name for name, one in beside.items() if are_texts(one)]
    texts = [(name, one) for name, one in beside.items() if isinstance(one, str) and one.strip()]
    # Each command is judged with each text, and in each folder: many spellings of both would make more lines than anybody judges in time.
    if len(commands) * (len(lists) + len(texts) + len(folders_of(found))) > _MOST:
        return {*taken, *lists}, [(commands[0][0], _TOO_LONG)]
    lines = [(name, line) for name, one in commands for line in _continued(one, [_behind(one, found[at], own=at in taken) for at in lists if at != name], alone=not taken.isdisjoint({*lists} - {name}))]  # fmt: skip
    lines += [(name, f"{one} {text}" if isinstance(one, str) else [*one, *text.split()]) for name, one in commands for at, text in texts if at != name]  # fmt: skip
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


def _behind(command: Any, words: list[str], *, own: bool) -> list[str]:
    """What a list puts behind a command; the words of a process begin with the program's own name, and are judged as they are as well."""
    return words[1:] if own and words[:1] == [command] else words


def _continued(command: Any, others: list[list[str]], *, alone: bool) -> list[Any]:
    """A command with the lists that continue it, and by itself where one of these may be a command of its own.

    A text of several words is no program: some tools put it in front of the others."""
    more = [text for one in others for text in one]
    if not more:
        return [command]
    if not isinstance(command, str):
        return [[*command, *more], *([command] if alone else [])]
    several = " " in command.strip()
    lines: list[Any] = [[command, *more], *([command] if alone or several else [])]
    return [*lines, [*command.split(), *more]] if several else lines


def _is_line(value: Any) -> bool:
    return isinstance(value, str) or (are_texts(value) and bool(value))


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").casefold()
