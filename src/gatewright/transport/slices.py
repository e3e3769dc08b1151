"""Runs a long computation, written as a generator of steps, on the event loop in slices of a few milliseconds.

For what is made of many small steps, such as the definitions that a server lists; one large step belongs to a worker process
(`transport.workers`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Generator
from typing import TypeVar

__all__ = ["in_slices", "whole"]

_SLICE_S = 0.004
T = TypeVar("T")


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


def whole(steps: Generator[None, None, T]) -> T:
    """What the steps come to, all at once: where nobody can wait, or there are few."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            found: T = done.value
            return found
