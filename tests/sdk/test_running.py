"""Functions of authors: where they run, and for how long."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest

from gatewright.sdk.asking import Running
from gatewright.sdk.running import run_function, too_long
from gatewright.sdk.threads import Expired


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
