"""How a call is answered that is cancelled, and what a caller hears of one that is refused while nobody is there."""

from __future__ import annotations

import asyncio

import pytest

from gatewright.call import Back, Call, Event, Outcome, Refusal, Unrecorded
from gatewright.mcp.server.pending_input import KeptEvents
from gatewright.secret_scanning.chunks import CHUNK, GAP
from tests.dialects.client import rpc, within
from tests.dialects.house import House, Trails
from tests.dialects.steps import CALL, Hang
from tests.mcp.server.test_pending_input import CAN, NAME, first, retry

STREAMING = {"version": "0.2.0", "extensions": ["streaming"]}


class Waiting(Trails):
    """An audit whose records are written when a test says so, or cannot be."""

    def __init__(self, *, fails: bool) -> None:
        super().__init__()
        self.fails = fails
        self.written = asyncio.Event()
        self.written.set()

    async def settled(self) -> None:
        await self.written.wait()
        if self.fails and self.ended:
            raise Unrecorded("the disk is full")


@pytest.mark.parametrize("fails", [False, True])
async def test_a_cancelled_call_is_answered_once_it_is_recorded(fails: bool) -> None:
    house = House()
    house.trails = trails = Waiting(fails=fails)
    async with house:
        house.script.does("echo", hang := Hang())
        session = await house.session()
        trails.written.clear()
        wire = session.open("tools/call", CALL, ident=5)
        await within(hang.began.wait())
        cancelled = asyncio.create_task(
            session.send(rpc("notifications/cancelled", {"requestId": 5}))
        )
        async with asyncio.timeout(5):
            while not trails.ended:
                await asyncio.sleep(0)
        await asyncio.sleep(0.02)
        assert not wire.task.done()
        trails.written.set()
        await within(cancelled)
        body = (await wire.whole()).body
        assert (b"the disk is full" in body) is fails
        assert (b"-32800" in body) is not fails


async def test_a_refused_caller_hears_nothing_of_what_was_said_while_nobody_was_there() -> None:
    async def tool(call: Call, back: Back) -> Outcome:
        answer = asyncio.ensure_future(back.ask(NAME))
        await within(ended.wait())
        back.emit(Event("com.example/said", {"x": 1}))
        back.emit(Event(CHUNK, {"index": 2, "content": {"type": "text", "text": "words"}}))
        back.emit(Event(GAP, {"index": 3, "chars": 7}))
        answer.cancel()
        return Refusal("access_denied", "the grant is gone", once=True)

    async with House() as house:
        ended = asyncio.Event()
        house.script.does("echo", tool)
        state = (await first(house))["requestState"]
        ended.set()
        async with asyncio.timeout(5):
            while not house.trails.ended:
                await asyncio.sleep(0)
        answered = await house.post(
            retry(state, {"q1": {}}, capabilities={**CAN, "mgp": STREAMING})
        )
        assert b"com.example/said" not in answered.body
        assert b"words" not in answered.body
        assert b"the grant is gone" in answered.body
        gaps = [one["params"] for one in answered.messages if one.get("method") == GAP]
        assert gaps == [{"index": 2, "chars": 12}]


def test_text_for_which_there_is_no_room_is_told_as_missing_at_one_place() -> None:
    def chunk(index: int, text: str) -> Event:
        return Event(CHUNK, {"index": index, "content": {"type": "text", "text": text}})

    kept = KeptEvents(2_000)
    other = Event("com.example/said", {})
    for event in (chunk(0, "a"), chunk(1, "b" * 3_000), chunk(2, "c"), other):
        kept.add(event)
    assert kept.taken() == [chunk(0, "a"), other, Event(GAP, {"index": 1, "chars": 3_001})]
