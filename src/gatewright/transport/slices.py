"""Spreads long work over event-loop turns: generators of steps in slices of milliseconds, lists of callbacks 32 per turn.

For what is made of many small steps, such as the definitions that a server lists; one large step belongs to a worker process
(`transport.workers`).

Theory: a call takes half a dozen turns of the loop. With each of them it waits for whatever else is done in that turn, so slices are short, and
all the work of a loop that is done in slices shares one slice a turn (`_Share`): with ten such pieces of work at a time nobody else waits longer
than with one.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable
from functools import partial
from itertools import islice
from typing import TypeVar
from weakref import WeakKeyDictionary

__all__ = ["AT_ONCE", "begun", "by_and_by", "in_one", "in_slices", "whole"]

AT_ONCE = 32

_SLICE_S = 0.002
"""How long all work of a loop that is done in slices may take in one turn; and one step, where that takes longer."""
_LONG_S = 0.008
_REST_S = 0.004
"""How long nobody in line has a turn after what took that long: one pass through megabytes is one step. Without a rest, a call would wait
for another such step with each of its turns; the rest is enough for all of them."""
T = TypeVar("T")


class _Share:
    """What sliced work has taken of the present turn of a loop, and what of it waits for a turn of its own, in order."""

    __slots__ = ("_line", "_long", "_rested", "_scheduled", "_spent")

    def __init__(self) -> None:
        self._line: deque[Callable[[], bool]] = deque()
        self._spent = 0.0
        self._long = self._rested = self._scheduled = False

    @property
    def left(self) -> float:
        """Seconds of the present turn that are left for what begins."""
        return _SLICE_S - self._spent

    def spend(self, seconds: float) -> None:
        """So much was taken."""
        self._spent += seconds
        self._long = self._long or seconds >= _LONG_S
        self._schedule()

    def wait(self, go: Callable[[], bool]) -> None:
        """Stand in line; `go` says whether it still wants its turn."""
        self._line.append(go)
        self._schedule()

    def _schedule(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._next)

    def _next(self) -> None:
        """A new turn has begun."""
        self._scheduled, self._spent = False, 0.0
        # One rest, and not another one: what began in it may have taken as long again, and so on for ever.
        if self._long and self._line and not self._rested:
            self._long, self._rested, self._scheduled = False, True, True
            asyncio.get_running_loop().call_later(_REST_S, self._next)
            return
        self._long = self._rested = False
        try:
            while self._line and not self._line.popleft()():
                pass
        finally:  # what raises is logged by the loop, and costs the others nothing
            if self._line:
                self._schedule()


_shares: WeakKeyDictionary[asyncio.AbstractEventLoop, _Share] = WeakKeyDictionary()


def _share() -> _Share:
    """That of the running loop."""
    loop = asyncio.get_running_loop()
    found = _shares.get(loop)
    if found is None:
        found = _shares[loop] = _Share()
    return found


async def in_slices(
    steps: Generator[None, None, T], clock: Callable[[], float] = time.perf_counter
) -> T:
    """What the steps come to. The loop has a turn whenever they, and all others that are done so, have taken some milliseconds."""
    share = _share()
    most = share.left
    while True:
        if most <= 0.0:
            await _turn(share)
            most = _SLICE_S
        began = clock()
        try:
            while True:
                next(steps)
                spent = clock() - began
                if spent >= most:
                    break
        except StopIteration as done:
            share.spend(clock() - began)
            found: T = done.value
            return found
        except BaseException:
            share.spend(clock() - began)  # it has taken as long
            raise
        share.spend(spent)
        most = 0.0


async def in_one(step: Callable[[], T], clock: Callable[[], float] = time.perf_counter) -> T:
    """What one step comes to that may take as long as several slices: where it does, whoever asked goes on when others had their turns."""
    share, began = _share(), clock()
    try:
        found = step()
    finally:
        spent = clock() - began
        share.spend(spent)
    if (
        spent >= _SLICE_S
    ):  # who had a little waits for nobody: what others took of this turn is theirs
        await _turn(share)
    return found


async def _turn(share: _Share) -> None:
    turn = asyncio.get_running_loop().create_future()

    def go() -> bool:
        if turn.done():  # it was cancelled
            return False
        turn.set_result(None)
        return True

    share.wait(go)
    await turn


def begun(
    steps: Generator[None, None, object], clock: Callable[[], float] = time.perf_counter
) -> None:
    """The same for whoever cannot wait: a first slice at once, with all that it has in it, and each further one in a later turn."""
    share, began = _share(), clock()
    try:
        for _ in steps:
            if clock() - began >= _SLICE_S:
                share.wait(partial(_go_on, steps, clock))
                break
    finally:  # the last step is one like the others, and so is one that raises
        share.spend(clock() - began)


def _go_on(steps: Generator[None, None, object], clock: Callable[[], float]) -> bool:
    begun(steps, clock)
    return True


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
