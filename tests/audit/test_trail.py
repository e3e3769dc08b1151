"""The promise: what a caller has seen is in the trail, and what cannot be recorded is refused."""

from __future__ import annotations

import asyncio
import errno
import os
import random
import threading
from pathlib import Path
from typing import Any, Literal

import pytest

from gatewright.audit import journal
from gatewright.audit.records import INTENT, Actor, Subject
from gatewright.audit.rows import DATABASE
from gatewright.audit.segments import read_head, segment_path
from gatewright.call import Refusal, Unrecorded
from gatewright.kernel import Kernel
from gatewright.storage.errors import (
    StoreBusyError,
    StoreDamagedError,
    StoreError,
    StoreTooNewError,
)
from tests.audit.parts import (
    ANSWER,
    Clock,
    Nobody,
    Server,
    a_call,
    a_log,
    a_tool,
    fill,
    journal_lines,
    records,
    run,
    until,
    verified,
)

Risk = Literal["safe", "moderate", "dangerous"]


async def test_an_answered_call_is_in_the_journal_when_close_returns(tmp_path: Path) -> None:
    log = a_log(tmp_path)
    assert run(log, a_call()) is ANSWER
    assert [line.count(b'"trace-1"') for line in journal_lines(tmp_path)] == [1, 1]
    await log.close()


async def test_a_close_that_is_cancelled_is_over_when_everything_is_written_down(
    tmp_path: Path,
) -> None:
    """What is closed next is what its thread still uses."""
    log = a_log(tmp_path)
    begun, goes_on, ends = asyncio.Event(), threading.Event(), list[int]()
    loop = asyncio.get_running_loop()

    def slow(_: object) -> None:
        loop.call_soon_threadsafe(begun.set)
        assert goes_on.wait(20)
        ends.append(1)

    log.ended.listen(slow)
    log.event("dev.gatewright.test")
    closing = asyncio.create_task(log.close())
    async with asyncio.timeout(20):
        await begun.wait()
        for _ in range(2):
            closing.cancel()
            done, _ = await asyncio.wait((closing,), timeout=0.05)
            assert not done
        goes_on.set()
        with pytest.raises(asyncio.CancelledError):
            await closing
    assert ends == [1]
    log = a_log(tmp_path)  # the folder was given back
    await log.close()


