"""The gate `confirm` and what looks at waiting calls cost."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from gatewright.call import Call, verdict_of
from tests.approvals.queues import NEVER, OPERATOR_RULE, WIPE, Hearing, World, refused
from tests.gate_parts import a_tool_call


async def test_a_call_that_comes_again_to_run_was_counted_when_it_was_asked(
    tmp_path: Path,
) -> None:
    """Waiting for a person costs no second call of any limit: what was counted twice is given back once."""
    world = World(tmp_path, OPERATOR_RULE, hold_s=0)
    refused(await world.run(), "permission_deferred")
    assert world.redeemed == []
    world.desk.store.approve((await world.desk.first()).id, by="olga")
    assert isinstance(await world.run(), Call)
    assert len(world.redeemed) == 1


async def test_an_approval_for_many_calls_gives_one_back(tmp_path: Path) -> None:
    """Only one of the calls that it lets pass was asked before; all others are calls like any other."""
    world = World(tmp_path, OPERATOR_RULE, hold_s=0)
    await world.run()
    world.desk.store.approve(
        (await world.desk.first()).id, by="olga", scope="arguments", lasts_s=600
    )
    assert [isinstance(await world.run(), Call) for _ in range(4)] == [True] * 4
    assert len(world.redeemed) == 1


async def test_a_look_that_runs_in_the_end_was_never_counted_and_gives_nothing_back(
    tmp_path: Path,
) -> None:
    world = World(tmp_path, OPERATOR_RULE, hold_s=0)
    await world.run()
    world.desk.store.approve((await world.desk.first()).id, by="olga")
    look = a_tool_call(WIPE, facts={})
    assert world.looks.free(look)
    assert isinstance(await verdict_of(world.confirm, look, Hearing()), Call)
    assert world.redeemed == []
    assert not world.looks.free(a_tool_call(WIPE, facts={}))


async def test_the_first_call_of_all_pays_for_itself(tmp_path: Path) -> None:
    """It was counted once, and runs: nothing is to be given back."""
    world = World(tmp_path, OPERATOR_RULE, hold_s=NEVER)
    running = asyncio.ensure_future(world.run())
    repeated = asyncio.ensure_future(world.run())  # as a flood would, and counted
    waiting = await world.desk.first()
    world.desk.store.approve(waiting.id, by="olga")
    found = [await running, await repeated]
    assert [isinstance(one, Call) for one in found].count(True) == 1
    assert len(world.redeemed) == isinstance(found[1], Call)


@pytest.mark.parametrize("end", ["denied", "granted"])
async def test_looks_end_with_the_wait(tmp_path: Path, end: str) -> None:
    """Whoever was told no, or needs nobody's word any more, looks at nothing."""
    world = World(tmp_path, OPERATOR_RULE, hold_s=0)
    await world.run()
    look = a_tool_call(WIPE, facts={})
    assert world.looks.free(look)
    if end == "denied":
        world.desk.store.deny((await world.desk.first()).id, by="olga")
        refused(await verdict_of(world.confirm, look, Hearing()), "permission_denied")
    else:
        look.facts["access"] = "tool_grant"
        assert await verdict_of(world.confirm, look, Hearing()) is look
    assert not world.looks.free(a_tool_call(WIPE, facts={}))
