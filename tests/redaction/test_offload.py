"""Cleaning beside the loop: the same answers as at once, and refusals that say what was too much."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable
from typing import Any

import pytest
import pytest_asyncio
from msgspec.structs import replace

from gatewright.app.worker import MODULE
from gatewright.call import Answer, Call, Event, Failure, Refusal
from gatewright.redaction import offload
from gatewright.redaction.filter import Redact, Rules
from gatewright.redaction.offload import Cleaners
from gatewright.secret_scanning import Redactor
from gatewright.secret_scanning.chunks import CHUNK
from gatewright.transport import worker_requests
from gatewright.transport.workers import Busy, Overtime, Workers
from tests.gate_parts import a_call, a_tool, a_tool_call
from tests.worker_parts import Never

TOKEN = "gh" + "p_" + "a1B2c3D4e5F6" * 3
SECRETS = Redactor(b"key")
FILLER = "all work and no play " * 5000


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is judged in the end may take as long as a busy machine takes for it."""
    monkeypatch.setattr(worker_requests, "JUDGE_S", 240)
    monkeypatch.setattr(offload, "CLEAN_S", 240)


@pytest_asyncio.fixture
async def beside() -> AsyncIterator[Cleaners]:
    workers = Workers(MODULE)
    yield Cleaners(workers)
    await workers.close()


async def verdict_like(call: Call, redact: Redact, raw: bytes) -> Answer:
    found = redact.outcome(call, Answer(raw))
    outcome = found if isinstance(found, Answer) else await found  # type: ignore[misc]
    assert isinstance(outcome, Answer)
    return outcome


async def test_a_large_result_is_cleaned_as_a_small_one_is(beside: Cleaners) -> None:
    by, plain = Redact(Rules(SECRETS), beside), Redact(Rules(SECRETS))
    for words in (f"{FILLER}{TOKEN}", FILLER):
        raw = json.dumps({"content": [{"type": "text", "text": words}]}).encode()
        mine, theirs = a_call(facts={}), a_call(facts={})
        later = by.outcome(mine, Answer(raw))
        assert not isinstance(later, Answer | Refusal | Failure)
        assert await later == plain.outcome(theirs, Answer(raw))
        assert mine.facts == theirs.facts


async def test_a_large_list_is_cleaned_once_for_all_callers(beside: Cleaners) -> None:
    by = Redact(Rules(SECRETS), beside)
    raw = json.dumps({"tools": [{"name": "t", "description": f"{FILLER}{TOKEN}"}]}).encode()
    call = replace(a_call(), kind="list")
    for _ in range(2):
        later = by.outcome(call, Answer(raw))
        assert not isinstance(later, Answer | Refusal | Failure)
        found = await later
        assert isinstance(found, Answer)
        assert TOKEN.encode() not in found.raw
    assert beside.workers.orders == 1


async def test_a_large_event_is_cleaned_or_not_passed_on(beside: Cleaners) -> None:
    event = Event("notifications/message", {"level": "info", "data": f"{FILLER}{TOKEN}"})
    for asked, passed in ((beside, True), (Cleaners(Never(Overtime())), False)):
        later = Redact(Rules(SECRETS), asked).event(a_call(facts={}), event)
        assert later is not None
        assert not isinstance(later, Event)
        found = await later
        assert (found is not None) == passed
        assert found is None or TOKEN not in found.params["data"]


async def test_a_large_chunk_of_text_is_cleaned_piece_by_piece() -> None:
    said = {"request_id": "r", "content": {"type": "text", "text": f"{FILLER}{TOKEN} "}}
    event = Event("notifications/mgp.stream.chunk", {**said, "done": True})
    later = Redact(Rules(SECRETS)).event(a_call(facts={}), event)
    assert later is not None
    assert not isinstance(later, Event)
    found = await later
    assert found is not None
    text = found.params["content"]["text"]
    assert text.startswith(FILLER)
    assert "[REDACTED:github-token:" in text
    assert found.params["done"] is True


async def test_a_result_that_cannot_be_cleaned_in_time_is_not_passed_on() -> None:
    raw = json.dumps({"content": [{"type": "text", "text": FILLER}]}).encode()
    for problem, reason in ((Overtime(), "output_invalid"), (Busy(), "resource_exhausted")):
        later = Redact(Rules(SECRETS), Cleaners(Never(problem))).outcome(a_call(), Answer(raw))
        assert not isinstance(later, Answer | Refusal | Failure)
        found = await later
        assert isinstance(found, Failure)
        assert found.reason == reason


async def test_an_error_of_many_words_is_cleaned_as_a_short_one_is(beside: Cleaners) -> None:
    """GRH-out-1"""
    error = json.dumps({"code": 1, "message": "m", "data": f"{FILLER}{TOKEN}"}).encode()
    for failure in (
        Failure("upstream_error", f"it said {TOKEN}", {"code": 1}, error=error),
        Failure("upstream_error", f"{FILLER} {TOKEN}", {"code": 1}),
        Refusal("invalid_args", "no", {"flaws": [f"{FILLER} {TOKEN}"]}),
    ):
        call, other = a_call(facts={}), a_call(facts={})
        later = Redact(Rules(SECRETS), beside).outcome(call, failure)
        assert not isinstance(later, Answer | Refusal | Failure)
        assert await later == Redact(Rules(SECRETS)).outcome(other, failure)
        assert call.facts == other.facts
    assert beside.workers.orders == 3


