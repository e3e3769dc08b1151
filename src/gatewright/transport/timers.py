"""Deadline timers for many requests on one event-loop timer, cheap to set and cancel; `Overdue`: one time limit for all.

Every request has a deadline, and a timer of the loop's own costs as much as a gate or two. Here a deadline is an
entry in a table, and the timer rings when the earliest of those that were set is due; what was met by then is gone
from the table. Where all have the same time, they come due in the order in which they began, and meeting one need not
even be told (`Overdue`).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

__all__ = ["Alarm", "Overdue", "Timers"]


class Alarm:
    """One deadline. `when` is the event loop's time in seconds; `ring` is called then."""

    __slots__ = ("_alarms", "ring", "when")

    def __init__(self, alarms: Timers, when: float, ring: Callable[[], None]) -> None:
        self._alarms = alarms
        self.when = when
        self.ring = ring

    def cancel(self) -> None:
        """It was met. Without effect once it has rung."""
        self._alarms.pending.discard(self)
        self.ring = _met

    def go(self) -> None:
        """Ring, if it was not met after all in the same turn of the loop."""
        self.ring()


class Timers:
    """The deadlines of one owner, for the running loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._rings = 0.0
        self.pending: set[Alarm] = set()

    def at(self, when: float, ring: Callable[[], None]) -> Alarm:
        """Call `ring` at `when`, in the loop's seconds, unless it is cancelled before."""
        alarm = Alarm(self, when, ring)
        self.pending.add(alarm)
        if self._timer is None or when < self._rings:
            self._set(when)
        return alarm

    def _set(self, when: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._rings = when
        self._timer = self._loop.call_at(when, self._ring)

    def _ring(self) -> None:
        self._timer = None
        now = self._loop.time()
        due = [one for one in self.pending if one.when <= now]
        self.pending.difference_update(due)
        if self.pending:
            self._set(min(one.when for one in self.pending))
        for one in sorted(due, key=lambda alarm: alarm.when):
            self._loop.call_soon(one.go)  # each by itself: one that breaks must not cost the others


class _Ending(Protocol):
    done: bool


T = TypeVar("T", bound=_Ending)


class Overdue(Generic[T]):
    """Calls `late` with each of those that are not `done` so many seconds after they began."""

    def __init__(self, seconds: float, late: Callable[[T], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._seconds = seconds
        self._late = late
        self._begun: deque[tuple[float, T]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    def began(self, one: T) -> None:
        """Its time runs from now. It may be held until then, though it is done."""
        self._begun.append((self._loop.time() + self._seconds, one))
        if self._timer is None:
            self._timer = self._loop.call_later(self._seconds, self._ring)

    def _ring(self) -> None:
        begun, now = self._begun, self._loop.time()
        # Who has ended needs no timer, though it is not due: where all are quick, this rings once for all of them.
        while begun and (begun[0][1].done or begun[0][0] <= now):
            one = begun.popleft()[1]
            if not one.done:
                self._loop.call_soon(self._late, one)  # each by itself, like alarms
        self._timer = self._loop.call_at(begun[0][0], self._ring) if begun else None


def _met() -> None:
    """What a cancelled alarm does."""
