"""Texts and table rows about tools hidden by pins or catalogue limits, with the commands that release them.

Two kinds: *held back*, until an operator has looked at what they say of themselves (`pins/store`), and *left out*, because they
cannot be used safely or are too many (`servers/server_catalogue`). The names are a server's own words: none of them adds a line
or hides a character.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gatewright.cli.output import one_line
from gatewright.command_text import to_type

__all__ = ["accepting", "counted", "unseen", "unseen_notes", "unseen_rows"]

_NAMED = 5
_NAME_CHARS = 60


def unseen_notes(entry: Mapping[str, Any]) -> Iterator[str]:
    """One line for each kind that an entry of `mgp/discovery/list` has."""
    server = str(entry.get("id"))
    for kind, count, tools in unseen(entry):
        names = [name for name, _ in tools]
        command = accepting(server) if kind == "held_back" else _showing(server)
        yield f"{one_line(server)}: {counted(count, kind)}: {_few(names, count)}; {command}"


def unseen_rows(entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """One row for each such tool, with why, and one for those that are not named."""
    for kind, count, tools in unseen(entry):
        word = kind.replace("_", " ")
        for name, why in tools:
            yield word, f"{_name(name)}: {one_line(why)}"
        if count > len(tools):
            yield word, f"and {count - len(tools)} more"


def counted(count: int, kind: str) -> str:
    """`3 tools are held back`, in the words of a kind."""
    return f"{count} tool{'s are' if count != 1 else ' is'} {kind.replace('_', ' ')}"


def accepting(server: str) -> str:
    """The commands by which an operator looks at what is held back, and accepts it."""
    name = one_line(server)
    return (
        f"`{to_type('server pin {}', name)}` lists them, `{to_type('server pin {} TOOL', name)}` shows one "
        "and how to accept it"
    )


def _showing(server: str) -> str:
    return f"`{to_type('server show {}', one_line(server))}` says why"


def unseen(entry: Mapping[str, Any]) -> Iterator[tuple[str, int, list[tuple[str, str]]]]:
    """Each kind that an entry of `mgp/discovery/list` has: how many tools, and those of them that are named, with why."""
    for kind in ("held_back", "left_out"):
        found = entry.get(kind)
        if isinstance(found, dict) and isinstance(found.get("tools"), list):
            every = [one for one in found["tools"] if isinstance(one, dict)]
            tools = [(str(one.get("name", "")), str(one.get("why", ""))) for one in every]
            count = found.get("count")
            yield kind, count if isinstance(count, int) else len(tools), tools


def _few(names: list[str], count: int) -> str:
    shown = ", ".join(_name(name) for name in names[:_NAMED])
    more = count - min(len(names), _NAMED)
    return f"{shown} and {more} more" if more > 0 else shown


def _name(text: str) -> str:
    return one_line(text if len(text) <= _NAME_CHARS else f"{text[: _NAME_CHARS - 1]}…")
