"""Answers of calls that ended while nobody waited for them: how many are kept, and for how long."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gatewright.call import Answer, Back, Call, Outcome
from gatewright.mcp.server import pending_input
from gatewright.mcp.server.pending_input import PendingInputs
from tests.dialects.house import House, text
from tests.mcp.server.test_pending_input import NAME, first, retry


async def left_alone(house: House, answers: list[Answer]) -> list[Any]:
    """Calls that ask and end while nobody waits for them: what each repeated request is answered."""
    go, left = asyncio.Event(), iter(answers)
    ended = len(house.trails.ended) + len(answers)

    async def tool(call: Call, back: Back) -> Outcome:
        asking = asyncio.ensure_future(back.ask(NAME))
        answer = next(left)
        await go.wait()
        asking.cancel()
        return answer

    house.script.does("echo", tool)
    states = [(await first(house))["requestState"] for _ in answers]
    go.set()
    async with asyncio.timeout(10):
        while len(house.trails.ended) < ended:
            await asyncio.sleep(0.001)
    return [(await house.post(retry(state, {}))).json for state in states]


async def test_of_answers_that_nobody_waits_for_so_many_bytes_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pending_input, "KEPT_BYTES", 1000)
    async with House() as house:
        found = await left_alone(house, [text("y" * size) for size in (2000, 600, 300)])
        long, much, more = (one["result"] for one in found)
        assert long["content"][0]["text"] == "y" * 2000  # one alone is kept, however long it is
        for refused in (much, more):
            assert refused["isError"]
            assert "too long to be kept" in refused["content"][0]["text"]
        assert len(house.app.streamable.parked) == 0
        found = await left_alone(house, [text("y" * 600)] * 1)
        assert "isError" not in found[0]["result"]


async def test_an_answer_that_breaks_while_nobody_waits_is_told_to_who_comes_back() -> None:
    async with House() as house:
        (found,) = await left_alone(house, [Answer(b"{no result at all")])
        assert found["error"]["data"]["reason"] == "internal"


async def test_what_is_kept_is_counted_until_its_handle_goes() -> None:
    class Waiting:
        def cancel(self) -> None:
            """Nothing runs."""

    async with House() as house:
        parked: PendingInputs[Waiting] = PendingInputs(house.front)
        one, two = (parked.admit(Waiting(), ("agent", "ann")) for _ in range(2))
        other = parked.admit(Waiting(), ("agent", "bob"))
        most = pending_input.KEPT_BYTES
        assert (parked.keep(one, most), parked.keep(two, 1), parked.keep(other, most)) == (
            True,
            False,
            True,
        )
        parked.release(one)
        assert (parked.keep(two, most), parked.keep("gone", most), parked.keep(None, most)) == (
            True,
            True,
            True,
        )
        for handle in (two, other):
            parked.release(handle)
        assert parked._kept == {}
