"""`UnreadEnds`: aborts server connections that are closing while their client does not read the rest of what was written to it.

`transport.close()` first writes out what waits, for as long as that takes: a client that reads nothing, and for whom less waits than
the slow-reader rule is about, would keep its connection, a descriptor and its place among the connections for ever.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Generator, Iterable
from typing import Protocol

from gatewright.transport.slices import begun

__all__ = ["LONGEST_S", "Closing", "UnreadEnds"]

LONGEST_S = 30.0
"""After so long even a client that reads a little is not waited for any more; what is left is less than `queue_bytes`."""


class Closing(Protocol):
    """A connection."""

    @property
    def transport(self) -> asyncio.Transport:
        """Where it writes."""


class UnreadEnds:
    """The connections of one server that are closing. `look` is to be called every second or so."""

    def __init__(self, patience_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        """Who takes nothing for `patience_s` is not waited for."""
        self._patience_s = patience_s
        self._clock = clock
        self._seen: dict[asyncio.Transport, tuple[float, float, int]] = {}
        """Since when it is closing, when something was taken last, and what waited then."""

    def look(self, connections: Iterable[Closing]) -> None:
        """Look at every connection, and end those whose clients read no more."""
        begun(self._steps(tuple(connections)))

    def _steps(self, connections: tuple[Closing, ...]) -> Generator[None, None, None]:
        now, seen, self._seen = self._clock(), self._seen, {}
        for connection in connections:
            yield
            transport = connection.transport
            if not transport.is_closing():
                continue
            left = transport.get_write_buffer_size()
            if not left:
                continue
            since, taken, before = seen.get(transport, (now, now, left))
            if left < before:
                taken = now
            if now - taken >= self._patience_s or now - since >= LONGEST_S:
                transport.abort()
            else:
                self._seen[transport] = since, taken, left
