"""One timer for many deadlines: each rings once, at its time, unless it was met."""

from __future__ import annotations

import asyncio
import time
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from gatewright.transport.timers import Overdue, Timers


async def _until(over: asyncio.Event) -> None:
    async with asyncio.timeout(10):
        await over.wait()


def _notes(
    into: list[str], what: str, then: Callable[[], None] = lambda: None
) -> Callable[[], None]:
    def ring() -> None:
        into.append(what)
        then()

    return ring


async def test_alarms_ring_in_the_order_of_their_times_whatever_order_they_were_set_in() -> None:
    loop = asyncio.get_running_loop()
    alarms, heard, over = Timers(), list[str](), asyncio.Event()
    now = loop.time()
    alarms.at(now + 0.03, _notes(heard, "last", over.set))
    alarms.at(now + 0.01, _notes(heard, "first"))
    alarms.at(now + 0.02, _notes(heard, "second"))
    await _until(over)
    assert heard == ["first", "second", "last"]
    assert not alarms.pending


async def test_an_alarm_that_was_met_never_rings() -> None:
    loop = asyncio.get_running_loop()
    alarms, heard, over = Timers(), list[str](), asyncio.Event()
    met = alarms.at(loop.time() + 0.01, _notes(heard, "met"))
    alarms.at(loop.time() + 0.03, _notes(heard, "missed", over.set))
    met.cancel()
    met.cancel()
    await _until(over)
    assert heard == ["missed"]


async def test_none_rings_before_its_time() -> None:
    loop = asyncio.get_running_loop()
    alarms, rung, over = Timers(), list[tuple[float, float]](), asyncio.Event()
    for delay in (0.02, 0.005, 0.01):
        due = loop.time() + delay

        def ring(due: float = due) -> None:
            rung.append((due, loop.time()))
            if len(rung) == 3:
                over.set()

        alarms.at(due, ring)
    await _until(over)
    assert all(when >= due for due, when in rung)


async def test_what_an_alarm_sets_while_it_rings_rings_too() -> None:
    loop = asyncio.get_running_loop()
    alarms, heard, over = Timers(), list[str](), asyncio.Event()

    def again() -> None:
        alarms.at(loop.time() + 0.005, _notes(heard, "again", over.set))

    alarms.at(loop.time() + 0.005, _notes(heard, "once", again))
    await _until(over)
    assert heard == ["once", "again"]


async def test_a_hundred_deadlines_that_are_met_cost_one_timer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop = asyncio.get_running_loop()
    alarms, timers = Timers(), list[float]()
    really = alarms._set

    def counted(when: float) -> None:
        timers.append(when)
        really(when)

    monkeypatch.setattr(alarms, "_set", counted)
    for _ in range(100):
        alarms.at(loop.time() + 60, lambda: None).cancel()
    assert len(timers) == 1
    assert not alarms.pending


class _Work:
    """Something that begins and ends."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.done = False


async def test_only_what_has_not_ended_in_time_is_overdue() -> None:
    loop = asyncio.get_running_loop()
    heard, over = list[tuple[str, float]](), asyncio.Event()

    def late(one: _Work) -> None:
        heard.append((one.name, loop.time()))
        if one.name == "last":
            over.set()
        else:
            raise RuntimeError(one.name)  # which costs the others nothing

    problems = list[Any]()
    loop.set_exception_handler(lambda _, context: problems.append(context))
    overdue, begun = Overdue(0.02, late), loop.time()
    works = [_Work(name) for name in ("quick", "slow", "quick", "slow", "last")]
    for work in works:
        overdue.began(work)
        work.done = work.name == "quick"
    await _until(over)
    loop.set_exception_handler(None)
    assert [name for name, _ in heard] == ["slow", "slow", "last"]
    assert all(when >= begun + 0.02 for _, when in heard)
    assert len(problems) == 2


async def test_the_time_of_each_begins_when_it_begins() -> None:
    """However late it is looked: none is overdue before its own time, and they are so in their order."""
    loop, over = asyncio.get_running_loop(), asyncio.Event()
    began, took = dict[str, float](), dict[str, float]()

    def late(one: _Work) -> None:
        took[one.name] = loop.time() - began[one.name]
        one.done = True
        if len(took) == len(began):
            over.set()

    def begin(name: str) -> None:
        began[name] = loop.time()
        overdue.began(_Work(name))

    overdue = Overdue(0.02, late)
    begin("first")
    await asyncio.sleep(0.01)
    begin("second")
    await _until(over)
    while len(took) < 2:  # "first" was heard before "second" began
        over.clear()
        await _until(over)
    over.clear()
    begin("third")
    await _until(over)
    assert list(took) == ["first", "second", "third"]
    assert min(took.values()) >= 0.02 - time.get_clock_info("monotonic").resolution


async def test_work_that_is_done_in_time_keeps_no_timer_running() -> None:
    heard: list[_Work] = []
    overdue = Overdue(0.01, heard.append)
    for name in ("a", "b"):
        work = _Work(name)
        overdue.began(work)
        work.done = True
        held = weakref.ref(work)
        del work
        await asyncio.sleep(0.05)
        assert held() is None
    assert heard == []
