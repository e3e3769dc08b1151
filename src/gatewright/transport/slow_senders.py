"""`SlowSenders`: connections that send a few bytes now and then rest from being read, then are read a few at a time (slow-loris crowds).

What a connection sends costs the loop a wake-up, however little it is. Two thousand that send a byte each second in one moment would hold everybody
else for as long as all their bytes take. A message of theirs ends late anyway, so it may be read late: whoever has not ended within `SLOW_S` what it
began, and sends less than `SMALL_BYTES` at a time, is not read for `REST_S`. What came meanwhile is then one read.

A deadline goes on while its connection rests; that it was closed by its peer is noticed once it is read.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

__all__ = [
    "AT_ONCE",
    "REST_S",
    "SLOW_S",
    "SMALL_BYTES",
    "TICK_S",
    "Pieces",
    "SlowSenders",
    "is_slow",
]

SLOW_S = 1.0
SMALL_BYTES = 64
REST_S = 2.0
TICK_S = 0.005
AT_ONCE = 8
"""So many are read again in each tick: 1,600 a second. With more of them the rest of each becomes longer."""


def is_slow(size: int, took_s: float) -> bool:
    """Whether who has just sent `size` bytes of what it began so many seconds ago is to rest."""
    return size < SMALL_BYTES and took_s > SLOW_S


class Pieces:
    """Since when what one connection sends has come in small pieces. `now` is a clock in seconds."""

    __slots__ = ("_now", "_since")

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._since: float | None = None

    def came(self, size: int, *, partial: bool) -> bool:
        """So many bytes came, and what they belong to has not ended (`partial`); whether the connection is to rest."""
        if not partial or size >= SMALL_BYTES:
            self._since = None
            return False
        now = self._now()
        if self._since is None:
            self._since = now
        return is_slow(size, now - self._since)


class SlowSenders:
    """Those of one loop, the longest at rest first."""

    __slots__ = ("_line", "_loop", "_scheduled")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._line: deque[tuple[float, Callable[[], None]]] = deque()
        self._scheduled = False

    def rest(self, wake: Callable[[], None]) -> None:
        """Call `wake` when the connection is to be read again; its caller has stopped reading it."""
        due = self._loop.time() + REST_S
        self._line.append((due, wake))
        if not self._scheduled:
            self._schedule(due)

    def _schedule(self, at: float) -> None:
        self._scheduled = True
        self._loop.call_at(at, self._read_some)

    def _read_some(self) -> None:
        self._scheduled = False
        line, now = self._line, self._loop.time()
        try:
            for _ in range(min(AT_ONCE, len(line))):
                if line[0][0] > now:
                    break
                line.popleft()[1]()
        finally:  # what breaks one connection is logged by the loop, and costs the others nothing
            if line:
                self._schedule(max(line[0][0], now + TICK_S))
