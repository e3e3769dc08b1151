"""A connection that is shut down: it waits for calls, no longer than it may, and answers the rest."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from gatewright.call import Failure
from gatewright.servers.draining import LOOK_S, Drain, InFlight, leaving, tasks_on
from gatewright.servers.spec import ServerSpec
from tests.servers.rig import within


class Line:
    """A connection that says what is done to it."""

    def __init__(self) -> None:
        self.spec = ServerSpec(id="s", command="x")
        self.tasks = SimpleNamespace(pending=0)
        self.open = True
        self.given_up: list[Failure] = []
        self.closed: list[str] = []

    def give_up(self, why: Failure) -> None:
        self.given_up.append(why)

    def close(self, reason: str) -> None:
        self.closed.append(reason)
        self.open = False


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


async def test_a_task_that_would_end_with_it_is_waited_for_as_calls_are() -> None:
    """And so is the call that fetches what it came to."""
    line, calls = Line(), InFlight()
    line.tasks.pending = 1
    drain = drained(line, calls, 20.0)
    await asyncio.sleep(3 * LOOK_S)
    link: Any = line
    assert (line.closed, leaving(drain)) == ([], link)
    calls.begin()
    line.tasks.pending = 0
    await asyncio.sleep(3 * LOOK_S)
    assert not line.closed
    calls.end()
    assert drain.task is not None
    await within(drain.task)
    assert (line.closed, line.given_up, leaving(drain)) == ([drain.text], [], None)


async def test_a_task_is_waited_for_no_longer_than_a_call() -> None:
    line = Line()
    line.tasks.pending = 1
    drain = drained(line, InFlight(), 0.05)
    assert drain.task is not None
    await within(drain.task)
    assert line.closed == [drain.text]


async def test_what_remembers_its_tasks_without_a_connection_is_not_waited_for() -> None:
    line: Any = Line()
    line.tasks.pending = 1
    assert (tasks_on(line), tasks_on(None)) == (1, 0)
    line.spec = ServerSpec(id="s", transport="http", url="https://a.example/")
    assert tasks_on(line) == 0


async def test_calls_of_connections_before_it_are_answered_with_it() -> None:
    """It waited for them, and did not end them."""
    line, before, calls = Line(), Line(), InFlight()
    past: Any = before
    calls.past.add(past)
    calls.begin()
    drain = drained(line, calls, 0.05)
    assert drain.task is not None
    await within(drain.task)
    assert before.given_up == line.given_up != []


async def test_what_is_barred_ends_on_the_connections_before_as_well() -> None:
    before, calls = Line(), InFlight()
    past: Any = before
    calls.past.add(past)
    calls.bar("camera was revoked")
    (why,) = before.given_up
    assert (why.reason, why.details) == ("upstream_unavailable", {"sent": True})
    assert "camera was revoked" in why.message
