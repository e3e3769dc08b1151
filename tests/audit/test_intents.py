"""The intents of the calls that run: what is left of them when the process is gone."""

from __future__ import annotations

import asyncio
import errno
import os
from pathlib import Path

import msgspec
import pytest

from gatewright.audit.intents import INTENTS, SLOT_BYTES, SLOTS, Intents, read_intents, without_end
from gatewright.audit.reader import AuditReader
from gatewright.audit.records import INTENT
from gatewright.audit.rows import Query
from gatewright.audit.segments import segment_path
from gatewright.call import Refusal
from gatewright.storage.errors import StoreDamagedError, StoreError
from tests.audit.parts import (
    ANSWER,
    LimitedDisk,
    a_call,
    a_log,
    a_tool,
    body,
    journal_lines,
    records,
    run,
    until,
    verified,
)

_TOOL = a_tool("moderate")


def _intent(number: int, **more: object) -> bytes:
    return body(number, event_type=INTENT, outcome="pending", call=f"call-{number}", **more)


def test_a_slot_is_taken_until_its_call_ends_and_taken_again(tmp_path: Path) -> None:
    intents = Intents(tmp_path)
    first, second = intents.enter(_intent(1)), intents.enter(_intent(2))
    assert first is not None
    assert second is not None
    assert sorted(read_intents(tmp_path)) == [_intent(1), _intent(2)]
    intents.leave(first)
    assert read_intents(tmp_path) == [_intent(2)]
    assert intents.enter(_intent(3)) == first
    assert intents.running() == 2
    intents.close()


def test_what_a_dead_process_left_is_named_once(tmp_path: Path) -> None:
    before = Intents(tmp_path)
    before.enter(_intent(1))
    before.enter(_intent(2))
    before.close()  # as good as dead: what stands in the file stays
    intents = Intents(tmp_path)
    left = dict(intents.given_up())
    assert sorted(left.values()) == [_intent(1), _intent(2)]
    assert list(intents.given_up()) == []
    fresh = intents.enter(_intent(3))
    assert fresh not in left
    for slot in left:
        intents.leave(slot)
    assert read_intents(tmp_path) == [_intent(3)]
    intents.close()


def test_there_is_no_place_for_a_long_one_nor_for_one_too_many(tmp_path: Path) -> None:
    intents = Intents(tmp_path)
    assert intents.enter(b"{" + b" " * (SLOT_BYTES - 5) + b"}") is None
    longest = b"{" + b" " * (SLOT_BYTES - 6) + b"}"
    slots = [intents.enter(longest) for _ in range(SLOTS)]
    assert sorted(slot for slot in slots if slot is not None) == [
        *range(0, SLOTS * SLOT_BYTES, SLOT_BYTES)
    ]
    assert intents.enter(_intent(1)) is None
    assert read_intents(tmp_path) == [longest] * SLOTS
    intents.close()


def test_a_file_that_is_not_ours_is_refused_by_its_name(tmp_path: Path) -> None:
    (tmp_path / INTENTS).write_bytes(b"notes")
    with pytest.raises(StoreDamagedError, match=r"audit\.running is not what Gatewright wrote"):
        Intents(tmp_path)


def test_where_the_disk_has_no_room_the_gateway_does_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        with pytest.raises(StoreError, match="No space left on device"):
            a_log(tmp_path)
    (tmp_path / INTENTS).unlink(missing_ok=True)
    a_log(tmp_path).finish()


@pytest.mark.parametrize(
    ("line", "known"),
    [
        (_intent(1), True),
        (body(9, call="call-1"), True),
        (body(9, call="call-11"), False),
        (body(9, call='call-2","call":"call-1'), False),
        (body(9), False),
    ],
)
def test_a_record_of_the_same_call_is_its_end(line: bytes, known: bool) -> None:
    assert without_end([_intent(1)], [line]) == ([] if known else [_intent(1)])


