"""Searches in threads: two at a time, also where those who asked have gone."""

from __future__ import annotations

import asyncio
import threading

import pytest

from gatewright.console.audit_threads import AuditThreads


class Work:
    """Goes on in its thread until a test lets it end."""

    def __init__(self) -> None:
        self.running = 0
        self.most = 0
        self._lock = threading.Lock()
        self.go_on = threading.Event()

    def __call__(self, number: int) -> int:
        with self._lock:
            self.running += 1
            self.most = max(self.most, self.running)
        self.go_on.wait(30)
        with self._lock:
            self.running -= 1
        return number

    async def begun(self, count: int) -> None:
        async with asyncio.timeout(10):
            while self.running < count:
                await asyncio.sleep(0.005)


async def test_two_run_and_others_wait() -> None:
    threads, work = AuditThreads(), Work()
    asked = [asyncio.create_task(threads.run(work, number)) for number in range(8)]
    await work.begun(2)
    await asyncio.sleep(0.05)
    work.go_on.set()
    assert await asyncio.gather(*asked) == [*range(8)]
    assert work.most == 2


async def test_whoever_goes_does_not_free_the_thread_that_works_for_them() -> None:
    threads, work = AuditThreads(), Work()
    for number in range(6):
        asked = asyncio.create_task(threads.run(work, number))
        await work.begun(min(number + 1, 2))
        await asyncio.sleep(0.02)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
    assert (work.running, work.most) == (2, 2)
    work.go_on.set()
    assert await threads.run(work, 7) == 7


async def test_what_work_raises_is_raised_and_frees_its_place() -> None:
    threads = AuditThreads()
    for _ in range(4):
        with pytest.raises(ZeroDivisionError):
            await threads.run(divmod, 1, 0)
    assert await threads.run(divmod, 7, 2) == (3, 1)
