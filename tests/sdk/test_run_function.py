"""Functions of authors: where they run, and for how long."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest

from gatewright.sdk.context import Context
from gatewright.sdk.run_function import run_function, too_long
from gatewright.sdk.running_call import Running
from gatewright.sdk.threads import MOST, Expired

DEADLINE_S = 60


async def later(value: Any) -> Any:
    await asyncio.sleep(0)
    return value


async def test_a_coroutine_function_runs_on_the_loop_and_a_plain_one_beside_it() -> None:
    here = threading.get_ident()

    async def there() -> int:
        return threading.get_ident()

    assert await run_function("f", there, True, 5) == here
    assert await run_function("f", threading.get_ident, False, 5) != here
    assert await run_function("f", lambda: later(7), False, 5) == 7


@pytest.mark.no_cover
@pytest.mark.parametrize("waits", [True, False])
async def test_who_takes_too_long_is_stopped(waits: bool) -> None:
    ended = threading.Event()

    async def slow() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    def slower() -> None:
        try:
            while True:
                time.sleep(0.001)
        finally:
            ended.set()

    with pytest.raises(Expired):
        await run_function("f", slow if waits else slower, waits, 0.05)
    assert await asyncio.to_thread(ended.wait, 10)


async def test_who_swallows_its_cancellation_is_not_waited_for() -> None:
    free = asyncio.Event()

    async def stubborn() -> None:
        while not free.is_set():
            try:
                await free.wait()
            except asyncio.CancelledError:
                continue

    with pytest.raises(Expired):
        await run_function("f", stubborn, True, 0.05)
    free.set()


async def test_the_time_of_questions_is_given_back() -> None:
    running = Running()
    loop = asyncio.get_running_loop()
    running.asks(loop.time())

    async def patient() -> str:
        await asyncio.sleep(1.2)
        running.asked(loop.time())
        return "done"

    assert await run_function("f", patient, True, 1.0, running) == "done"


def test_what_a_caller_is_told_names_the_function_and_its_limit() -> None:
    problem = too_long("f", 1.5)
    assert "f did not end within 1.5 s" in str(problem)
    assert problem.details["timeout_ms"] == 1500


async def test_who_is_cancelled_from_inside_or_leaves_fails_and_nobody_else() -> None:
    """GGEN-err-8: whoever asked waits for an answer, and the loop goes on."""

    async def cancelled() -> None:
        raise asyncio.CancelledError

    async def leaves() -> None:
        raise SystemExit(3)

    with pytest.raises(RuntimeError, match="f was cancelled from inside"):
        await run_function("f", cancelled, True, 5)
    with pytest.raises(RuntimeError, match=r"the tool ended with SystemExit\(3\)"):
        await run_function("f", leaves, True, 5)
    assert await run_function("f", lambda: later(7), True, 5) == 7


class Asked:
    """Questions that nobody answers, and the threads that wait for them."""

    def __init__(self) -> None:
        self.asking = threading.Semaphore(0)
        self.let_go = threading.Semaphore(0)
        self.given_up = 0

    async def never(self) -> None:
        self.asking.release()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.given_up += 1
            raise

    async def begin(self, count: int) -> list[asyncio.Task[None]]:
        """So many calls, each of which waits for an answer."""
        tasks = [asyncio.create_task(self.call()) for _ in range(count)]
        for _ in tasks:
            while not self.asking.acquire(blocking=False):
                await asyncio.sleep(0.001)
        return tasks

    async def call(self) -> None:
        running = Running(asyncio.get_running_loop())
        context = Context(tool="ask", running=running)

        def ask() -> None:
            try:
                context.wait(self.never())
            finally:
                self.let_go.release()

        await run_function("ask", ask, False, 600, running)

    async def end(self, tasks: list[asyncio.Task[None]]) -> None:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for _ in tasks:
            assert await asyncio.to_thread(self.let_go.acquire, timeout=DEADLINE_S)


async def test_a_call_that_ends_takes_its_question_and_its_thread_along() -> None:
    asked = Asked()
    await asked.end(await asked.begin(3))
    async with asyncio.timeout(DEADLINE_S):
        while asked.given_up < 3:
            await asyncio.sleep(0.001)


async def test_threads_that_wait_for_an_answer_keep_no_other_call_from_one() -> None:
    asked = Asked()
    tasks = await asked.begin(2 * MOST)
    async with asyncio.timeout(DEADLINE_S):
        assert await run_function("other", lambda: 7, False, 600) == 7
    await asked.end(tasks)
    assert await run_function("other", lambda: 8, False, 600) == 8
