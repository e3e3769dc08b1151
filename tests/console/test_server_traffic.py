"""Calls of each server over the last minutes: how many, how many errors, how long; and the states it was in."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gatewright.call import KERNEL, Answer, Failure, Outcome, Refusal
from gatewright.console import server_traffic
from gatewright.console.server_traffic import (
    MINUTES,
    TURNS,
    ServerLoad,
    ServerTraffic,
    StateHistory,
)
from gatewright.servers.states import Change
from tests.gate_parts import a_tool, a_tool_call

ANSWER = Answer(b"{}")


class Clock:
    now = 6000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def a_call(server: str = "files", **facts: Any) -> Any:
    return a_tool_call(a_tool("read", server=server), facts=facts)


def test_of_a_hundred_calls_ninety_five_took_at_most_so_long(clock: Clock) -> None:
    """An upper bound, and no more than a quarter above what it was."""
    traffic = ServerTraffic(clock)
    for number in range(100):
        traffic.ended(a_call(), ANSWER, 0.010 if number < 95 else 3.0, int(clock()))
    found = traffic.of("files")
    assert (found.calls, found.errors, found.error_rate) == (100, 0, 0.0)
    assert found.p95_ms is not None
    assert 10.0 <= found.p95_ms <= 12.5
    for _ in range(2):
        traffic.ended(a_call(), ANSWER, 3.0, int(clock()))
    slow = traffic.of("files").p95_ms
    assert slow is not None
    assert 3000.0 <= slow <= 3750.0


@pytest.mark.parametrize(
    ("outcome", "spent_s", "calls", "errors"),
    [
        (ANSWER, 0.0, 1, 0),
        (Answer(b"{}", tool_error=True), 0.1, 1, 1),
        (Failure("upstream_error"), 0.1, 1, 1),
        (Failure("cancelled"), 0.1, 0, 0),  # by its caller
        (Refusal("access_denied", "no"), 0.1, 0, 0),  # never came there
        (ANSWER, None, 0, 0),
        (ANSWER, 1e9, 1, 0),
    ],
)
def test_what_says_something_of_the_server_is_counted(
    clock: Clock, outcome: Outcome, spent_s: float | None, calls: int, errors: int
) -> None:
    traffic = ServerTraffic(clock)
    traffic.ended(a_call(), outcome, spent_s, int(clock()))
    found = traffic.of("files")
    assert (found.calls, found.errors) == (calls, errors)


def test_the_wait_for_a_person_is_no_time_of_the_server(clock: Clock) -> None:
    traffic = ServerTraffic(clock)
    traffic.ended(a_call(waited_ms=59_990.0), ANSWER, 60.0, int(clock()))
    found = traffic.of("files").p95_ms
    assert found is not None
    assert found < 13


def test_the_gateways_own_tools_and_what_has_no_server_are_not_counted(clock: Clock) -> None:
    traffic = ServerTraffic(clock)
    traffic.ended(a_call(KERNEL), ANSWER, 0.1, int(clock()))
    traffic.ended(replace(a_call(), target=None), ANSWER, 0.1, int(clock()))
    assert (traffic.of(KERNEL), traffic.of("")) == (ServerLoad(), ServerLoad())


def test_only_the_last_minutes_count(clock: Clock) -> None:
    traffic = ServerTraffic(clock)
    traffic.ended(a_call(), Failure("upstream_error"), 0.1, int(clock()))
    for _ in range(MINUTES):
        clock.now += 60
        traffic.ended(a_call(), ANSWER, 0.1, int(clock()))
    assert (traffic.of("files").calls, traffic.of("files").errors) == (MINUTES + 1, 1)
    clock.now += 60
    assert (traffic.of("files").calls, traffic.of("files").errors) == (MINUTES, 0)
    clock.now += 3600
    assert traffic.of("files") == ServerLoad()
    assert not traffic._before


def test_what_is_kept_has_a_bound(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_traffic, "SERVERS", 3)
    traffic, states = ServerTraffic(clock), StateHistory(clock)
    for number in range(9):
        traffic.ended(a_call(f"s{number}"), ANSWER, 0.1, int(clock()))
        states.changed(Change(f"s{number}", "registered", "connecting", "start"))
    assert [traffic.of(f"s{number}").calls for number in range(9)] == [1] * 3 + [0] * 6
    assert [len(states.of(f"s{number}")) for number in range(9)] == [0] * 6 + [1] * 3
    for number in range(500):
        traffic.ended(a_call("s0"), ANSWER, number**3 / 1000, int(clock()))
    assert len(traffic._now["s0"].took) <= 4 * 32  # half a year in milliseconds has 34 bits


def test_the_last_states_are_remembered_with_their_causes(clock: Clock) -> None:
    states = StateHistory(clock)
    for number in range(TURNS + 5):
        clock.now += 1
        after = "connected" if number % 2 else "connecting"
        states.changed(Change("files", "registered", after, f"cause {number}"))  # type: ignore[arg-type]
    found = states.of("files")
    assert (len(found), found[-1].at, found[-1].cause) == (TURNS, clock.now, f"cause {TURNS + 4}")
    assert states.of("nothing") == []


@pytest.mark.parametrize(
    "spent_s", [1e-9, 0.00011, 0.001, 0.999, 1.0, 60.0, 1199.0, 1201.0, 86_400.0]
)
def test_however_long_calls_take_the_percentile_is_an_upper_bound_near_it(
    clock: Clock, spent_s: float
) -> None:
    """Also beyond any time after which a call is usually ended."""
    traffic = ServerTraffic(clock)
    traffic.ended(a_call(), ANSWER, spent_s, int(clock()))
    found = traffic.of("files").p95_ms
    assert found is not None
    assert found >= spent_s * 1000
    assert found <= max(spent_s * 1000, server_traffic._LEAST_MS) * 1.25


@given(st.lists(st.one_of(st.floats(0, 1e6), st.integers(-12, 20).map(lambda n: 2.0**n / 1000))))
def test_calls_that_are_counted_together_are_counted_like_one_after_the_other(
    took: list[float],
) -> None:
    together, alone = ServerTraffic(Clock()), ServerTraffic(Clock())
    for one in took:
        alone.ended(a_call(), ANSWER, one, 6000)
    together.answered("files", [*took], 6000)
    found, expected = together.of("files"), alone.of("files")
    assert (found.calls, found.p95_ms) == (expected.calls, expected.p95_ms)
