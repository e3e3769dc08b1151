"""`Turns`: limits concurrent requests of one person to the console; further ones queue, and beyond a bound they are refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from gatewright.console.operations import ApiError

__all__ = ["AT_ONCE", "WAITING", "Turns"]

AT_ONCE = 4
"""Of one person: threads are shared with everybody else, and with what the gateway itself does beside its loop."""
WAITING = 100
"""Of one person, besides: an open page asks for a few parts when something changes."""


class _Line:
    __slots__ = ("count", "free")

    def __init__(self, at_once: int) -> None:
        self.free = asyncio.Semaphore(at_once)
        self.count = 0


class Turns:
    """Of one console. For requests that read: one that changes something may wait for another person."""

    def __init__(self, at_once: int = AT_ONCE, waiting: int = WAITING) -> None:
        self._lines: dict[str, _Line] = {}
        self._at_once = at_once
        self._most = at_once + waiting

    @asynccontextmanager
    async def of(self, person: str) -> AsyncIterator[None]:
        """While inside, it is this person's turn. Raises `ApiError` where too many wait."""
        line = self._lines.setdefault(person, _Line(self._at_once))
        if line.count >= self._most:
            raise ApiError(503, "crowded", "too many requests of yours wait", "close some pages")
        line.count += 1
        try:
            async with line.free:
                yield
        finally:
            line.count -= 1
            if not line.count:
                del self._lines[person]
