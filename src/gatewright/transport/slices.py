"""Spreads long work over event-loop turns: generators of steps in slices of milliseconds, lists of callbacks 32 per turn.

For what is made of many small steps, such as the definitions that a server lists; one large step belongs to a worker process
(`transport.workers`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Generator, Iterable
from itertools import islice
from typing import TypeVar

__all__ = ["AT_ONCE", "begun", "by_and_by", "in_slices", "whole"]

AT_ONCE = 32

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


def begun(
    steps: Generator[None, None, object], clock: Callable[[], float] = time.perf_counter
) -> None:
    """The same for whoever cannot wait: a first slice at once, with all that it has in it, and each further one in a later turn."""
    began = clock()
    for _ in steps:
        if clock() - began >= _SLICE_S:
            asyncio.get_running_loop().call_soon(begun, steps, clock)
            return


def by_and_by(work: Iterable[Callable[[], object]]) -> None:
    """Do the first few of some things now, and in each later turn of the loop as many again: what each of a thousand tasks does when
    it is cancelled would else be done in one turn. What one of them raises keeps none from being done, and is raised at the end of its turn."""
    left = iter(work)
    some = list(islice(left, AT_ONCE))
    problems: list[Exception] = []
    for one in some:
        try:
            one()
        except Exception as problem:  # noqa: BLE001 - raised below
            problems.append(problem)
    if len(some) == AT_ONCE:
        asyncio.get_running_loop().call_soon(by_and_by, left)
    if len(problems) > 1:
        raise ExceptionGroup("several of what was to be done failed", problems)
    if problems:
        raise problems[0]


def whole(steps: Generator[None, None, T]) -> T:
    """What the steps come to, all at once: where nobody can wait, or there are few."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            found: T = done.value
            return found
