"""Executes a line typed in `gatewright room join`: chat text, `/who`, `/propose`, `/fulfil`, `/reject`, `/ask`; `/quit` is the caller's."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any

from gatewright.cli.output import note, print_line
from gatewright.rooms.participants import Participant

__all__ = ["HELP", "obey"]

HELP = (
    "a line is a chat message; /who, /propose TARGET TOOL [JSON], /fulfil ID [TARGET], /reject ID [WHY], "
    "/ask TARGET METHOD [JSON], /quit"
)


async def obey(me: Participant, line: str) -> None:
    """Do what a line says. Raises `RoomError`, and `ValueError` for one that cannot be read."""
    if not line:
        return
    if not line.startswith("/"):
        me.chat(line)
        return
    word, _, rest = line.partition(" ")
    command = _COMMANDS.get(word)
    if command is None:
        note(HELP)
        return
    await command(me, rest)


async def _who(me: Participant, rest: str) -> None:
    del rest
    for name, said in sorted(me.roster.others.items()):
        print_line((name, said))


async def _propose(me: Participant, rest: str) -> None:
    target, tool, given = _words(rest, 3, "/propose TARGET TOOL [JSON]", least=2)
    me.propose("tools/call", {"name": tool, "arguments": _object(given)}, to=[target])


async def _fulfil(me: Participant, rest: str) -> None:
    id, target = _words(rest, 2, "/fulfil ID [TARGET]", least=1)
    await me.fulfil(id, to=target or None)


async def _reject(me: Participant, rest: str) -> None:
    id, why = _words(rest, 2, "/reject ID [WHY]", least=1)
    me.decline(id, why)


async def _ask(me: Participant, rest: str) -> None:
    target, method, given = _words(rest, 3, "/ask TARGET METHOD [JSON]", least=2)
    await me.request(target, method, _object(given))


_COMMANDS: Mapping[str, Callable[[Participant, str], Awaitable[None]]] = MappingProxyType(
    {"/who": _who, "/propose": _propose, "/fulfil": _fulfil, "/reject": _reject, "/ask": _ask}
)


def _words(text: str, count: int, usage: str, *, least: int) -> list[str]:
    words = text.split(maxsplit=count - 1)
    if len(words) < least:
        raise ValueError(f"write {usage}")
    return words + [""] * (count - len(words))


def _object(text: str) -> dict[str, Any]:
    found = json.loads(text or "{}")
    if not isinstance(found, dict):
        raise ValueError("the last part is a JSON object")  # noqa: TRY004 - bad input, no bad program
    return found
