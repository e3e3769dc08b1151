"""One change after the other: an operator's comes next, and waits for no server that takes its time to say hello."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from gatewright.servers import turns
from gatewright.servers.turns import Turns, came_up
from tests.servers.rig import within


class Mute:
    """A server that settles when it is told to, or never."""

    def __init__(self) -> None:
        self.said: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.given_up = False

    async def settled(self) -> None:
        try:
            await self.said
        except asyncio.CancelledError:
            self.given_up = True
            raise


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "FAIR_S", 0.05)


async def took(servers: Any, patience_s: float, wanted: asyncio.Event | None = None) -> float:
    began = time.monotonic()
    await within(came_up(servers, patience_s, wanted))
    await asyncio.sleep(0)
    return time.monotonic() - began


@pytest.mark.usefixtures("quick")
async def test_servers_have_all_their_time_where_nobody_waits() -> None:
    mute = Mute()
    assert 0.3 <= await took([mute], 0.3, asyncio.Event()) < 5
    assert mute.given_up
    assert 0.3 <= await took([Mute()], 0.3) < 5


@pytest.mark.usefixtures("quick")
async def test_servers_have_a_fair_time_where_somebody_waits_already() -> None:
    wanted = asyncio.Event()
    wanted.set()
    assert 0.04 <= await took([Mute()], 20.0, wanted) < 5
    assert await took([Mute()], 0.0, wanted) < 5
    quick, late = Mute(), Mute()
    asyncio.get_running_loop().call_later(0.02, quick.said.set_result, None)
    asyncio.get_running_loop().call_later(0.1, wanted.set)
    wanted.clear()
    assert 0.08 <= await took([quick, late], 20.0, wanted) < 5
    assert (quick.given_up, late.given_up) == (False, True)


async def test_nothing_is_waited_for_where_all_have_settled() -> None:
    one = Mute()
    one.said.set_result(None)
    assert await took([one], 20.0, asyncio.Event()) < 5
    assert await took([], 20.0) < 5


async def test_whoever_gives_up_leaves_nothing_that_waits() -> None:
    one = Mute()
    task = asyncio.create_task(came_up([one], 20.0, asyncio.Event()))
    await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.wait([task])
    await asyncio.sleep(0)
    assert one.given_up


async def test_an_operator_comes_before_all_in_line_but_one() -> None:
    every, order, seen = Turns(), [], []

    async def waits(name: str) -> None:
        async with every.in_line():
            order.append(name)
            seen.append(every.wanted.is_set())

    async def operator() -> None:
        async with every.at_once():
            order.append("operator")
            seen.append(every.wanted.is_set())

    async with every.at_once():
        agents = [asyncio.create_task(waits(name)) for name in "abc"]
        await asyncio.sleep(0)
        acts = asyncio.create_task(operator())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert every.wanted.is_set()
    await within(asyncio.gather(acts, *agents))
    assert order == ["a", "operator", "b", "c"]
    assert seen == [True, False, False, False]


async def test_whoever_leaves_while_waiting_presses_nobody_any_more() -> None:
    every = Turns()

    async def operator() -> None:
        async with every.at_once():
            raise AssertionError("it was somebody else's turn")

    async with every.in_line():
        for _ in range(2):
            acts = asyncio.create_task(operator())
            await asyncio.sleep(0.01)
            with every.pressing():
                acts.cancel()
                await asyncio.wait([acts])
                assert every.wanted.is_set()
            assert not every.wanted.is_set()
    async with every.at_once():
        pass
