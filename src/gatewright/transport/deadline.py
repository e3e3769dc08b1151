"""A single timer for one connection's changing deadline (the next expected event).

Nearly every deadline is met. So a new one does not touch the timer, unless that would ring too late: a timer that
rings too early sees so, and is set for the rest.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable

__all__ = ["Deadline"]


def _nothing(_: str) -> None:
    """Of what is over nothing is missed."""


class Deadline:
    """At most one thing awaited. `missed` is called with its name when it did not happen in time.

    `awaited` may be set to "" at any time: it happened. `due` is when it has to, and `since` from when
    on it is awaited, in seconds of the event loop.
    """

    __slots__ = ("_loop", "_missed", "_rings", "_time", "_timer", "awaited", "due", "since")

    def __init__(self, missed: Callable[[str], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._time = self._loop.time
        self._missed = missed
        self.due = self.since = 0.0
        self._rings = math.inf
        self._timer: asyncio.TimerHandle | None = None
        self.awaited = ""

    def expect(self, what: str, seconds: float) -> None:
        """Await this from now on, and nothing else."""
        self.awaited = what
        self.since = now = self._time()
        self.due = due = now + seconds
        if due < self._rings:
            if self._timer is not None:
                self._timer.cancel()
            self._rings = due
            self._timer = self._loop.call_later(seconds, self._ring)

    def left_s(self) -> float:
        """How long it may still take; without end where nothing is awaited."""
        return self.due - self._time() if self.awaited else math.inf

    def stop(self) -> None:
        """Nothing is awaited, and will not be."""
        self.awaited = ""
        # Else a connection and its deadline hold each other until the collector comes.
        self._missed = _nothing
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._rings = math.inf

    def _ring(self) -> None:
        self._timer = None
        self._rings = math.inf
        left = self.due - self._time()
        if not self.awaited:
            return
        if left > 0:
            self._rings = self.due
            self._timer = self._loop.call_later(left, self._ring)
        else:
            what, self.awaited = self.awaited, ""
            self._missed(what)
