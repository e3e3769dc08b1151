"""Connections that are of no more use are stopped, and waited for."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

from gatewright.call import Failure
from gatewright.mcp.client.link import Link
from gatewright.servers.departures import Departures
from tests.servers.rig import within


class Going:
    """A connection whose calls go on until they are given up."""

    def __init__(self) -> None:
        self.spec = SimpleNamespace(id="s")
        self.graces: list[float] = []
        self.why: Failure | None = None
        self._over = asyncio.Event()

    async def stop(self, grace_s: float) -> None:
        """Wait for its calls."""
        self.graces.append(grace_s)
        await self._over.wait()

    def give_up(self, why: Failure) -> None:
        """End them."""
        self.why = why
        self._over.set()


async def test_calls_of_a_connection_that_leaves_end_with_the_server() -> None:
    departures, link = Departures(), Going()
    departures.leave(cast("Link", link))
    await asyncio.sleep(0)
    departures.grace_s = 0.01
    await within(departures.over("the gateway stops"))
    assert link.graces == [5.0]
    assert link.why is not None
    assert link.why.details == {"sent": True}
    assert "the gateway stops" in link.why.message


async def test_what_leaves_while_others_are_waited_for_is_waited_for_as_well() -> None:
    departures = Departures()
    seen: list[str] = []

    async def second() -> None:
        await asyncio.sleep(0)
        seen.append("second")

    async def first() -> None:
        await asyncio.sleep(0)
        departures.depart(second())
        seen.append("first")

    departures.depart(first())
    over: Any = departures.over("x")
    await within(over)
    assert seen == ["first", "second"]


async def test_calls_of_a_connection_that_leaves_last_end_with_the_server_as_well() -> None:
    """A reconnector that is closed leaves its connection when those that were there have their time set; it was waited for without end."""
    departures, link = Departures(), Going()
    departures.grace_s = 0.01

    async def close() -> None:
        await asyncio.sleep(0)
        departures.leave(cast("Link", link))

    departures.depart(close())
    await within(departures.over("the gateway stops"))
    assert link.why is not None
    assert "the gateway stops" in link.why.message
