"""Looks at calls that wait: free for a while, one caller's own, forgotten in time."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

import gatewright.limits.polls
from gatewright.audit.call_records import request_of
from gatewright.call import Call, Caller
from gatewright.limits.polls import AT_ONCE, EVERY_S, HELD, LOOK, Polls
from tests.gate_parts import AGENT, a_call


class Clock:
    """Seconds that only the test moves."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def asked(**more: Any) -> Call:
    """A call, made anew."""
    return a_call(**{"arguments": {"path": "/a", "n": 1}, "facts": {}, **more})


def waits(looks: Polls, call: Call, id: str = "ap_1", lasts_s: float = 60.0) -> bool:
    """Let a call wait and be told to come back."""
    with looks.held(call, id, lasts_s) as first:
        return first


def test_who_repeats_a_call_that_waits_looks_at_it_and_everybody_who_counts_hears_the_same() -> (
    None
):
    looks = Polls(Clock())
    assert not looks.free(asked())
    assert waits(looks, asked())
    look = asked()
    assert [looks.free(look) for _ in range(50)] == [True] * 50
    assert look.facts == {LOOK: "ap_1"}
    assert not waits(looks, look)


@pytest.mark.parametrize(
    "other",
    [
        {"arguments": {"path": "/a", "n": 2}},
        {"caller": replace(AGENT, id="somebody.else")},
        {"caller": Caller(AGENT.id, "operator")},
        {"name": "srv__other"},
        {"profile": "small"},
        {"method": "prompts/get"},
    ],
)
def test_whatever_differs_is_no_look(other: dict[str, Any]) -> None:
    looks = Polls(Clock())
    waits(looks, asked())
    assert not looks.free(asked(**other))
    assert looks.free(asked(arguments={"n": 1, "path": "/a"}))


def test_a_flood_of_looks_is_counted_and_a_patient_caller_is_not() -> None:
    clock = Clock()
    looks = Polls(clock)
    waits(looks, asked())
    assert [looks.free(asked()) for _ in range(AT_ONCE + 5)] == [True] * AT_ONCE + [False] * 5
    clock.now += EVERY_S
    assert [looks.free(asked()) for _ in range(3)] == [True, False, False]
    for _ in range(20):
        clock.now += EVERY_S
        assert looks.free(asked())


def test_no_more_than_a_few_looks_wait_at_once() -> None:
    looks, held = Polls(Clock()), []
    for _ in range(HELD):
        one = looks.held(asked(), "ap_1", 60.0)
        one.__enter__()
        held.append(one)
    assert not looks.free(asked())
    held.pop().__exit__(None, None, None)
    assert looks.free(asked())


def test_what_is_over_or_has_ended_is_a_call_like_any_other() -> None:
    clock = Clock()
    looks = Polls(clock)
    waits(looks, asked())
    looks.over(asked())
    assert not looks.free(asked())
    assert waits(looks, asked(), lasts_s=60)
    clock.now += 60
    assert not looks.free(asked())
    assert waits(looks, asked(), "ap_2")
    assert looks.free(asked())


def test_a_call_that_was_cleaned_is_known_by_what_it_was() -> None:
    """The gate `sanitize` comes after those who count and before the one that lets wait."""
    looks, was = Polls(Clock()), asked(arguments={"path": "/a\u200b"})
    looks_like = request_of(was)
    assert looks_like is not None
    facts = {"sanitized": {"original_digest": looks_like.digest}}
    waits(looks, replace(asked(arguments={"path": "/a"}), facts=facts))
    assert looks.free(was)
    assert not looks.free(asked(arguments={"path": "/a"}))


def test_callers_of_whom_nothing_waits_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gatewright.limits.polls, "KEPT", 5)
    clock = Clock()
    looks = Polls(clock)
    for number in range(20):
        waits(looks, asked(caller=Caller(f"c{number}")), lasts_s=3)
        clock.now += 1
    assert len(looks.waiting) <= 5
    assert looks.free(asked(caller=Caller("c19")))


def test_how_a_task_stands_is_one_question_however_it_is_put() -> None:
    looks = Polls(Clock())

    def polled(method: str, id: str, **more: Any) -> Call:
        call = a_call("method", "", method=method, facts={}, profile="small")
        return replace(call, params={"taskId": id, **more})

    waits(looks, replace(polled("tasks/get", "t1"), profile=""))
    assert looks.free(polled("tasks/get", "t1", _meta={"progressToken": 1}))
    assert looks.free(polled("tasks/result", "t1"))
    assert not looks.free(polled("tasks/cancel", "t1"))
    assert not looks.free(polled("tasks/get", "t2"))
