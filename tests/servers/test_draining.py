"""A connection that is shut down: it waits for calls, no longer than it may, and answers the rest."""

from __future__ import annotations

import asyncio
from typing import Any

from gatewright.call import Failure
from gatewright.servers.draining import Drain, InFlight
from gatewright.servers.spec import ServerSpec
from tests.servers.rig import within


class Line:
    """A connection that says what is done to it."""

    def __init__(self) -> None:
        self.spec = ServerSpec(id="s", command="x")
        self.given_up: list[Failure] = []
        self.closed: list[str] = []

    def give_up(self, why: Failure) -> None:
        self.given_up.append(why)

    def close(self, reason: str) -> None:
        self.closed.append(reason)


def drained(line: Line, calls: InFlight, timeout_s: float) -> Drain:
    link: Any = line
    drain = Drain(link, calls, reason="operator_request", after="stays", timeout_s=timeout_s)
    drain.begin()
    return drain


async def test_it_closes_when_the_last_call_has_ended() -> None:
    """MGP-11.2-7"""
    line, calls = Line(), InFlight()
    calls.begin()
    calls.begin()
    drain = drained(line, calls, 20.0)
    await asyncio.sleep(0)
    calls.end()
    await asyncio.sleep(0.02)
    assert not line.closed
    calls.end()
    assert drain.task is not None
    await within(drain.task)
    assert (line.closed, line.given_up) == ([drain.text], [])


async def test_it_closes_at_once_where_nothing_is_in_flight() -> None:
    line = Line()
    drain = drained(line, InFlight(), 20.0)
    assert drain.task is not None
    await within(drain.task)
    assert line.closed


async def test_what_has_not_ended_in_time_is_answered_with_3003() -> None:
    """MGP-11.4-3"""
    line, calls = Line(), InFlight()
    calls.begin()
    drain = drained(line, calls, 0.05)
    assert drain.task is not None
    await within(drain.task)
    found = line.given_up[0]
    assert (found.reason, found.details["timeout_ms"]) == ("timeout", 50)
    assert line.closed == [drain.text]


async def test_told_once_more_the_nearer_end_and_the_later_word_count() -> None:
    line, calls = Line(), InFlight()
    calls.begin()
    drain = drained(line, calls, 600.0)
    await asyncio.sleep(0)
    drain.hurry(900.0, "call")
    drain.hurry(0.02, "restart")
    assert drain.task is not None
    await within(drain.task)
    assert drain.after == "restart"
    assert line.given_up[0].details["timeout_ms"] == 20


async def test_calls_are_counted_and_the_last_is_remembered() -> None:
    calls = InFlight()
    before = calls.last
    calls.begin()
    await asyncio.sleep(0.01)
    calls.end()
    assert calls.count == 0
    assert calls.last > before
    await within(calls.emptied())
