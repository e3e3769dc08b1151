"""Long work on the event loop, a few milliseconds at a time: everybody else has a turn between two slices.

For what is made of many small steps, such as the definitions that a server lists; one large step belongs to a worker process
(`transport.workers`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Generator
from typing import TypeVar

__all__ = ["at_once", "in_slices"]

_SLICE_S = 0.004
T = TypeVar("T")


def at_once(steps: Generator[None, None, T]) -> T:
    """What the steps come to, without a turn for anybody: for what is small, and where nobody else waits."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            found: T = done.value
            return found


async def in_slices(
    steps: Generator[None, None, T], clock: Callable[[], float] = time.perf_counter
) -> T:
    """What the steps come to. The loop has a turn whenever they have taken some milliseconds."""
    began = clock()
    while True:
        try:
            next(steps)
        except StopIteration as done:
            found: T = done.value
            return found
        if clock() - began >= _SLICE_S:
            await asyncio.sleep(0)
            began = clock()
