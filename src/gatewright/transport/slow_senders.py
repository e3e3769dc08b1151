"""`SlowSenders`: pauses reading of connections that send a few bytes at a time (slow-loris clients), then reads a few of them per tick.

What a connection sends costs the loop a wake-up, however little it is. Two thousand that send a byte each second in one moment would hold everybody
else for as long as all their bytes take. A message of theirs ends late anyway, so it may be read late: whoever has sent less than `SMALL_BYTES` at a
time for longer than `SLOW_S`, and has not ended what it began, is not read for `REST_S`. What came meanwhile is then one read.

A deadline goes on while its connection rests. Once it is over, what came is read before anything follows from it (`hurry`): the client may have been
in time. That it left is noticed once it is read.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

__all__ = [
    "AT_ONCE",
    "LOOK_S",
    "MUCH_BYTES",
    "REST_S",
    "SLOW_S",
    "SMALL_BYTES",
    "TICK_S",
    "Pieces",
    "Resting",
    "SlowSenders",
]

SLOW_S = 1.0
SMALL_BYTES = 64
MUCH_BYTES = 4096
"""Who has sent less than that while it rested is as slow as before."""
REST_S = 2.0
TICK_S = 0.005
AT_ONCE = 8
"""So many are read again in each tick: 1,600 a second. With more of them the rest of each becomes longer."""
LOOK_S = 0.25
"""How long what came before a deadline may take to be read after it. With less left nobody rests."""


class Pieces:
    """Since when what one connection sends has come in small pieces. `now` is a clock in seconds."""

    __slots__ = ("_now", "_rested", "_since")

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._since: float | None = None
        self._rested = False

    def came(self, size: int, *, partial: bool) -> bool:
        """So many bytes came, and what they belong to has not ended (`partial`); whether the connection is to rest."""
        rested, self._rested = self._rested, False
        if not partial or size >= (MUCH_BYTES if rested else SMALL_BYTES):
            self._since = None
            return False
        now = self._now()
        if self._since is None:
            self._since = now
        self._rested = size < SMALL_BYTES and now - self._since > SLOW_S
        return self._rested


class Resting(Protocol):
    """A connection, or what reads for it."""

    def woken(self) -> None:
        """It may be read again."""


class SlowSenders:
    """Those of one loop, the longest at rest first; each is in line once."""

    __slots__ = ("_free_at", "_line", "_loop", "_timer")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._line: OrderedDict[Resting, float] = OrderedDict()
        self._free_at = 0.0  # when some may be read again
        self._timer: asyncio.TimerHandle | None = None

    def __contains__(self, one: Resting) -> bool:
        return one in self._line

    def rest(self, one: Resting) -> None:
        """Have it `woken` when it is to be read again; its caller has stopped reading it."""
        if one not in self._line:
            self._line[one] = due = self._loop.time() + REST_S
            if self._timer is None:
                self._schedule(due)

    def hurry(self, one: Resting) -> bool:
        """It is the next to be read again; False where it does not rest."""
        if one not in self._line:
            return False
        self._line[one] = now = self._loop.time()
        self._line.move_to_end(one, last=False)
        self._schedule(now)
        return True

    def leave(self, one: Resting) -> None:
        """It does not rest any more, or is gone; it is not woken."""
        self._line.pop(one, None)

    def _schedule(self, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(max(at, self._free_at), self._read_some)

    def _read_some(self) -> None:
        line, now = self._line, self._loop.time()
        self._free_at = now + TICK_S
        try:
            for _ in range(min(AT_ONCE, len(line))):
                one, due = next(iter(line.items()))
                if due > now:
                    break
                del line[one]
                one.woken()
        finally:  # what breaks one connection is logged by the loop, and costs the others nothing
            self._timer = None
            if line:
                self._schedule(next(iter(line.values())))
