"""Calls counted second by second: what ended how, seconds in which nothing did, and no more than is kept."""

from __future__ import annotations

from gatewright.call import Answer, Failure, Refusal
from gatewright.console.traffic import KEPT_S, Counted, Traffic
from tests.gate_parts import a_tool, a_tool_call

CALL = a_tool_call(a_tool("echo"))


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_calls_are_counted_by_how_they_ended() -> None:
    clock = Clock()
    traffic = Traffic(clock)
    for outcome in (
        Answer(b"{}"),
        Answer(b"{}", tool_error=True),
        Refusal("access_denied", "no"),
        Failure("server_error"),
    ):
        traffic.ended(CALL, outcome, 0.1)
    assert traffic.since(0).time[-1] == 999  # this second is not over
    clock.now += 2
    traffic.ended(CALL, Answer(b"{}"), None)
    clock.now += 1
    found = traffic.since(1000)
    assert found == Counted(
        time=[1000, 1001, 1002], calls=[4, 0, 1], refused=[1, 0, 0], errors=[2, 0, 0], total=5
    )


def test_only_the_last_quarter_of_an_hour_is_kept() -> None:
    clock = Clock()
    traffic = Traffic(clock)
    for _ in range(KEPT_S * 2):
        clock.now += 1
        traffic.ended(CALL, Answer(b"{}"), None)
    assert len(traffic._counts) <= KEPT_S + 1
    found = traffic.since(0)
    assert (len(found.time), sum(found.calls), found.total) == (KEPT_S, KEPT_S, KEPT_S * 2)
    assert traffic.since(int(clock.now) + 9).time == []


def test_a_chart_that_has_just_begun_has_some_width() -> None:
    assert Traffic(Clock()).since(0).time == list(range(940, 1000))


def test_answers_of_a_second_are_counted_before_anybody_reads() -> None:
    clock = Clock()
    traffic = Traffic(clock)
    for number in range(1_500):
        traffic.ended(CALL, Answer(b"{}"), 0.1)
        if number % 500 == 0:
            assert traffic.total == traffic.servers.of("srv").calls == number + 1
    assert sum(map(len, traffic._answered.values())) < 512
    assert traffic.servers.of("srv").calls == traffic.total == 1_500
    clock.now += 1
    assert traffic.since(1_000).calls == [1_500]


def test_an_answer_belongs_to_the_second_in_which_it_ended_however_the_clock_goes() -> None:
    clock = Clock()
    traffic = Traffic(clock)
    for now in (1000.0, 1000.9, 1001.0, 1005.5, 1003.0):
        clock.now = now
        traffic.ended(CALL, Answer(b"{}"), 0.1)
    clock.now = 1007.0
    assert traffic.since(1000).calls == [2, 1, 0, 1, 0, 1, 0]
    assert traffic.total == traffic.servers.of("srv").calls == 5
