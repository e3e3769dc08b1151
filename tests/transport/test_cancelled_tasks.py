from __future__ import annotations

import asyncio
import gc
import weakref

import pytest

from gatewright.transport.cancelled_tasks import let_go


class Held:
    """What a frame has."""

    task: asyncio.Task[None]


async def _waits(_: Held) -> None:
    await asyncio.Event().wait()


async def _held(*, lets_go: bool) -> weakref.ref[Held]:
    held = Held()
    held.task = task = asyncio.create_task(_waits(held))
    if lets_go:
        task.add_done_callback(let_go)
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    await asyncio.sleep(0)
    return weakref.ref(held)


@pytest.mark.parametrize("lets_go", [True, False])
async def test_a_cancelled_task_keeps_nothing_that_has_it(lets_go: bool) -> None:
    gc.disable()
    try:
        found = await _held(lets_go=lets_go)
        assert (found() is None) is lets_go
    finally:
        gc.enable()


async def test_what_failed_is_left_to_whoever_has_it() -> None:
    async def fails() -> None:
        raise ValueError("why")

    told: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
    task = asyncio.create_task(fails())
    task.add_done_callback(let_go)
    await asyncio.wait([task])
    await asyncio.sleep(0)
    del task
    gc.collect()
    assert [str(one["exception"]) for one in told] == ["why"]


async def test_a_task_that_ended_well_keeps_its_result() -> None:
    async def works() -> int:
        return 7

    task = asyncio.create_task(works())
    task.add_done_callback(let_go)
    assert await task == 7
