"""How many requests of one person are answered at once."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from gatewright.console.operations import ApiError
from gatewright.console.turns import AT_ONCE, WAITING, Turns
from tests.console.in_process import within


async def test_one_person_waits_for_themselves_and_for_nobody_else() -> None:
    turns, over, running = Turns(), asyncio.Event(), 0

    async def ask(person: str) -> None:
        nonlocal running
        async with turns.of(person):
            running += 1
            await over.wait()

    mine = [asyncio.create_task(ask("ann")) for _ in range(AT_ONCE + WAITING)]
    await asyncio.sleep(0)
    assert running == AT_ONCE
    with pytest.raises(ApiError) as caught:
        await ask("ann")
    assert caught.value.status == 503
    other = asyncio.create_task(ask("bob"))
    await asyncio.sleep(0)
    assert running == AT_ONCE + 1
    over.set()
    await asyncio.gather(*mine, other)
    assert running == AT_ONCE + WAITING + 1
    assert vars(turns)["_lines"] == {}


async def test_whoever_has_gone_gives_their_turn_back() -> None:
    turns = Turns()

    async def ask() -> None:
        async with turns.of("ann"):
            await asyncio.sleep(60)

    waiting = [asyncio.create_task(ask()) for _ in range(AT_ONCE + 3)]
    await asyncio.sleep(0)
    for one in waiting:
        one.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert vars(turns)["_lines"] == {}


async def test_reading_takes_a_turn_and_a_decision_none(tmp_path: Path) -> None:
    async with within(tmp_path) as console:
        client = await console.person("operator")
        line = vars(console.site)["_turns"]
        over = asyncio.Event()

        async def hold() -> None:
            async with line.of("operator"):
                await over.wait()

        held = [asyncio.create_task(hold()) for _ in range(AT_ONCE)]
        await asyncio.sleep(0)
        reading = [
            asyncio.create_task(client.get("/inbox")),
            asyncio.create_task(client.api("GET", "/approvals")),
        ]
        denied = await client.api("POST", "/approvals/x/deny", {"comment": "no"})
        assert denied.status == 404
        assert not any(one.done() for one in reading)
        over.set()
        assert [one.status for one in await asyncio.gather(*reading)] == [200, 200]
        await asyncio.gather(*held)
