"""Calls that end together are recorded together: nobody has an answer before that, and all hear it where it fails."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gatewright.audit.intents import read_intents
from gatewright.audit.records import INTENT
from gatewright.audit.segments import read_head
from gatewright.call import Answer, Back, Call, Outcome, Refusal, Unrecorded
from gatewright.kernel import Kernel
from tests.audit.parts import (
    ANSWER,
    Nobody,
    a_call,
    a_disk,
    a_log,
    a_tool,
    journal_lines,
    records,
    until,
    verified,
)

_MANY = 16


class Together:
    """A dispatch whose calls are all answered in one turn of the loop."""

    def __init__(self) -> None:
        self.arrived = 0
        self._waits: list[asyncio.Future[None]] = []

    async def __call__(self, call: Call, back: Back) -> Outcome:
        self.arrived += 1
        waits: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waits.append(waits)
        await waits
        return ANSWER

    async def release(self, count: int = _MANY) -> None:
        """Answer them, once so many are here."""
        await until(lambda: self.arrived >= count)
        for one in self._waits:
            if not one.done():
                one.set_result(None)


def _calls(
    kernel: Kernel, seen: Callable[[Call, Outcome], Any] | None = None, count: int = _MANY
) -> list[asyncio.Task[Outcome]]:
    async def one(number: int) -> Outcome:
        call = a_call(number, a_tool("moderate"))
        outcome = await kernel.handle(call, Nobody())
        if seen is not None:
            seen(call, outcome)
        return outcome

    return [asyncio.create_task(one(number)) for number in range(count)]


def _ended(folder: Path) -> list[str]:
    return [each["call"] for each in records(folder, event_type="TOOL_EXECUTED")]


async def test_calls_that_end_in_one_turn_are_one_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, server = a_log(tmp_path), Together()
    real, written = os.write, list[int]()

    def write(file: int, data: bytes) -> int:
        written.append(data.count(b"\n"))
        return real(file, data)

    monkeypatch.setattr(os, "write", write)
    tasks = _calls(Kernel([], server, [], log))
    await server.release()
    assert await asyncio.gather(*tasks) == [ANSWER] * _MANY
    assert [one for one in written if one] == [_MANY]
    await log.close()
    assert verified(tmp_path).records == _MANY


@pytest.mark.parametrize("sync", ["process", "always"])
async def test_no_answer_leaves_before_the_record_of_its_call(tmp_path: Path, sync: Any) -> None:
    log, server = a_log(tmp_path, sync=sync), Together()
    missing: list[str] = []

    def seen(call: Call, outcome: Outcome) -> None:
        head = read_head(tmp_path)
        count = head.seq if sync == "always" and head is not None else None
        lines = journal_lines(tmp_path)[:count]
        if not any(b'"call":"%b"' % call.id.encode() in line for line in lines):
            missing.append(call.id)

    tasks = _calls(Kernel([], server, [], log), seen)
    await server.release()
    assert await asyncio.gather(*tasks) == [ANSWER] * _MANY
    assert missing == []
    await log.close()


@pytest.mark.parametrize("sync", ["process", "always"])
async def test_a_write_that_fails_refuses_all_that_ended_in_its_turn(
    tmp_path: Path, sync: Any
) -> None:
    """They ran: nobody is told to make them again, and the record has them as soon as it can be written."""
    folder = tmp_path / "state"
    with a_disk("limited", folder) as disk:
        log, server = a_log(folder, sync=sync), Together()
        kernel = Kernel([], server, [], log)
        before = _calls(kernel, count=1)
        await server.release(1)
        assert await before[0] is ANSWER
        tasks = _calls(kernel)
        await until(lambda: server.arrived == _MANY + 1)
        disk.fill()
        await server.release(_MANY + 1)
        outcomes = await asyncio.gather(*tasks)
        for outcome in outcomes:
            assert type(outcome) is Refusal
            assert (outcome.reason, outcome.once) == ("audit_unavailable", True)
        disk.free()
        await until(lambda: log.fault is None)
        await until(lambda: not read_intents(folder))
        assert len(records(folder, event_type=INTENT)) == _MANY
        await log.close()
        assert len(_ended(folder)) == 1
        resumed = [each for each in records(folder) if each["event_type"].endswith("resumed")]
        assert resumed[-1]["details"]["refused"] == _MANY
        assert verified(folder).problem is None


async def test_a_call_that_is_cancelled_while_it_waits_for_its_record_has_one(
    tmp_path: Path,
) -> None:
    log, server = a_log(tmp_path), Together()
    kernel = Kernel([], server, [], log)
    tasks = _calls(kernel)
    await server.release()
    while not log._turn.texts:
        await asyncio.sleep(0)
    tasks[3].cancel()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(one) for one in outcomes].count(Answer) == _MANY - 1
    assert isinstance(outcomes[3], asyncio.CancelledError)
    await log.close()
    assert len(_ended(tmp_path)) == _MANY


async def test_what_was_handed_over_is_written_before_the_trail_is_closed(tmp_path: Path) -> None:
    log = a_log(tmp_path)
    trails = [(call, log.open(call)) for call in map(a_call, range(3))]
    for call, trail in trails[:2]:
        assert trail.close(call, ANSWER) is ANSWER
    waits = [trail.settled() for _, trail in trails[:2]]
    await log.close()
    for one in waits:
        assert one is not None
        await one
    assert verified(tmp_path).records == 2
    call, late = trails[2]
    assert type(late.close(call, ANSWER)) is Refusal


async def test_an_event_comes_after_the_calls_that_ended_before_it(tmp_path: Path) -> None:
    log = a_log(tmp_path)
    first, second = a_call(1), a_call(2)
    trails = [log.open(first), log.open(second)]
    trails[0].close(first, ANSWER)
    log.event("SERVER_DISCONNECTED")
    assert trails[0].settled() is None
    assert [each["event_type"] for each in records(tmp_path)] == [
        "TOOL_EXECUTED",
        "SERVER_DISCONNECTED",
    ]
    assert trails[1].intent(second)  # of a dangerous tool: a record by itself
    trails[1].close(second, ANSWER)
    assert trails[1].settled() is None
    await log.close()
    assert [each["outcome"] for each in records(tmp_path)][2:] == ["pending", "success"]


async def test_everything_so_far_is_on_disk_also_what_still_waits(tmp_path: Path) -> None:
    log = a_log(tmp_path)
    trails = [(call, log.open(call)) for call in map(a_call, range(2))]
    trails[0][1].close(trails[0][0], ANSWER)
    await log.on_disk()
    assert log.synced.seq == 1
    await log.close()


async def test_a_failure_between_the_end_and_the_wait_is_heard_in_the_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = a_log(tmp_path)
    trails = [(call, log.open(call)) for call in map(a_call, range(2))]

    def broken(file: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    call, trail = trails[0]
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", broken)
        assert trail.close(call, ANSWER) is ANSWER
        with pytest.raises(Unrecorded):
            log.event("SERVER_DISCONNECTED")
        waits = trail.settled()
        assert waits is not None
        with pytest.raises(Unrecorded, match="No space left"):
            await waits
    await until(lambda: log.fault is None)
    await log.close()


async def test_what_is_given_up_when_all_is_mended_already_is_recorded_at_once(
    tmp_path: Path,
) -> None:
    log = a_log(tmp_path)
    call = a_call(1, a_tool("moderate"))
    trail = log.open(call)
    trail.intent(call)
    trail.failed(Unrecorded("the disk was full"))
    assert [line.count(b'"call-1"') for line in journal_lines(tmp_path)] == [1]
    assert read_intents(tmp_path) == []
    await log.close()


@pytest.mark.parametrize(("risk", "ran"), [("moderate", True), ("dangerous", False)])
async def test_what_cannot_be_recorded_says_whether_the_call_was_forwarded(
    tmp_path: Path, risk: Any, ran: bool
) -> None:
    log = a_log(tmp_path)
    call = a_call(1, a_tool(risk))
    trail = log.open(call)
    trail.intent(call)
    trail.failed(Unrecorded("the disk was full"))
    waits = trail.settled()
    assert waits is not None
    with pytest.raises(Unrecorded) as told:
        await waits
    assert told.value.ran is ran
    await log.close()


class Never:
    """An owner who never answers, and knows who came."""

    def __init__(self) -> None:
        self.arrived = 0

    async def __call__(self, call: Call, back: Back) -> Outcome:
        self.arrived += 1
        await asyncio.Event().wait()
        return ANSWER


def _recorded(folder: Path, call: str, count: int | None = None) -> bool:
    ends = [
        line
        for line in journal_lines(folder)[:count]
        if b'"call":"%b"' % call.encode() in line and b'"TOOL_EXECUTED"' in line
    ]
    return len(ends) == 1


@pytest.mark.parametrize("sync", ["process", "always"])
@pytest.mark.parametrize("ended", [False, True])
async def test_a_cancellation_is_heard_once_it_is_recorded(
    tmp_path: Path, sync: Any, ended: bool
) -> None:
    """Also that of a call which has its answer and waits for the record; others are in flight, so that it is handed over."""
    log, others, server = a_log(tmp_path, sync=sync), Never(), Together()
    early: list[str] = []
    running = _calls(Kernel([], others, [], log), count=2)
    await until(lambda: others.arrived == 2)

    async def one(number: int) -> None:
        call = a_call(number, a_tool("moderate"))
        try:
            await kernel.handle(call, Nobody())
        except asyncio.CancelledError:
            head = read_head(tmp_path)
            count = head.seq if sync == "always" and head is not None else None
            if not _recorded(tmp_path, call.id, count):
                early.append(call.id)
            raise

    kernel = Kernel([], server, [], log)
    tasks = [asyncio.create_task(one(10 + number)) for number in range(4)]
    await until(lambda: server.arrived == 4)
    if ended:
        await server.release(4)
        while not log._turn.texts:
            await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    found = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(each) for each in found] == [asyncio.CancelledError] * 4
    assert (early, kernel.in_flight) == ([], 0)
    for other in running:
        other.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    await log.close()


async def test_a_cancellation_that_cannot_be_recorded_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, server = a_log(tmp_path), Never()
    kernel = Kernel([], server, [], log)
    causes: list[BaseException | None] = []

    async def one(number: int) -> None:
        try:
            await kernel.handle(a_call(number, a_tool("moderate")), Nobody())
        except asyncio.CancelledError as stopped:
            causes.append(stopped.__cause__)
            raise

    tasks = [asyncio.create_task(one(number)) for number in range(3)]
    await until(lambda: server.arrived == 3)

    def broken(file: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", broken)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(each) for each in causes] == [Unrecorded] * 3
    assert "No space left" in str(causes[0])
    await until(lambda: log.fault is None)
    await log.close()


async def test_a_dangerous_call_that_is_cancelled_before_it_was_sent_has_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its intent was on the way to the disk."""
    log, server, flushing = a_log(tmp_path), Never(), asyncio.Event()
    kernel = Kernel([], server, [], log)
    flusher = log._flusher
    real = flusher.wait_for

    async def slow(number: int) -> None:
        flushing.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(flusher, "wait_for", slow)
    task = asyncio.create_task(kernel.handle(a_call(1, a_tool("dangerous")), Nobody()))
    async with asyncio.timeout(10):
        await flushing.wait()
    monkeypatch.setattr(flusher, "wait_for", real)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await log.close()
    assert server.arrived == 0
    assert [(each["event_type"], each["outcome"]) for each in records(tmp_path)] == [
        (INTENT, "pending"),
        ("TOOL_BLOCKED", "cancelled"),
    ]


async def test_a_call_is_in_flight_until_its_answer_may_leave(tmp_path: Path) -> None:
    """With `always` until it is on the disk: a gateway that drains waits for it."""
    log, server = a_log(tmp_path, sync="always"), Together()
    kernel = Kernel([], server, [], log)
    tasks = _calls(kernel, count=3)
    await server.release(3)
    while kernel.in_flight:
        assert kernel.in_flight == sum(not task.done() for task in tasks)
        await asyncio.sleep(0)
    assert all(task.done() for task in tasks)
    await log.close()
