"""`UnreadEnds`: aborts closing server-side connections whose client does not read the rest of what was sent.

`transport.close()` first writes out what waits, for as long as that takes: a client that reads nothing, and for whom less waits than
the slow-reader rule is about, would keep its connection, a descriptor and its place among the connections for ever. For whom more
waits than that (a whole answer is written at once) the rule goes on: who takes `queue_bytes` in each `patience_s` gets all of it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Generator, Iterable
from typing import Protocol

from gatewright.transport.base import Limits
from gatewright.transport.slices import begun

__all__ = ["LONGEST_S", "Closing", "UnreadEnds"]

LONGEST_S = 30.0
"""So long even a client that reads a little is waited for once no more than `queue_bytes` are left."""


class Closing(Protocol):
    """A connection."""

    @property
    def transport(self) -> asyncio.Transport:
        """Where it writes."""


class _Ending:
    """One connection that is closing, first seen `now` with `left` bytes unread."""

    __slots__ = ("_least", "_limits", "_much", "_since", "_taken")

    def __init__(self, limits: Limits, now: float, left: int) -> None:
        self._limits = limits
        self._taken, self._least = now, left
        """When it had taken enough last, and what waited then."""
        self._since = now
        """Of the last `queue_bytes`: since when they are the last."""
        self._much = left > limits.queue_bytes

    def over(self, now: float, left: int) -> bool:
        """Whether it is waited for no more."""
        limit = self._limits.queue_bytes
        if self._much and left <= limit:
            self._much, self._since = False, now
            self._taken, self._least = now, left
        enough = limit if self._much else 1
        if self._least - left >= enough:
            self._taken, self._least = now, left
        if now - self._taken >= self._limits.patience_s:
            return True
        return not self._much and now - self._since >= LONGEST_S


class UnreadEnds:
    """The connections of one server that are closing. `look` is to be called every second or so."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        """Who takes nothing for `patience_s`, or of much too little, is not waited for."""
        self._limits = limits
        self._clock = clock
        self._seen: dict[asyncio.Transport, _Ending] = {}
        self._looking = False

    def look(self, connections: Iterable[Closing]) -> None:
        """Look at every connection, and end those whose clients read no more, unless the last look is not over yet."""
        if not self._looking:
            begun(self._steps(tuple(connections)))

    def _steps(self, connections: tuple[Closing, ...]) -> Generator[None, None, None]:
        self._looking = True
        try:
            yield from self._all(connections)
        finally:
            self._looking = False

    def _all(self, connections: tuple[Closing, ...]) -> Generator[None, None, None]:
        now, seen, self._seen = self._clock(), self._seen, {}
        for connection in connections:
            yield
            transport = connection.transport
            if not transport.is_closing():
                continue
            left = transport.get_write_buffer_size()
            if not left:
                continue
            ending = seen.get(transport) or _Ending(self._limits, now, left)
            if ending.over(now, left):
                transport.abort()
            else:
                self._seen[transport] = ending
