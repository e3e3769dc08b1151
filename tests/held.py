"""How long the longest turn of the loop is that something takes, in processor time of this thread beside a yardstick of Python.

A ratio, so that nothing depends on how fast the machine is or who else is on it. Each step of sliced work is a turn of its own meanwhile: what is
measured is the longest step, which is as long as the loop is held, whatever a slice takes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from math import inf
from typing import Any

import pytest

from gatewright.transport import slices
from tests.costs import cost

__all__ = ["longest_turn", "longest_turn_s", "yardsticks"]

_TRIES = 8


def _yardstick() -> None:
    """About a millisecond."""
    sum(one % 7 for one in range(20_000))


def yardsticks(seconds: float) -> float:
    """How often the yardstick goes into so many seconds of processor time, as fast as it is at its best."""
    return seconds / min(cost(_yardstick) for _ in range(5))


async def longest_turn_s(work: Callable[[], Awaitable[Any]], patch: pytest.MonkeyPatch) -> float:
    """Processor seconds of the longest turn while it is done once."""
    spent: list[float] = []
    run = asyncio.events.Handle._run

    def timed(handle: asyncio.events.Handle) -> None:
        spent.append(cost(lambda: run(handle)))

    async def all_of_it() -> None:
        await work()

    with patch.context() as within:
        within.setattr(slices, "_SLICE_S", -1.0)
        within.setattr(slices, "_REST_S", 0.0)
        within.setattr(asyncio.events.Handle, "_run", timed)
        await asyncio.create_task(all_of_it())
    return max(spent)


async def longest_turn(
    work: Callable[[], Awaitable[Any]], patch: pytest.MonkeyPatch, most: float
) -> float:
    """The same in yardsticks: the least of some tries, of which there are no more once one is at most `most`."""
    found = inf
    for _ in range(_TRIES):
        found = min(found, yardsticks(await longest_turn_s(work, patch)))
        if found <= most:
            break
    return found
