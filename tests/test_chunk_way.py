"""Plain chunks on their straight way: the same texts and numbers as events would be, and events again where something is unusual."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gatewright.call import Call, Client, Event, Mgp, Outcome, Question
from gatewright.chunk_way import ChunkEnd, ChunkWay, TextStep, as_it_is, chunk_end, chunk_way
from gatewright.mcp.server.open_call import HELD_CHARS, SLOW_BYTES, OpenCall, Shared
from gatewright.redaction import streamed_text
from gatewright.redaction.filter import Redact, Rules
from gatewright.return_path import FilteredBack
from gatewright.secret_scanning import Redactor
from gatewright.secret_scanning.chunks import CHUNK, GAP
from gatewright.secret_scanning.context import Finding
from tests.kernel_parts import a_call

SECRET = "ghp_" + "x7Kq2Wm9Zt" * 3 + "Ab12Cd"
CLIENT = Client("2025-11-25", mgp=Mgp("0.2.0", ("streaming",)))
CALL = replace(a_call(), client=CLIENT, params={"name": "x", "_mgp": {"stream": True}})


class Reader:
    """A client: what it was sent, as events or straight, and how far it is behind."""

    def __init__(self, *, straight: bool) -> None:
        self.behind = 0
        self.seated = True
        self.straight = straight
        self.said: list[tuple[Any, ...]] = []
        self.went = 0

    def emit(self, event: Event) -> None:
        params = event.params
        if event.method == CHUNK:
            self.said.append((params["index"], params["content"]["text"], params["done"]))
        else:
            self.said.append((event.method, params.get("chars")))

    async def ask(self, question: Question) -> dict[str, Any]:
        return {}

    def chunk_end(self) -> ChunkEnd | None:
        def say(index: int, text: str) -> None:
            self.went += 1
            self.said.append((index, text, False))

        return (
            ChunkEnd(lambda most: self.seated and self.behind <= most, say)
            if self.straight
            else None
        )


class Side:
    """One call, from where its link gives it chunks."""

    def __init__(self, filters: tuple[Any, ...], *, straight: bool = True) -> None:
        self.reader = Reader(straight=straight)
        self.open = OpenCall(Shared(lambda: 0.0), CALL, self.reader, "")
        self.open.task = None  # which is the test's own
        self.back = FilteredBack(CALL, self.open, filters)
        self.way: ChunkWay | None = None

    def say(self, text: str, *, done: bool = False) -> None:
        """As `mcp.client.notifications` does."""
        if self.way is not None and not done and len(text) < 1000 and self.way.free():
            self.way.say(text)
            return
        content = {"type": "text", "text": text}
        params = {"request_id": CALL.id, "index": 0, "content": content, "done": done}
        self.back.emit(Event(CHUNK, params))
        self.way = self.way or chunk_way(self.back)


def redacting() -> tuple[Redact]:
    return (Redact(Rules(Redactor(b"key"))),)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from(["some words ", f"a key {SECRET} ", "password: hunter2! ", "x" * 1500, ""])
        | st.text(max_size=20),
        max_size=12,
    ),
    st.sampled_from([3, 9, 40]),
    st.booleans(),
)
def test_what_goes_straight_is_what_events_would_say(
    texts: list[str], size: int, done: bool
) -> None:
    async def both() -> None:
        sides = [Side(redacting()), Side(redacting(), straight=False)]
        whole = "".join(texts)
        pieces = [whole[at : at + size] for at in range(0, len(whole), size)]
        for one in sides:
            for number, piece in enumerate(pieces):
                one.say(piece, done=done and number == len(pieces) - 1)
            await one.back.finished()
            one.back.close()
            one.back.release([] if (rest := one.back._filters[0].rest(CALL)) is None else [rest])  # type: ignore[attr-defined]
        straight, events = sides
        assert straight.reader.said == events.reader.said
        assert straight.open.cancel() == events.open.cancel()
        assert events.reader.went == 0
        assert SECRET not in str(straight.reader.said)

    asyncio.run(both())


async def test_the_first_chunk_travels_as_an_event_and_the_others_straight() -> None:
    side = Side(redacting())
    for number in range(5):
        side.say(f"{number} said ")
    assert [one[0] for one in side.reader.said] == [0, 1, 2, 3, 4]
    assert side.reader.went == 4


async def test_who_is_behind_gets_fewer_and_longer_chunks_as_ever() -> None:
    side = Side(redacting())
    side.say("one ")
    side.say("two ")
    side.reader.behind = SLOW_BYTES + 1
    for _ in range(HELD_CHARS // 900 + 10):
        side.say("word " * 180)
    assert side.reader.went == 1
    assert len(side.reader.said) == 2
    side.reader.behind = 0
    side.say("three ")
    assert side.reader.said[2][0] == GAP
    assert side.open._shared.merged > 0
    side.open.close()


async def test_of_a_call_that_is_over_or_that_nobody_waits_for_nothing_goes_straight() -> None:
    side = Side(redacting())
    side.say("one ")
    assert side.way is not None
    assert side.way.free()
    side.reader.seated = False
    assert not side.way.free()
    side.reader.seated = True
    side.back.close()
    assert not side.way.free()
    side.say("late ")
    assert side.back.lost == len("late ")


class Beside:
    """Looks through texts once it is told to."""

    def __init__(self) -> None:
        self.ready = asyncio.Event()

    async def find(self, call: Call, redactor: Redactor, text: bytes) -> list[Finding]:
        await self.ready.wait()
        return redactor.find(text)

    async def clean(self, call: Call, redactor: Redactor, raw: bytes, *, report: bool) -> Any:
        raise AssertionError


async def test_what_is_looked_through_beside_the_loop_holds_up_what_comes_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streamed_text, "_is_dense", lambda _, text: True)
    beside = Beside()
    side = Side((Redact(Rules(Redactor(b"key")), beside),))
    side.say("one ")
    side.say("two ")
    side.say(f"the key is {SECRET} \n")
    side.say("three ")
    assert [one[1] for one in side.reader.said] == ["one ", "two "]
    beside.ready.set()
    assert await side.back.finished() is None
    text = "".join(one[1] for one in side.reader.said)
    assert [one[0] for one in side.reader.said] == [0, 1, 2, 3]
    assert SECRET not in text
    assert text.startswith("one two the key is [REDACTED")
    assert text.endswith("three ")


class Silent:
    """A filter that says nothing of plain chunks."""

    name = "silent"

    def outcome(self, call: Call, outcome: Outcome) -> Outcome:
        return outcome

    def event(self, call: Call, event: Event) -> Event | Awaitable[Event | None] | None:
        return event


class Acting(Silent):
    """One that does something with them."""

    def chunks(self, call: Call) -> TextStep | None:
        return str.upper


async def test_a_filter_that_says_nothing_of_chunks_is_given_every_one_as_an_event() -> None:
    for filters in ((Silent(),), (Acting(), Acting()), (*redacting(), Acting())):
        side = Side(filters)
        side.say("one ")
        assert side.way is None
    side = Side((Acting(),))
    side.say("one ")
    side.say("two ")
    assert [one[1] for one in side.reader.said] == ["one ", "TWO "]


def test_a_way_back_without_one_has_none() -> None:
    assert chunk_way(object()) is None
    assert chunk_end(object()) is None
    assert as_it_is("x") == "x"