async def test_an_error_that_cannot_be_cleaned_in_time_is_not_passed_on() -> None:
    failure = Failure("upstream_error", FILLER + TOKEN)
    later = Redact(Rules(SECRETS), Cleaners(Never(Overtime()))).outcome(a_call(), failure)
    assert not isinstance(later, Answer | Refusal | Failure)
    found = await later
    assert isinstance(found, Failure)
    assert (found.reason, TOKEN in found.message) == ("output_invalid", False)


async def test_millions_of_places_are_counted_and_not_listed(beside: Cleaners) -> None:
    hidden = Redactor(b"key", hidden=True)
    raw = json.dumps({"a": "\u200b" * 100_000}, ensure_ascii=False).encode()
    found = await beside.clean(a_call("tool"), hidden, raw, report=False)
    assert not isinstance(found, Failure)
    assert found.rules == {"hidden": 100_000}
    call = a_tool_call(a_tool(), arguments={})
    outcome = await verdict_like(call, Redact(Rules(hidden), beside), raw)
    assert json.loads(outcome.raw)["_meta"]["dev.gatewright/redaction"]["redactions_applied"] == {
        "hidden": 100_000
    }
    assert call.facts["redacted"] == {"hidden": 100_000}


DENSE = "token: abcd1234 " * 60
"""A chunk with many places to look at."""


def _chunks(pieces: list[str]) -> list[Event]:
    return [
        Event(CHUNK, {"request_id": "r", "index": at, "content": {"type": "text", "text": piece}, "done": at == len(pieces) - 1})
        for at, piece in enumerate(pieces)
    ]  # fmt: skip


async def _streamed(by: Redact, pieces: list[str]) -> tuple[str, int, dict[str, object]]:
    """The text that comes of it, how many chunks had to be waited for, and the facts."""
    call, said, waited = a_call(facts={}), [], 0
    for event in _chunks(pieces):
        found = by.event(call, event)
        if isinstance(found, Awaitable):
            waited += 1
            found = await found
        assert found is not None
        said.append(found.params["content"]["text"])
    assert by.rest(call) is None
    return "".join(said), waited, dict(call.facts)


async def test_chunks_with_many_places_to_look_at_say_the_same_beside_the_loop(
    beside: Cleaners,
) -> None:
    """GRH-out-1, for MGP-12.4-1"""
    pieces = [
        "plain words ",
        DENSE,
        f"{DENSE}{TOKEN[:9]}",
        f"{TOKEN[9:]} {DENSE}",
        DENSE * 20,
        " done",
    ]
    here = await _streamed(Redact(Rules(SECRETS)), pieces)
    there = await _streamed(Redact(Rules(SECRETS), beside), pieces)
    assert there[0] == here[0]
    assert there[2] == here[2]
    assert (here[1], there[1] >= 3) == (
        1,
        True,
    )  # the long one is cleaned piece by piece here as well
    assert beside.workers.orders >= 4


async def test_a_chunk_that_cannot_be_looked_through_in_time_is_taken_out_as_a_whole() -> None:
    by = Redact(Rules(SECRETS), Cleaners(Never(Overtime())))
    text, _, facts = await _streamed(by, ["plain words ", DENSE, DENSE * 4, DENSE, " done"])
    assert text.startswith("plain words ")
    assert "abcd1234" not in text
    assert "[REDACTED:too_costly:" in text
    assert facts["redacted"]["too_costly"] >= 3  # type: ignore[index]


async def test_a_chunk_waits_as_long_as_too_much_waits() -> None:
    class Freed(Never):
        def __init__(self) -> None:
            super().__init__(Busy())
            self.left = 3

        async def run(self, *asked: Any) -> tuple[bytes, bytes]:
            self.left -= 1
            if self.left >= 0:
                return await super().run(*asked)
            return json.dumps({"found": []}).encode(), b""

    free = Freed()
    text, _, _ = await _streamed(Redact(Rules(SECRETS), Cleaners(free)), ["a ", DENSE * 4, "b "])
    assert free.left < 0
    assert text.startswith("a ")
    assert text.endswith("b ")
    assert text.count("token: ") == 4 * DENSE.count("token: ")
    assert "too_costly" not in text


async def test_what_is_left_of_a_dense_stream_holds_nobody_up(beside: Cleaners) -> None:
    by, call = Redact(Rules(SECRETS), beside), a_call(facts={})
    for event in _chunks([DENSE * 8, f"{DENSE}password: ab", ""])[:2]:
        found = by.event(call, event)
        if isinstance(found, Awaitable):
            await found
    orders = beside.workers.orders
    rest = by.rest(call)
    assert beside.workers.orders == orders
    assert rest is not None
    assert rest.params["content"]["text"].startswith("[REDACTED:too_costly:")


async def test_streams_of_one_caller_leave_places_to_its_results_and_to_others() -> None:
    class Slow(Never):
        def __init__(self) -> None:
            super().__init__(Busy())
            self.now = self.most = 0

        async def run(self, *asked: Any) -> tuple[bytes, bytes]:
            self.now += 1
            self.most = max(self.most, self.now)
            await asyncio.sleep(0.001)
            self.now -= 1
            return json.dumps({"found": []}).encode(), b""

    slow = Slow()
    cleaners, call = Cleaners(slow), a_call()
    await asyncio.gather(*(cleaners.find(call, SECRETS, b"x") for _ in range(30)))
    assert (slow.most, cleaners._turns) == (4, {})


async def test_nobody_waits_for_workers_that_are_closed() -> None:
    workers = Workers(MODULE)
    await workers.close()
    async with asyncio.timeout(10):
        assert await Cleaners(workers).find(a_call(), SECRETS, b"x") is None
