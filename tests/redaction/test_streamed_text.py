"""Calls that stream at once: what is kept of each ends with it, and what there is no room for is told."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

import gatewright.secret_scanning.chunks
from gatewright.call import Answer, Back, Call, Event, Outcome
from gatewright.kernel import Kernel
from gatewright.redaction.filter import Redact, Rules
from gatewright.secret_scanning import Redactor
from gatewright.secret_scanning.chunks import CHUNK, GAP
from tests.kernel_parts import Book, Line, a_call


def chunk(text: str) -> Event:
    return Event(CHUNK, {"index": 0, "content": {"type": "text", "text": text}, "done": False})


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> int:
    """How many may stream at once."""
    monkeypatch.setattr(gatewright.secret_scanning.chunks, "KEPT", 3)
    return 3


def test_what_there_is_no_room_for_is_told_as_missing(room: int) -> None:
    by = Redact(Rules(Redactor(b"key")))
    calls = [replace(a_call(), id=f"c{at}") for at in range(room + 1)]
    for call in calls[:room]:
        event = by.event(call, chunk("some text "))
        assert isinstance(event, Event)
        assert event.method == CHUNK
    last = calls[room]
    for text in ("four", "", "words " * 2000):
        assert by.event(last, chunk(text)) == Event(
            GAP, {"request_id": last.id, "chars": len(text)}
        )
    assert by.rest(calls[0]) is None
    assert by.event(last, chunk("more")) == Event(GAP, {"request_id": last.id, "chars": 4})
    assert by.rest(last) is None
    after = by.event(last, chunk("said "))
    assert isinstance(after, Event)
    assert after.params["content"]["text"] == "said "


@pytest.mark.parametrize("ends", ["answered", "broken", "cancelled", "slow"])
async def test_a_call_that_says_more_than_it_is_long_takes_no_room(room: int, ends: str) -> None:
    """However it ends: what comes late, from a thread that goes on or a task that a tool has left, is of no call."""
    by = Redact(Rules(Redactor(b"key")))
    ways: list[Back] = []

    async def tool(call: Call, back: Back) -> Outcome:
        ways.append(back)
        back.emit(chunk("password: x" * 2000 if ends == "slow" else "some text "))
        if ends == "broken":
            raise RuntimeError("broken")
        if ends == "cancelled":
            await asyncio.Event().wait()
        return Answer(b"{}")

    kernel = Kernel((), tool, (by,), Book())
    for at in range(3 * room):
        heard = Line()
        work = asyncio.ensure_future(kernel.handle(replace(a_call(), id=f"c{at}"), heard))
        await asyncio.sleep(0)
        if ends == "cancelled":
            work.cancel()
        await asyncio.wait([work])
        said = len(heard.sent)
        ways[-1].emit(chunk("and more "))
        await asyncio.sleep(0)
        assert len(heard.sent) == said
    last: Any = by.event(replace(a_call(), id="last"), chunk("text "))
    assert last.method == CHUNK
    by.rest(replace(a_call(), id="last"))
    assert not by._streamed
