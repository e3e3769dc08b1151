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
    while kernel.in_flight:
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
