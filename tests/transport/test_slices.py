"""Long work in slices: others have a turn between two of them."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from itertools import count

import pytest

from gatewright.transport.slices import in_slices


def steps(most: int) -> Generator[None, None, int]:
    for _ in range(most):
        yield
    return most


async def turns_during(most: int, a_step_s: float) -> tuple[int, int]:
    """What came of it, and how often somebody else had a turn."""
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    task = asyncio.create_task(other())
    ticks = count()
    found = await in_slices(steps(most), lambda: next(ticks) * a_step_s)
    task.cancel()
    return found, turns


async def test_others_have_a_turn_in_proportion_to_the_work() -> None:
    found, some = await turns_during(100, 0.005)
    assert (found, some > 40) == (100, True)
    _, twice = await turns_during(200, 0.005)
    assert 1.9 * some <= twice <= 2.1 * some


async def test_short_work_is_done_in_one_go() -> None:
    assert await turns_during(100, 0.0) == (100, 0)


async def test_what_the_work_raises_is_raised() -> None:
    def broken() -> Generator[None, None, None]:
        yield
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await in_slices(broken())
