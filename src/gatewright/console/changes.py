"""`Changes`: numbers the changes of each topic; SSE stream that tells open pages which topics to fetch again; bounds streams per person.

An event says only what changed, never how: what a page shows of it is fetched by the page, in its person's role. So a page that lost
its connection needs no history: it says which change it heard of last (`Last-Event-ID`), and hears of every topic that changed since.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

import msgspec

__all__ = ["STREAMS", "STREAMS_EACH", "TOPICS", "Changes"]

TOPICS = (
    "inbox",
    "live",
    "sessions",
    "servers",
    "tools",
    "access",
    "audit",
    "rooms",
    "limits",
    "health",
    "connect",
)
_KEEP_ALIVE_S = 15.0
_LEAST_S = 0.1
"""Between two events of one stream: whatever happens meanwhile goes into the next."""
STREAMS = 200
"""At most, of all pages."""
STREAMS_EACH = 20
"""At most, of the pages of one person: nobody takes those of others."""


class Changes:
    """Told on the event loop; any number of pages listen."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """`clock` gives seconds; its value now makes the numbers of this process greater than those of one before."""
        self._count = int(clock() * 1000) << 10
        self._last = dict.fromkeys(TOPICS, self._count)
        self._waiting: dict[asyncio.Event, str] = {}

    def tell(self, *topics: str) -> None:
        """These have changed."""
        self._count += 1
        for one in topics:
            self._last[one] = self._count
        for event in self._waiting:
            event.set()

    @property
    def number(self) -> int:
        """The last change so far. A page is shown with the one from before it was made, and hears of all after that."""
        return self._count

    @property
    def listening(self) -> int:
        """How many streams are open."""
        return len(self._waiting)

    def crowded(self, person: str) -> bool:
        """Whether this person may open no further stream."""
        mine = sum(one == person for one in self._waiting.values())
        return mine >= STREAMS_EACH or len(self._waiting) >= STREAMS

    def since(self, number: int, topics: Sequence[str]) -> list[str]:
        """Which of these topics changed after change `number`."""
        return [one for one in topics if self._last.get(one, 0) > number]

    def look(self) -> None:
        """Have every stream ask now whether it goes on."""
        for event in self._waiting:
            event.set()

    async def events(
        self, person: str, topics: Sequence[str], after: int | None, over: Callable[[], str]
    ) -> AsyncIterator[bytes]:
        """The stream of one page, from change `after` on, or from now; it ends when `over` says why, which is its last event, or at once
        where it is one too many."""
        if self.crowded(person):  # others may have begun since somebody asked
            return
        told = self._count if after is None else after
        event = asyncio.Event()
        self._waiting[event] = person
        try:
            yield b"retry: 1000\n\n" + _event(self._count if after is None else told, [])
            while not (why := over()):
                changed, now = self.since(told, topics), self._count
                if changed:
                    yield _event(now, changed)
                    told = now
                    await asyncio.sleep(_LEAST_S)
                    continue
                event.clear()
                try:
                    await asyncio.wait_for(event.wait(), _KEEP_ALIVE_S)
                except TimeoutError:
                    yield b": still here\n\n"
            yield b"event: over\ndata: %b\n\n" % msgspec.json.encode({"why": why})
        finally:
            del self._waiting[event]


def _event(number: int, topics: Sequence[str]) -> bytes:
    data = msgspec.json.encode({"changed": topics})
    return b"id: %d\nevent: changed\ndata: %b\n\n" % (number, data)
