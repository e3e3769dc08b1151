"""What whoever cancels a task of MCP 2025-11-25 is told, whatever its call comes to in that moment."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from gatewright.approvals.request import Asked
from gatewright.call import (
    Answer,
    Back,
    Call,
    Caller,
    Client,
    Failure,
    Outcome,
    Unrecorded,
    UserContext,
)
from tests.gate_parts import Mute
from tests.tasks.test_tasks import RAN, World, made, wanting


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    found = World(tmp_path)
    yield found
    await found.tasks.close()
    found.desk.close()


@pytest.mark.parametrize("came", ["answered", "unrecorded"])
async def test_who_cancels_a_task_of_the_core_is_told_that_it_is_cancelled(
    world: World, came: str
) -> None:
    """MCP 2025-11-25, Tasks, Task Cancellation: also where the call ended otherwise in that moment."""
    running, core = asyncio.Event(), Client("2025-11-25")

    async def ending(call: Call, back: Back) -> Outcome:
        if world.desk.redeem(Asked(call.caller.id, "srv", "echo", "a", "d", world.policy)) is None:
            return await world.handle(call, back)
        running.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError as stopped:
            if came == "unrecorded":
                stopped.__cause__ = Unrecorded("the disk is full")
                raise
        return RAN

    world.handled = partial(world.tasks.around, further=ending)
    id = await made(world, wanting(core))
    world.approve()
    async with asyncio.timeout(20):
        await running.wait()
        told = await world.ask("cancel", id, core)
    assert isinstance(told, Answer)
    assert json.loads(told.raw)["status"] == "cancelled"
    found = await world.ask("get", id, core)
    assert isinstance(found, Answer)
    assert json.loads(found.raw)["status"] == "cancelled"
    assert ("the disk is full" in json.loads(found.raw)["statusMessage"]) is (came == "unrecorded")
    result = await world.ask("result", id, core)
    assert isinstance(result, Answer)
    assert (b"the disk is full" in result.raw) is (came == "unrecorded")
    assert b"cancelled" not in result.raw
    again = await world.ask("cancel", id, core)
    assert isinstance(again, Failure)
    assert again.reason == "invalid_params"


ANN = Caller("ann")
LESS = Caller("ann", user=(UserContext(resources=("/srv/**",)),))


@pytest.mark.parametrize("other", ["held", "came before", "came after", None])
async def test_a_request_for_which_others_wait_or_come_back_outlives_a_cancelled_task(
    world: World, other: str | None
) -> None:
    """It is one for all keys of a caller, with the votes that it has: one of them ended it for all, again and again."""
    core, held = Client("2025-11-25"), None
    if other == "came before":
        await world.handle(replace(wanting(core), caller=LESS), Mute())
    id = await made(world, replace(wanting(core), caller=ANN))
    one = world.waiting
    if other == "came after":
        await world.handle(replace(wanting(core), caller=LESS), Mute())
    if other == "held":
        held = asyncio.ensure_future(world.desk.decided(one.id))
        await asyncio.sleep(0)
    assert isinstance(await world.ask("cancel", id, core, caller=ANN), Answer)
    now = world.store.get(one.id)
    assert now is not None
    assert now.state == ("pending" if other else "expired")
    if held is not None:
        assert not held.done()
        held.cancel()


async def test_a_request_outlives_one_of_two_tasks_that_wait_for_it_and_ends_with_the_last(
    world: World,
) -> None:
    core = Client("2025-11-25")
    first, last = [await made(world, replace(wanting(core), caller=ANN)) for _ in range(2)]
    one = world.waiting
    for id, state in ((first, "pending"), (last, "expired")):
        assert isinstance(await world.ask("cancel", id, core, caller=ANN), Answer)
        now = world.store.get(one.id)
        assert now is not None
        assert now.state == state
