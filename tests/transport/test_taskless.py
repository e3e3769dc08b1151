"""What has begun without a task ends in order, whatever becomes of the task that goes on with it."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar, copy_context
from typing import Any

import pytest

from gatewright.transport.taskless import Started

SEEN: ContextVar[str] = ContextVar("seen", default="nothing")


async def test_a_task_that_is_cancelled_before_it_begins_runs_its_finally() -> None:
    said: list[str] = []

    async def work() -> None:
        said.append("begun")
        try:
            await asyncio.sleep(60)
        finally:
            said.append("ended")

    task = asyncio.create_task(Started(work()))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert said == ["begun", "ended"]


async def test_work_that_waits_for_nothing_is_done_all_the_same() -> None:
    said: list[str] = []

    async def work() -> None:
        said.append("done")

    task = asyncio.create_task(Started(work()))
    task.cancel()
    await task
    assert said == ["done"]


async def test_otherwise_it_runs_as_any_coroutine() -> None:
    async def work(said: Any) -> None:
        await asyncio.sleep(0)
        said.append(SEEN.get())

    said: list[str] = []
    context = copy_context()
    context.run(SEEN.set, "this")
    await asyncio.get_running_loop().create_task(Started(work(said)), context=context)
    await Started(work(said))
    assert said == ["this", "nothing"]


async def test_what_breaks_is_heard_by_who_waits() -> None:
    async def work() -> None:
        await asyncio.sleep(0)
        raise ValueError("broken on purpose")

    with pytest.raises(ValueError, match="on purpose"):
        await asyncio.create_task(Started(work()))


async def test_what_never_goes_on_is_closed() -> None:
    one = Started(asyncio.sleep(60))
    one.close()
    with pytest.raises(RuntimeError):
        one.send(None)
