"""A gateway that is told to shut down takes no more calls, waits for those in flight, and stops."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from gatewright.call import Call, Refusal
from gatewright.lifecycle.gate import OF_TASKS, STILL_ANSWERED, GatewayDrain
from tests.gate_parts import Mute, a_call


class Calls:
    """The calls of a gateway, and what they are ended with."""

    def __init__(self, in_flight: int = 0) -> None:
        self.in_flight = in_flight
        self.ended: list[Refusal] = []

    def end_refused(self, judges: Sequence[Any] | None = None) -> int:
        for judge in judges or ():
            found = judge.judge(a_call(name="srv__echo"))
            if found is not None and self.in_flight:
                self.ended.append(found)
        return len(self.ended)


async def until(true: Any) -> None:
    async with asyncio.timeout(10):
        while not true():
            await asyncio.sleep(0.005)


def test_every_call_passes_as_it_is_until_then() -> None:
    call = a_call(name="srv__echo")
    assert GatewayDrain()(call, Mute()) is call


async def test_from_then_on_only_health_and_shutdown_are_answered() -> None:
    """MGP-14.3-8"""
    drain, calls, stopped = GatewayDrain(), Calls(1), list[int]()
    drain.begin(calls, lambda: stopped.append(1), "kernel_shutdown", 30.0)
    found = drain(a_call(name="srv__echo"), Mute())
    assert isinstance(found, Refusal)
    assert (found.reason, found.gate) == ("draining", "draining")
    for method in STILL_ANSWERED:
        call = a_call("method", "", method=method)
        assert drain(call, Mute()) is call
    assert drain.draining
    assert drain.since(a_call(name="srv__echo")) is None
    calls.in_flight = 0
    await until(lambda: stopped)
    assert not calls.ended


async def test_what_has_not_ended_in_time_is_answered_with_3003() -> None:
    """MGP-11.4-3"""
    drain, calls, stopped = GatewayDrain(), Calls(1), list[int]()
    drain.begin(calls, lambda: stopped.append(1), "kernel_shutdown", 60.0)
    drain.begin(calls, lambda: stopped.append(2), "kernel_shutdown", 0.05)
    await until(lambda: stopped)
    assert stopped == [1]
    assert [one.reason for one in calls.ended] == ["timeout"]
    assert calls.ended[0].details["timeout_ms"] < 60_000  # what was said last counts


async def test_a_gateway_that_ends_for_another_reason_is_not_told_again() -> None:
    drain, stopped = GatewayDrain(), list[int]()
    drain.close()
    drain.begin(Calls(), lambda: stopped.append(1), "kernel_shutdown", 0.0)
    drain.close()
    await asyncio.sleep(0.2)
    assert not stopped


@pytest.mark.parametrize("method", ["tools/list", "mgp/access/query"])
async def test_no_other_method_passes(method: str) -> None:
    drain = GatewayDrain()
    drain.begin(Calls(1), lambda: None, "operator_request", 5.0)
    assert not isinstance(drain(a_call("method", "", method=method), Mute()), Call)
    drain.close()


@pytest.mark.parametrize("ends", [True, False])
async def test_tasks_are_waited_for_as_calls_are_and_no_longer_than_those(ends: bool) -> None:
    drain, stopped, running = GatewayDrain(), list[int](), [1]
    drain.begin(
        Calls(),
        lambda: stopped.append(1),
        "kernel_shutdown",
        30.0 if ends else 0.3,
        lambda: running[0],
    )
    for method in OF_TASKS:
        call = a_call("method", "", method=method)
        assert drain(call, Mute()) is call
    await asyncio.sleep(0.2)
    assert not stopped
    if ends:
        running[0] = 0
    await until(lambda: stopped)


async def test_what_waits_for_nothing_that_could_end_holds_no_drain_up() -> None:
    drain, calls, stopped = GatewayDrain(), Calls(2), list[int]()
    drain.begin(calls, lambda: stopped.append(1), "kernel_shutdown", 30.0, idle=lambda: 1)
    await asyncio.sleep(0.1)
    assert not stopped
    calls.in_flight = 1
    await until(lambda: stopped)
    assert [one.reason for one in calls.ended] == ["timeout"]


@pytest.mark.parametrize("method", sorted(OF_TASKS))
async def test_what_is_asked_about_a_task_ends_with_the_drain(method: str) -> None:
    class Asking(Calls):
        def end_refused(self, judges: Sequence[Any] | None = None) -> int:
            self.ended += [
                judge.judge(a_call("method", "", method=method)) for judge in judges or ()
            ]
            return len(self.ended)

    drain, calls, stopped = GatewayDrain(), Asking(1), list[int]()
    drain.begin(calls, lambda: stopped.append(1), "kernel_shutdown", 0.05, lambda: 1)
    await until(lambda: stopped)
    assert [one.reason for one in calls.ended] == ["timeout"]


class Slow(Calls):
    """One call, whose record takes so many looks."""

    def __init__(self, looks: int) -> None:
        self.looks = looks
        self.refused = 0

    @property
    def in_flight(self) -> int:  # type: ignore[override]
        self.looks -= 1
        return int(self.looks > 0)

    def end_refused(self, judges: Sequence[Any] | None = None) -> int:
        self.refused += self.looks > 0
        return 0


async def test_a_result_that_was_waited_for_is_recorded_before_the_end() -> None:
    """Once the task that it waited for has ended, a call is with nobody any more, and in flight until it is written down."""
    drain, calls, left, waiting = GatewayDrain(), Slow(12), list[int](), [1, 1, 0]
    drain.begin(
        calls,
        lambda: left.append(calls.looks),
        "kernel_shutdown",
        30.0,
        idle=lambda: waiting.pop(0) if len(waiting) > 1 else 0,
    )
    await until(lambda: left)
    assert left[0] <= 0
    assert not calls.refused


async def test_what_the_drain_ends_is_recorded_before_the_end() -> None:
    drain, calls, left = GatewayDrain(), Slow(12), list[int]()
    drain.begin(calls, lambda: left.append(calls.looks), "kernel_shutdown", 0.0)
    await until(lambda: left)
    assert calls.refused
    assert left[0] <= 0
