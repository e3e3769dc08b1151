"""A server that announces changes without end is looked at once a second; others at once."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from gatewright.servers import relist_delay
from gatewright.servers.relist_delay import AT_ONCE, DEBOUNCE_S, EACH_S, TRIES, Pace, Paced


def test_looks_are_not_slowed_down_until_there_are_many() -> None:
    pace = Pace()
    assert [pace.take(100.0 + number * 0.05) for number in range(AT_ONCE)] == [DEBOUNCE_S] * AT_ONCE
    assert pace.take(100.95) > DEBOUNCE_S


def test_changes_without_end_are_looked_at_once_a_second() -> None:
    pace, now, looks = Pace(), 0.0, 0
    while now < 600:
        now += pace.take(now)
        looks += 1
    assert looks == pytest.approx(600 / EACH_S + AT_ONCE, abs=2)


def test_time_without_changes_gives_looks_back() -> None:
    pace = Pace()
    for _ in range(AT_ONCE * 2):
        pace.take(0.0)
    assert pace.take(5.0) > EACH_S
    assert pace.take(5.0 + 3 * AT_ONCE * EACH_S) == DEBOUNCE_S


class Work:
    """What is done in turns, and counted."""

    def __init__(self) -> None:
        self.tasks: list[asyncio.Task[None]] = []
        self.runs = self.most = self._now = 0
        self.again = self.fails = self.unfinished = False
        self.paced = Paced(self.work, self.spawn)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        self.tasks.append(asyncio.ensure_future(work))

    async def work(self) -> None:
        self.runs += 1
        self._now += 1
        self.most = max(self.most, self._now)
        if self.again:
            for _ in range(4):
                self.paced.ask()
        await asyncio.sleep(0)
        self._now -= 1
        if self.unfinished:
            self.paced.again()
        if self.fails:
            raise ValueError("bug")


async def test_work_that_asks_for_itself_is_one_run_after_the_other_and_slows_down() -> None:
    work = Work()
    work.again = True
    work.paced.ask()
    work.paced.ask()
    async with asyncio.timeout(20):
        while work.runs < AT_ONCE:
            await asyncio.sleep(0.01)
    # The next one is a second away, in which many would have been.
    assert (work.runs, work.most, len(work.tasks)) == (AT_ONCE, 1, 1)
    work.tasks[0].cancel()


async def test_what_is_asked_for_during_a_run_that_fails_is_done_and_so_is_what_comes_later(
    caplog: pytest.LogCaptureFixture,
) -> None:
    work = Work()
    work.fails = True
    for runs in (1, 2):
        work.paced.ask()
        async with asyncio.timeout(20):
            await asyncio.wait(work.tasks)
        assert work.runs == runs
    assert "has failed" in caplog.text


async def test_what_failed_is_done_again_and_not_without_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(relist_delay, "EACH_S", 0.001)
    work = Work()
    work.unfinished = True
    work.paced.ask()
    async with asyncio.timeout(20):
        while work.runs <= TRIES:
            await asyncio.sleep(0.01)
    await asyncio.sleep(1.0)
    assert work.runs == TRIES + 1
    work.paced.ask()
    await asyncio.sleep(0.1)
    assert work.runs == TRIES + 2, "whoever asks is served"
    work.unfinished = False
    work.paced.ask()
    await asyncio.sleep(0.1)
    work.unfinished = True
    work.paced.ask()
    await asyncio.sleep(1.0)
    assert work.runs == TRIES + 4 + TRIES, "after a run that did all it begins anew"
