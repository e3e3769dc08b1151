"""`SharedViews`: caches parts of pages that are the same for several people, for a second or until their topic changes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import NamedTuple

from gatewright.console.changes import Changes

__all__ = ["SharedViews"]

_GOOD_S, _MOST = 0.9, 100
"""Less than a page waits between two looks. What changes with calls is told twice a second at most."""


class _Part(NamedTuple):
    at: float
    number: int
    """The last change that is in it."""
    body: bytes


class _Making:
    __slots__ = ("asking", "lock")

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.asking = 0


class SharedViews:
    """Of one console, on its loop."""

    def __init__(self, changes: Changes, clock: Callable[[], float]) -> None:
        """`clock` gives seconds."""
        self._changes = changes
        self._clock = clock
        self._made: dict[Hashable, _Part] = {}
        self._making: dict[Hashable, _Making] = {}
        """Those that somebody makes, or waits for."""

    async def get(self, key: Hashable, topic: str, make: Callable[[], Awaitable[bytes]]) -> bytes:
        """The part of this key, as it is, or was a moment ago while nothing of its topic changed."""
        making = self._making.setdefault(key, _Making())
        making.asking += 1
        try:
            # One after the other: of those who ask at once the first has it made, and the others get that.
            async with making.lock:
                found = self._made.get(key)
                if found is None or not self._is_good(found, topic):
                    number = self._changes.number  # before anything is read for it
                    body = await make()
                    found = _Part(self._clock(), number, body)
                    self._keep(key, found)
                return found.body
        finally:
            making.asking -= 1
            if not making.asking:
                del self._making[key]

    def _keep(self, key: Hashable, part: _Part) -> None:
        self._made.pop(key, None)
        while len(self._made) >= _MOST:
            del self._made[next(iter(self._made))]
        self._made[key] = part

    def _is_good(self, found: _Part, topic: str) -> bool:
        soon = self._clock() - found.at < _GOOD_S
        return soon and not self._changes.since(found.number, (topic,))