async def test_a_call_that_died_with_its_gateway_is_pending_before_and_after_the_next_start(
    tmp_path: Path,
) -> None:
    log = a_log(tmp_path)
    run(log, a_call(1, _TOOL))
    for number in (2, 3):
        call = a_call(number, _TOOL, facts={"access": "tool_grant"})
        log.open(call).intent(call)
    await log.close()  # nothing else is done for the two
    found = [(one["call"], one["outcome"]) for one in records(tmp_path)]
    assert found == [("call-1", "success"), ("call-2", "pending"), ("call-3", "pending")]
    assert verified(tmp_path).records == 1
    log = a_log(tmp_path)
    run(log, a_call(4, _TOOL))
    await log.close()
    found = [(one["call"], one["outcome"]) for one in records(tmp_path)]
    assert found == [
        *(("call-1", "success"), ("call-2", "pending")),
        *(("call-3", "pending"), ("call-4", "success")),
    ]
    kept = records(tmp_path, outcome="pending")
    assert [one["details"]["access"] for one in kept] == ["tool_grant"] * 2
    assert verified(tmp_path).records == 4
    assert read_intents(tmp_path) == []


async def test_a_call_whose_end_was_written_is_not_said_to_be_pending(tmp_path: Path) -> None:
    """The process dies between the end and the freeing of the slot; another segment has begun."""
    log = a_log(tmp_path)
    call = a_call(1, _TOOL)
    log.open(call).intent(call)
    content = (tmp_path / INTENTS).read_bytes()
    run(log, a_call(1, _TOOL))
    await log.on_disk()
    log._journal.begin_segment()
    await log.close()
    assert segment_path(tmp_path, 2).exists()
    (tmp_path / INTENTS).write_bytes(content)
    await a_log(tmp_path).close()
    assert [one["outcome"] for one in records(tmp_path)] == ["success"]
    assert read_intents(tmp_path) == []


async def test_a_slot_that_holds_nonsense_is_reported_and_freed(tmp_path: Path) -> None:
    await a_log(tmp_path).close()
    Intents(tmp_path).enter(b'{"id":"a","call":"b"')
    assert records(tmp_path) == []  # and can still be asked
    await a_log(tmp_path).close()
    (found,) = records(tmp_path)
    assert found["event_type"] == "dev.gatewright.audit.torn"
    assert found["details"] == {"slot": 0, "bytes": 20}
    assert read_intents(tmp_path) == []
    assert verified(tmp_path).problem is None


async def test_more_calls_than_slots_have_their_intents_in_the_journal(tmp_path: Path) -> None:
    log = a_log(tmp_path)
    calls = [a_call(number, _TOOL) for number in range(SLOTS + 3)]
    trails = [log.open(call) for call in calls]
    for trail, call in zip(trails, calls, strict=True):
        assert trail.intent(call) is False
    assert len(journal_lines(tmp_path)) == 3
    assert len(records(tmp_path, outcome="pending")) == SLOTS + 3
    for trail, call in zip(trails, calls, strict=True):
        assert trail.close(call, ANSWER) is ANSWER
    await asyncio.sleep(0)  # they ended in one turn of the loop
    assert len(records(tmp_path, outcome="pending")) == 3
    assert len(records(tmp_path, outcome="success")) == SLOTS + 3
    await log.close()


async def test_a_call_whose_end_finds_a_full_disk_is_pending_once_there_is_room(
    tmp_path: Path,
) -> None:
    """The caller is refused, and the trail says that the call was forwarded."""
    log, disk = a_log(tmp_path), LimitedDisk(tmp_path)
    run(log, a_call(1, _TOOL))
    call = a_call(2, _TOOL)
    trail = log.open(call)
    trail.intent(call)
    disk.fill()
    try:
        refused = trail.close(call, ANSWER)
    finally:
        disk.free()
    assert type(refused) is Refusal
    assert refused.reason == "audit_unavailable"
    await until(lambda: log.fault is None and log._intents.running() == 0)
    run(log, a_call(3, _TOOL))
    await log.close()
    found = [(one["call"], one["outcome"]) for one in records(tmp_path) if "call" in one]
    assert found == [("call-1", "success"), ("call-2", "pending"), ("call-3", "success")]
    assert verified(tmp_path).problem is None


async def test_exports_and_tails_hold_only_what_is_in_the_chain(tmp_path: Path) -> None:
    log = a_log(tmp_path)
    run(log, a_call(1, _TOOL))
    call = a_call(2, _TOOL)
    log.open(call).intent(call)
    reader = AuditReader(tmp_path)
    assert [msgspec.json.decode(one)["call"] for one in reader.lines(Query())] == ["call-1"]
    assert [one["call"] for one in reader.tail(5)] == ["call-1"]
    assert [one["call"] for one in reader.query(Query())] == ["call-2", "call-1"]
    assert [one["call"] for one in reader.query(Query(outcome="success"))] == ["call-1"]
    await log.close()
