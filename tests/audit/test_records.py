"""Times and ids of records, and what MGP clients hear of them."""

from __future__ import annotations

import re

import msgspec
import pytest

from gatewright.audit.call_records import context_of, intent_of
from gatewright.audit.chain import GENESIS, seal
from gatewright.audit.records import (
    GATEWAY,
    Actor,
    Decision,
    Program,
    Record,
    Request,
    Stamps,
    Subject,
    encode,
    shortened,
    to_mgp,
)
from gatewright.call import Answer, Failure, Outcome, Refusal
from tests.audit.parts import ANSWER, STAMP, Clock, a_call, a_tool, an_end, noise

UUID7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def test_a_stamp_is_the_time_in_milliseconds_and_a_version_seven_uuid() -> None:
    moment, id = Stamps(Clock(1_790_000_000.25), noise()).take()
    assert moment == "2026-09-21T14:13:20.250Z"
    assert UUID7.fullmatch(id)
    assert int(id.replace("-", "")[:12], 16) == 1_790_000_000_250


def test_stamps_are_different_and_sort_also_within_one_millisecond() -> None:
    clock = Clock()
    stamps = Stamps(clock, noise())
    ids = []
    for step in range(20_000):
        clock.now += 0.001 * (step % 3 == 0)
        ids.append(stamps.take()[1])
    assert len(set(ids)) == len(ids)
    assert ids == sorted(ids)
    assert all(UUID7.fullmatch(id) for id in ids)


def test_stamps_are_different_even_when_a_clock_stands_still() -> None:
    stamps = Stamps(Clock(), noise())
    assert len({stamps.take()[1] for _ in range(20_000)}) == 20_000


def test_stamps_are_different_when_a_clock_goes_over_the_same_second_again() -> None:
    clock = Clock(1_790_000_000.0)
    stamps = Stamps(clock, noise())
    ids = []
    for step in range(4_000):
        clock.now = 1_790_000_000.0 + 0.001 * (step * 7 % 40)
        ids.append(stamps.take()[1])
    assert len(set(ids)) == len(ids)


def test_stamps_follow_a_clock_that_jumps_back() -> None:
    clock = Clock(1_790_000_000.0)
    stamps = Stamps(clock, noise())
    stamps.take()
    clock.now -= 3600
    assert stamps.take()[0] == "2026-09-21T13:13:20.000Z"


def test_the_mgp_form_of_a_record_is_that_of_the_specification() -> None:
    """MGP-6.3-1, MGP-6.3-4"""
    record = an_end(ANSWER, facts={"validator_applied": "sandbox"}, tool=a_tool("dangerous"))
    assert to_mgp(record) == {
        "timestamp": STAMP[0],
        "trace_id": "trace-1",
        "event_type": "TOOL_EXECUTED",
        "actor": {"type": "agent", "id": "ann"},
        "target": {"server_id": "files", "tool_name": "write_file"},
        "result": "SUCCESS",
        "details": {
            "validator_applied": "sandbox",
            "risk_level": "dangerous",
            "duration_ms": 12.5,
        },
    }


@pytest.mark.parametrize(
    ("outcome", "result"),
    [
        (Answer(b"{}", tool_error=True), "FAILURE"),
        (Failure("cancelled"), "FAILURE"),
        (Failure("upstream_error"), "FAILURE"),
        (Refusal("access_denied", "no", gate="access"), "BLOCKED"),
    ],
)
def test_the_mgp_result_says_how_it_ended(outcome: Outcome, result: str) -> None:
    found = to_mgp(an_end(outcome))
    assert found is not None
    assert found["result"] == result


def test_the_mgp_form_of_a_block_says_why() -> None:
    found = to_mgp(an_end(Refusal("access_denied", "no", gate="access"), forwarded=False))
    assert found is not None
    assert found["details"]["reason"] == "access_denied"
    assert found["details"]["gate"] == "access"


def test_the_mgp_form_has_every_member_also_where_nothing_is_known() -> None:
    record = Record("i", "t", "SERVER_CONNECTED", "success", GATEWAY, Subject(), "i")
    assert to_mgp(msgspec.json.decode(encode(record))) == {
        "timestamp": "t",
        "trace_id": "i",
        "event_type": "SERVER_CONNECTED",
        "actor": {"type": "system", "id": "gatewright"},
        "target": {"server_id": "", "tool_name": ""},
        "result": "SUCCESS",
        "details": {},
    }


def test_an_intent_has_no_mgp_form() -> None:
    call = a_call()
    assert to_mgp(msgspec.json.decode(encode(intent_of(call, STAMP, context_of(call))))) is None


def test_an_actor_without_a_key_has_no_key_id() -> None:
    assert msgspec.json.encode(Actor("agent", "ann")) == b'{"type":"agent","id":"ann"}'


def test_a_shortened_record_is_small_whatever_callers_chose() -> None:
    """With the head of a message it fits into two kilobytes, which datagrams hold on every system."""
    name = '\u0001\U0001f600\\"' * 500
    record = Record(
        "0" * 36,
        "2026-09-21T12:00:00.000Z",
        "dev.gatewright.intent",
        "pending",
        Actor("agent", name, "key00001"),
        Subject(name, name, name),
        trace_id=name,
        call=name,
        method=name,
        door="http",
        session=name,
        client=Program(name, name),
        request=Request("d" * 64, 1),
        decision=Decision("access", "access_denied"),
        details={"much": "x" * 9_000, "risk_level": "safe"},
    )
    line = seal(7, [encode(record)], GENESIS)[0]
    found = msgspec.json.decode(shortened(line))
    assert len(shortened(line)) < 1_800
    assert found["details"] == {"risk_level": "safe", "cut": True}
    whole = msgspec.json.decode(line)
    same = (
        "id",
        "time",
        "event_type",
        "seq",
        "hash",
        "prev_hash",
        "outcome",
        "decision",
        "request",
    )
    assert {one: found[one] for one in same} == {one: whole[one] for one in same}
    assert list(found) == list(whole)
