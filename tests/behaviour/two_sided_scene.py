"""Single scenes in the house of the two-sided model: what tests write down by hand."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from tests.behaviour.two_sided import House
from tests.behaviour.two_sided_facts import Asked
from tests.behaviour.two_sided_loop import Loop
from tests.behaviour.two_sided_servers import End, Work
from tests.behaviour.two_sided_streaming import subscribes, takes_up, unsubscribes

__all__ = ["calls", "defended", "inside", "main_end", "played", "stands", "work_of"]


def inside(folder: Path, act: Callable[[House], Coroutine[Any, Any, None]]) -> House:
    """A house in which something happened."""
    loop = Loop()
    house = House(folder)

    async def whole() -> None:
        await house.open()
        try:
            await act(house)
            await house.rest()
        finally:
            await house.close()

    try:
        loop.run_until_complete(whole())
    finally:
        loop.close()
    return house


def played(folder: Path, act: Any) -> House:
    """Something happened, and nobody got what is another's."""
    house = inside(folder, act)
    assert house.faults == []
    return house


async def calls(house: House, name: str, server: str, **more: Any) -> tuple[Asked, End, Work]:
    """A client calls the tool of a server: what it asked, and what the server has of it."""
    params = {"name": f"{server}__do", "arguments": {}, **more}
    asked = house.clients[name].request("tools/call", params, frozenset({server}))
    await house.rest()
    return asked, *work_of(house, asked)


def work_of(house: House, asked: Asked) -> tuple[End, Work]:
    """What a server has of a request now."""
    ((end, one),) = [found for found in house.every_work() if found[1].mark == asked.mark]
    return end, one


async def stands(end: End, ident: str) -> None:
    """A server says how a task stands."""
    end.say(None, method="notifications/tasks/status", params=end.task(ident))
    await end.server.house.rest()


def main_end(house: House, server: str) -> End:
    """The connection of all who share a server."""
    return next(end for end in house.servers[server].ends if house.shared(end))


async def defended(house: House, who: str, *others: str) -> str:
    """A client subscribes to events of tools, and others try to end that and to take it up: the id of its subscription."""
    ident = await subscribes(house, who, ["tool.*"])
    house.subscribers.append((who, ident))
    for other in others:
        await unsubscribes(house, other, ident)
        await takes_up(house, other, ident, 0)
    return ident
