"""Calls that stream at once: what is kept of each ends with it, and what there is no room for is told."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import gatewright.secret_scanning.chunks
from gatewright import return_path
from gatewright.call import Answer, Back, Call, Event, Failure, Outcome
from gatewright.kernel import Kernel
from gatewright.redaction import streamed_text
from gatewright.redaction.filter import Redact, Rules
from gatewright.secret_scanning import Redactor
from gatewright.secret_scanning.chunks import CHUNK, GAP
from gatewright.secret_scanning.operator_rules import SecretRule
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


class Beside:
    """Workers that clean nothing but texts of streams, and of these so many."""

    def __init__(self, most: int) -> None:
        self.left = most

    async def find(self, call: Call, redactor: Redactor, text: bytes) -> list[Any]:
        self.left -= 1
        if self.left < 0:
            await asyncio.Event().wait()
        await asyncio.sleep(0)
        return []

    async def clean(self, call: Call, redactor: Redactor, raw: bytes, *, report: bool) -> Failure:
        await asyncio.sleep(0)
        return Failure("output_invalid", "too costly")


OTHER = [{}, {"note": "plain"}, {"note": "password: hunter2x " * 4000}]


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    chunks=st.lists(
        st.tuples(st.sampled_from([0, 5, 900, 3000, 9000, 40_000]), st.integers(0, 2)),
        max_size=5,
    ),
    most=st.integers(0, 12),
    room=st.sampled_from([1, 1000]),
    done=st.booleans(),
)
@example(chunks=[(9000, 0), (5, 0), (9000, 0)], most=0, room=1000, done=False)
@example(chunks=[(40_000, 0), (5, 0), (900, 0)], most=2, room=1000, done=True)
@example(chunks=[(9000, 0), (5, 0), (900, 0)], most=9, room=1, done=True)
@example(chunks=[(900, 2), (9000, 2)], most=9, room=1000, done=True)
def test_all_of_a_text_goes_on_or_is_told_as_missing(
    monkeypatch: pytest.MonkeyPatch, chunks: Any, most: int, room: int, done: bool
) -> None:
    """Whatever else its chunks have that cannot be cleaned, and however long the call waits for what is cleaned beside the loop."""

    async def tool(call: Call, back: Back) -> Outcome:
        for at, (size, other) in enumerate(chunks):
            params = chunk(("word " * size)[:size]).params
            params["done"] = done and at == len(chunks) - 1
            back.emit(Event(CHUNK, {**params, **OTHER[other]}))
        return Answer(b"{}")

    with monkeypatch.context() as patch:
        patch.setattr(return_path, "LATE_S", 0.005)
        patch.setattr(return_path, "MOST", room)
        patch.setattr(streamed_text, "_is_dense", lambda _, text: len(text) > streamed_text.FREE)
        by, heard = Redact(Rules(Redactor(b"key")), Beside(most)), Line()
        asyncio.run(Kernel((), tool, (by,), Book()).handle(a_call(), heard))
    said = [len(one.params["content"]["text"]) for one in heard.sent if one.method == CHUNK]
    gaps = [one.params["chars"] for one in heard.sent if one.method == GAP]
    assert sum(said) + sum(gaps) == sum(size for size, _ in chunks)
    assert not by._streamed


def test_a_chunk_goes_on_without_what_cannot_be_cleaned_of_it() -> None:
    heard = Line()

    async def tool(call: Call, back: Back) -> Outcome:
        back.emit(Event(CHUNK, {**chunk("some text ").params, "index": 7, **OTHER[2]}))
        return Answer(b"{}")

    by = Redact(Rules(Redactor(b"key")), Beside(0))
    asyncio.run(Kernel((), tool, (by,), Book()).handle(a_call(), heard))
    (said,) = heard.sent
    assert said.params == {
        "request_id": "c1",
        "index": 7,
        "content": {"type": "text", "text": "some text "},
        "done": False,
    }


@pytest.mark.parametrize(("word", "beside"), [("acme", True), ("other", False)])
def test_what_an_operators_rules_are_asked_of_is_looked_through_beside_the_loop(
    word: str, beside: bool
) -> None:
    rule = SecretRule("acme-token", r"acme_[0-9]{9}", ("acme",))
    redactor = Redactor(bytes(32), rules=(rule,), held=None)
    text = f"{word} and so on ".encode() + b"words " * 400
    assert streamed_text._is_dense(redactor, text) is beside
    assert not streamed_text._is_dense(redactor, text[: streamed_text.FREE])