async def test_a_close_that_fails_and_is_cancelled_tells_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = a_log(tmp_path)
    log.event("dev.gatewright.test")
    task = asyncio.current_task()
    assert task is not None

    def fails(_: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    log.ended.listen(lambda _: task.get_loop().call_soon_threadsafe(task.cancel))
    with monkeypatch.context() as broken:
        broken.setattr(journal, "_to_disk", fails)
        with pytest.raises(asyncio.CancelledError) as cancelled:
            await log.close()
    task.uncancel()
    assert isinstance(cancelled.value.__context__, Unrecorded)


def test_an_event_is_recorded_whatever_characters_a_secret_in_it_ends_with(tmp_path: Path) -> None:
    """A pattern that counts bytes would cut one."""
    log = a_log(tmp_path)
    for before in ("", "a", "ab", "abc"):
        log.event("dev.gatewright.test", details={"said": f"--password {before}{'é€' * 64}"})
    log.finish()
    said = [one["details"]["said"] for one in records(tmp_path)]
    assert all(one.startswith("--password [REDACTED:command-line]") for one in said)
    assert len(said) == 4


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("risk", ["safe", "moderate", "dangerous"])
async def test_the_intent_of_each_tool_call_is_there_while_it_runs(
    tmp_path: Path, risk: Risk, read_only: bool
) -> None:
    """Whatever a server says of its tool; only that of a dangerous one stays beside the end."""
    log = a_log(tmp_path)
    call = a_call(1, a_tool(risk, read_only=read_only))
    trail = log.open(call)
    assert trail.intent(call) is (risk == "dangerous")
    (intent,) = records(tmp_path)
    assert (intent["event_type"], intent["outcome"], intent["seq"]) == (INTENT, "pending", 1)
    assert len(journal_lines(tmp_path)) == (risk == "dangerous")
    trail.close(call, ANSWER)
    kept = [INTENT] if risk == "dangerous" else []
    assert [each["event_type"] for each in records(tmp_path)] == [*kept, "TOOL_EXECUTED"]
    await log.close()


@pytest.mark.parametrize("kind", ["list", "prompt", "resource", "method"])
async def test_calls_about_no_tool_leave_one_record(tmp_path: Path, kind: Any) -> None:
    log = a_log(tmp_path)
    run(log, a_call(1, None, kind=kind))
    assert [each["event_type"] for each in records(tmp_path)] == [f"dev.gatewright.{kind}"]
    await log.close()


@pytest.mark.parametrize("gate", ["validators", "schema"])
async def test_a_validator_block_is_also_a_failed_validation(tmp_path: Path, gate: str) -> None:
    """MGP-6.4-10"""
    log = a_log(tmp_path)
    trail = log.open(a_call())
    trail.close(a_call(), Refusal("validation_blocked", "no", gate=gate))
    found = records(tmp_path)
    assert [each["event_type"] for each in found] == ["VALIDATION_FAILED", "TOOL_BLOCKED"]
    assert {each["outcome"] for each in found} == {"denied"}
    assert {each["decision"]["gate"] for each in found} == {gate}
    assert found[0]["id"] != found[1]["id"]
    await log.close()


async def test_rejected_code_is_recorded_with_its_violations(tmp_path: Path) -> None:
    """MGP-6.4-11, besides MGP-6.4-2 and MGP-6.4-10; as many as a record can hold."""
    log = a_log(tmp_path)
    said = [f"Blocked import: 'm{number}'" for number in range(100)]
    details = {"status": "rejected", "violations": ["x" * 9_000, *said], "hints": {}}
    refusal = Refusal("code_safety", "no", details, gate="validators")
    log.open(a_call()).close(a_call(), refusal)
    found = records(tmp_path)
    assert [each["event_type"] for each in found] == [
        "VALIDATION_FAILED",
        "CODE_REJECTED",
        "TOOL_BLOCKED",
    ]
    assert found[1]["details"]["violations"] == ["x" * 256, *said[:19]]
    assert len({each["id"] for each in found}) == 3
    assert "violations" not in found[2]["details"]
    await log.close()


async def test_rejected_code_tells_the_record_no_secret(tmp_path: Path) -> None:
    """MGP-6.4-11 and GRH-out-1: the violations quote names of the code."""
    log, token = a_log(tmp_path), "gh" + "p_" + "a1B2c3D4e5F6" * 3
    details = {"violations": [f"Blocked import: '{token}'"]}
    log.open(a_call()).close(a_call(), Refusal("code_safety", "no", details, gate="validators"))
    assert records(tmp_path)[1]["details"]["violations"] == [
        "Blocked import: '[REDACTED:github-token]'"
    ]
    await log.close()


async def test_a_block_by_access_is_a_block_and_no_failed_validation(tmp_path: Path) -> None:
    """MGP-6.4-2"""
    log = a_log(tmp_path)
    log.open(a_call()).close(a_call(), Refusal("access_denied", "no", gate="access"))
    assert [each["event_type"] for each in records(tmp_path)] == ["TOOL_BLOCKED"]
    await log.close()


async def test_the_duration_is_that_between_open_and_close(tmp_path: Path) -> None:
    """MGP-6.3-4"""
    monotonic = Clock(100.0)
    log = a_log(tmp_path, monotonic=monotonic)
    trail = log.open(a_call())
    monotonic.now += 1.25
    trail.close(a_call(), ANSWER)
    assert records(tmp_path)[0]["details"]["duration_ms"] == 1250.0
    await log.close()


async def test_a_call_that_ends_by_a_crash_keeps_what_the_gates_found(tmp_path: Path) -> None:
    log = a_log(tmp_path)
    bare = a_call(1, None)
    trail = log.open(bare)
    trail.intent(a_call(1, a_tool("moderate"), facts={"access": "tool_grant"}))
    trail.close(bare, ANSWER)
    found = records(tmp_path)[-1]
    assert found["target"] == {"server_id": "files", "tool_name": "write_file"}
    assert found["details"]["access"] == "tool_grant"
    await log.close()


async def test_events_that_are_no_calls_are_recorded_in_the_same_chain(tmp_path: Path) -> None:
    """MGP-6.4-8, MGP-6.4-12"""
    log = a_log(tmp_path)
    log.event("SERVER_CONNECTED", target=Subject(server_id="files"), details={"pid": 7})
    log.event(
        "com.example.x", actor=Actor("operator", "ops"), outcome="failure", trace_id="trace-9"
    )
    first, second = records(tmp_path)
    assert first["actor"] == {"type": "system", "id": "gatewright"}
    assert (first["target"], first["details"]) == ({"server_id": "files"}, {"pid": 7})
    assert first["trace_id"] == first["id"]
    assert second["event_type"] == "com.example.x"
    assert second["actor"] == {"type": "operator", "id": "ops"}
    assert (second["trace_id"], second["outcome"]) == ("trace-9", "failure")
    assert records(tmp_path, event_type="com.example.x") == [second]
    assert records(tmp_path, event_type="com.example.y") == []
    await log.close()
    assert verified(tmp_path).records == 2


async def test_the_trail_goes_on_after_a_restart_as_one_chain(tmp_path: Path) -> None:
    for _ in range(5):
        await fill(tmp_path, 10)
    assert verified(tmp_path).records == 50


@pytest.mark.parametrize("sync", ["process", "always"])
async def test_the_intent_of_a_dangerous_call_is_on_disk_before_it_is_forwarded(
    tmp_path: Path, sync: Literal["process", "always"]
) -> None:
    log = a_log(tmp_path, sync=sync)
    server = Server(tmp_path)
    kernel = Kernel([], server, [], log)
    for number in range(1, 6):
        written = log.written
        outcome = await kernel.handle(a_call(number, a_tool("dangerous")), Nobody())
        assert outcome is ANSWER
        assert server.on_disk[-1] == written + 1
    await log.close()


async def test_always_means_that_the_record_is_on_disk_before_the_answer_leaves(
    tmp_path: Path,
) -> None:
    log = a_log(tmp_path, sync="always")
    kernel = Kernel([], Server(tmp_path), [], log)

    async def caller(first: int) -> None:
        for number in range(first, first + 10):
            assert await kernel.handle(a_call(number), Nobody()) is ANSWER
            head = read_head(tmp_path)
            assert head is not None
            lines = journal_lines(tmp_path)[: head.seq]
            assert any(
                b'"TOOL_EXECUTED"' in each and b'"call-%d"' % number in each for each in lines
            )

    await asyncio.wait_for(asyncio.gather(*(caller(first * 10) for first in range(8))), 40)
    await log.close()
    assert verified(tmp_path).records == 160


async def test_a_second_gateway_on_one_folder_is_refused(tmp_path: Path) -> None:
    log = a_log(tmp_path)
    with pytest.raises(StoreBusyError, match="stop it, or give this one another folder"):
        a_log(tmp_path)
    run(log, a_call())
    await log.close()
    assert verified(tmp_path).records == 2


async def test_a_gateway_that_could_not_start_leaves_the_folder_free(tmp_path: Path) -> None:
    await fill(tmp_path, 4)
    path = segment_path(tmp_path, 1)
    content = path.read_bytes()
    path.write_bytes(content[:-300])
    with pytest.raises(StoreDamagedError, match="record 4 was on disk"):
        a_log(tmp_path)
    path.write_bytes(content)
    await fill(tmp_path, 4)
    assert verified(tmp_path).records == 8


async def test_a_torn_end_is_reported_in_the_trail_itself(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await fill(tmp_path, 4)
    path = segment_path(tmp_path, 1)
    size = path.stat().st_size
    with path.open("ab") as journal:
        journal.write(b'{"seq":5,"half')
    log = a_log(tmp_path)
    torn = records(tmp_path)[-1]
    assert torn["event_type"] == "dev.gatewright.audit.torn"
    assert torn["details"] == {
        "segment": 1,
        "offset": size,
        "bytes": 14,
        "kept_in": "audit-000001.jsonl.torn-1",
    }
    assert "torn" in caplog.text
    await log.close()
    assert verified(tmp_path).problem is None


async def test_rows_that_were_lost_are_reported_in_the_trail_itself(tmp_path: Path) -> None:
    await fill(tmp_path, 200, segment_bytes=20_000)
    first = int(journal_lines(tmp_path)[0][7:].split(b",")[0])
    (tmp_path / DATABASE).unlink()
    await fill(tmp_path, 0)
    lost = [each for each in records(tmp_path) if each["event_type"].endswith("rows_lost")]
    assert [each["details"] for each in lost] == [{"first": 1, "last": first - 1}]
    problem = verified(tmp_path).problem
    assert problem is not None
    assert (problem.seq, problem.what) == (1, "is missing")


async def test_a_database_of_a_newer_gatewright_is_refused(tmp_path: Path) -> None:
    from gatewright.storage.sqlite import Database  # noqa: PLC0415 - to play the newer one

    Database.open(tmp_path / DATABASE, [("CREATE TABLE a (b)",)] * 1 + [()] * 8).close()
    with pytest.raises(StoreTooNewError, match="update Gatewright"):
        a_log(tmp_path)


async def test_a_folder_that_cannot_be_written_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / DATABASE).mkdir()
    with pytest.raises(StoreError, match=r"audit\.db cannot be used"):
        a_log(tmp_path)


async def test_after_the_end_every_call_is_refused(tmp_path: Path) -> None:
    log = a_log(tmp_path)
    await log.close()
    with pytest.raises(Unrecorded, match="the gateway is stopping"):
        log.open(a_call())
    with pytest.raises(Unrecorded, match="the gateway is stopping"):
        log.event("SERVER_DISCONNECTED")


async def test_how_far_the_trail_is_can_be_read_at_any_time(tmp_path: Path) -> None:
    log = a_log(tmp_path)
    assert (log.written, log.lag, log.fault, log.feed_problem) == (0, 0, None, None)
    run(log, a_call())
    assert (log.written, log.lag) == (2, 2)
    await log.on_disk()
    await until(lambda: log.lag == 0)
    await log.close()


async def test_calls_that_end_in_any_order_keep_their_own_records(tmp_path: Path) -> None:
    log = a_log(tmp_path)
    generator = random.Random(3)
    calls = [a_call(number) for number in range(200)]
    trails = [(call, log.open(call)) for call in calls]
    for call, trail in trails:
        trail.intent(call)
    generator.shuffle(trails)
    for call, trail in trails:
        assert trail.close(call, ANSWER) is ANSWER
    await log.close()
    for call in calls:
        mine = records(tmp_path, trace_id=call.trace_id)
        assert [each["outcome"] for each in mine] == ["pending", "success"]
        assert {each["call"] for each in mine} == {call.id}
    assert verified(tmp_path).records == 400
