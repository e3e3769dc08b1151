"""What happens when the trail cannot be written: nothing is answered that is not recorded."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from gatewright.audit.trail import AuditLog
from gatewright.call import Answer, Refusal, Unrecorded
from gatewright.kernel import Kernel
from tests.audit.parts import (
    ANSWER,
    Nobody,
    Server,
    a_call,
    a_disk,
    a_log,
    a_tool,
    disks,
    records,
    run,
    until,
    verified,
)


async def _call_until_refused(log: AuditLog) -> tuple[int, Refusal]:
    answered = 0
    while True:
        try:
            outcome = run(log, a_call(answered))
        except Unrecorded as refused:
            return answered, Refusal("audit_unavailable", str(refused))
        if type(outcome) is Refusal:
            return answered, outcome
        answered += 1
        if answered % 50 == 0:
            await asyncio.sleep(0)


@pytest.mark.parametrize("kind", disks())
async def test_on_a_full_disk_calls_are_refused_and_taken_again_when_there_is_room(
    tmp_path: Path, kind: str
) -> None:
    folder = tmp_path / "state"
    with a_disk(kind, folder) as disk:
        log = a_log(folder)
        before = [run(log, a_call(number)) for number in range(100)]
        assert before == [ANSWER] * 100
        await asyncio.to_thread(disk.fill)
        answered, refusal = await _call_until_refused(log)
        assert refusal.reason == "audit_unavailable"
        assert "cannot be written" in refusal.message
        assert log.fault is not None
        with pytest.raises(Unrecorded):
            log.open(a_call())
        disk.free()
        await until(lambda: log.fault is None)
        assert run(log, a_call(7)) is ANSWER
        await log.close()
        found = records(folder)
        ended = [each for each in found if each["event_type"] == "TOOL_EXECUTED"]
        assert len(ended) == 100 + answered + 1
        resumed = [each for each in found if each["event_type"].endswith("audit.resumed")]
        assert len(resumed) >= 1
        assert "cannot be written" in resumed[0]["details"]["fault"]
        assert resumed[-1]["details"]["refused"] >= 1
        assert verified(folder).problem is None


async def test_a_read_only_call_whose_end_cannot_be_recorded_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    with a_disk("limited", folder) as disk:
        log = a_log(folder)
        call = a_call(1, a_tool("safe"))
        run(log, a_call(2))
        trail = log.open(call)
        other = log.open(a_call(3))
        disk.fill()
        # Another one may end in the same turn of the loop, so its end is written with that one's.
        trail.close(call, Answer(b'{"secret":1}'))
        waits = trail.settled()
        assert waits is not None
        with pytest.raises(Unrecorded, match="cannot be written"):
            await waits
        assert type(other.close(a_call(3), ANSWER)) is Refusal
        disk.free()
        await until(lambda: log.fault is None)
        await log.close()


async def test_a_flush_that_fails_refuses_the_call_that_waited_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gatewright.audit import journal  # noqa: PLC0415 - its disk fails

    log = a_log(tmp_path, sync="always")
    kernel = Kernel([], Server(tmp_path), [], log)

    def broken(_: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(journal, "_to_disk", broken)
        call = a_call(1, a_tool("moderate"))
        outcome = await asyncio.wait_for(kernel.handle(call, Nobody()), 20)
        assert type(outcome) is Refusal
        assert outcome.reason == "audit_unavailable"
        assert type(await kernel.handle(a_call(2), Nobody())) is Refusal
    await until(lambda: log.fault is None)
    assert await kernel.handle(a_call(3), Nobody()) is ANSWER
    await log.close()
    found = verified(tmp_path)
    assert found.problem is None
    assert [each["call"] for each in records(tmp_path, event_type="TOOL_EXECUTED")] == [
        "call-1",
        "call-3",
    ]


async def test_a_call_that_cannot_be_put_into_a_record_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from gatewright.audit import call_trail as audit  # noqa: PLC0415 - one of its parts breaks

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    log = a_log(tmp_path)
    trail = log.open(a_call())
    monkeypatch.setattr(audit, "end_text", broken)
    outcome = trail.close(a_call(), ANSWER)
    assert type(outcome) is Refusal
    assert outcome.reason == "audit_unavailable"
    assert "could not be put into a record" in caplog.text
    await log.close()


async def test_a_fault_is_logged_once_and_its_end_too(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, logger="gatewright.audit")
    folder = tmp_path / "state"
    with a_disk("limited", folder) as disk:
        log = a_log(folder)
        run(log, a_call())
        disk.fill()
        await _call_until_refused(log)
        await until(lambda: "calls are refused" in caplog.text)
        disk.free()
        await until(lambda: "calls are taken" in caplog.text)
        await log.close()
    assert caplog.text.count("calls are refused") == 1
    assert caplog.text.count("calls are taken") == 1
