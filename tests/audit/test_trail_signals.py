"""What others hear of the record, and how they bar it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from gatewright.audit.anchors import ANCHORED, Anchor, anchors_of
from gatewright.audit.segments import Head
from gatewright.call import Refusal, Unrecorded
from tests.audit.parts import ANSWER, Clock, a_call, a_log, records, run


async def test_while_it_is_barred_no_call_begins_and_events_are_recorded(tmp_path: Path) -> None:
    log = a_log(tmp_path)
    log.bar("the state is behind")
    assert (log.barred, log.fault) == ("the state is behind", "the state is behind")
    with pytest.raises(Unrecorded, match="the state is behind"):
        log.open(a_call())
    log.event("com.example.made")
    log.unbar()
    assert (log.barred, log.fault) == (None, None)
    assert run(log, a_call()) is ANSWER
    await log.close()


async def test_who_listens_hears_each_record_as_it_is_written_until_it_ends(tmp_path: Path) -> None:
    log = a_log(tmp_path)
    heard: list[bytes] = []
    run(log, a_call(1))
    end = log.heard.listen(heard.append)
    run(log, a_call(2))
    log.event("com.example.made")
    end()
    run(log, a_call(3))
    said = [msgspec.json.decode(line) for line in heard]
    assert [one["event_type"] for one in said] == ["TOOL_EXECUTED", "com.example.made"]
    assert said[0]["trace_id"] == "trace-2"
    await log.close()


async def test_who_listens_by_turns_hears_what_one_write_has_at_once(tmp_path: Path) -> None:
    log = a_log(tmp_path)
    heard: list[list[bytes]] = []
    end = log.turns.listen(lambda lines: heard.append([*lines]))
    run(log, a_call(1))
    log.event("com.example.made")
    end()
    log.event("com.example.made")
    said = [[msgspec.json.decode(line)["event_type"] for line in one] for one in heard]
    assert said == [["TOOL_EXECUTED"], ["com.example.made"]]
    await log.close()


async def test_how_far_it_has_come_on_the_disk_is_told_once_when_it_is_closed(
    tmp_path: Path,
) -> None:
    log = a_log(tmp_path)
    ends: list[Head] = []
    log.ended.listen(ends.append)
    log.event("com.example.made")
    assert ends == []
    await log.close()
    assert [one.seq for one in ends] == [1]


async def test_a_call_that_is_recorded_says_how_long_it_took_and_another_does_not(
    tmp_path: Path,
) -> None:
    clock = Clock(5.0)
    log = a_log(tmp_path, monotonic=clock)
    trail, other = log.open(a_call(1)), log.open(a_call(2))
    clock.now += 0.25
    spent = [trail.spent_s]
    assert trail.close(a_call(1), ANSWER) is ANSWER
    assert [*spent, trail.spent_s] == [None, 0.25]
    await log.close()
    assert isinstance(other.close(a_call(2), ANSWER), Refusal)
    assert other.spent_s is None


async def test_what_it_knows_of_the_state_is_known_from_its_start_and_kept_when_records_go(
    tmp_path: Path,
) -> None:
    """Before anything can be pruned: whoever holds the stores against it comes later."""
    known = {"keys": Anchor(7, 3)}
    log = a_log(tmp_path)
    assert log.anchors == {}
    number = log.anchor(known)
    assert (log.anchors, number) == (known, 1)
    (said,) = records(tmp_path, event_type=ANCHORED)
    assert said["details"] == {"stores": {"keys": {"mark": 7, "steps": 3}}}
    await log.close()
    log = a_log(tmp_path)
    assert log.anchors == known
    log._prune({"first": 1, "last": 0, "hash": "0" * 64})
    await log.close()
    (said, *_) = records(tmp_path, event_type="dev.gatewright.audit.pruned")
    assert said["details"]["stores"] == {"keys": {"mark": 7, "steps": 3}}
    assert anchors_of(tmp_path) == known
