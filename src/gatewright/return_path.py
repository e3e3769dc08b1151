"""Runs a call's events and server requests through the filters, in order, and bounds what waits behind a slow filter.

Most filters answer at once. One that needs time (a large text is cleaned in a worker process) holds up what was sent after it,
and nothing else: other calls have a `FilteredBack` of their own.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from gatewright.call import Back, Call, CannotAsk, Event, Failure, Filter, Question
from gatewright.mcp.wire import jsonrpc

__all__ = ["MOST", "MOST_BYTES", "FilteredBack"]

MOST = 1000
MOST_BYTES = 4 * 1024 * 1024
"""How much may wait behind one event that takes long. A call that sends more ends with that: nothing is left out unsaid."""


class FilteredBack(msgspec.Struct, eq=False):
    """A `Back` whose events and questions pass the filters. An event that a filter needs time for holds up those after it."""

    # A struct: one is made for every call, and mostly nothing is sent before the answer.
    _call: Call
    _back: Back
    _filters: Sequence[Filter]
    _waits: deque[tuple[Event, int]] = msgspec.field(default_factory=deque)
    _bytes: int = 0
    flaw: Failure | None = None
    """Why the call ends with this instead, where more waited than may."""
    late: asyncio.Task[None] | None = None
    """What passes on the events that could not pass at once, if there are any."""
    used: bool = False
    """Whether anything has gone through the filters."""

    def emit(self, event: Event) -> None:
        """Pass an event on, now or behind those that a filter still needs time for."""
        if self.late is not None:
            self._wait(event)
            return
        passing = self._cleaned(event)
        if isinstance(passing, Event):
            self._back.emit(passing)
        elif passing is not None:
            self.late = asyncio.create_task(self._emitted(passing))

    def release(self, events: Sequence[Event]) -> None:
        """Pass on what filters had held back, which they have cleaned already."""
        for event in events:
            self._back.emit(event)

    async def ask(self, question: Question) -> dict[str, Any]:
        """Put a question to the caller, behind the events before it. Raises `CannotAsk`."""
        await self.settled()
        if self.late is not None:
            raise CannotAsk("the call is over", -32000)
        said = Event(question.method, question.params or {})
        cleaned = await self._waiting(said)
        if cleaned is None:
            raise CannotAsk("no filter lets this question pass")
        if cleaned is not said:
            question = replace(question, params=cleaned.params)
        return await self._back.ask(question)

    async def settled(self) -> Failure | None:
        """Return once every event has passed that was emitted so far; with a failure where more waited than may."""
        while self.late is not None:
            late = self.late
            # Not the task itself: whoever stops waiting would end it for all others.
            await asyncio.wait([late])
            if late.cancelled():
                break
            late.result()
            # Another one may have begun in the turn of the loop in which this one ended.
            if self.late is late:
                self.late = None
        return self.flaw

    def cancel(self) -> None:
        """Nobody waits for what has not passed yet."""
        self._waits.clear()
        if self.late is not None:
            self.late.cancel()

    def _wait(self, event: Event) -> None:
        size = len(jsonrpc.encode(event.params))  # as it would travel; what is kept is the event
        if self.flaw is None and len(self._waits) < MOST and self._bytes + size <= MOST_BYTES:
            self._waits.append((event, size))
            self._bytes += size
        elif self.flaw is None:
            said = f"more than {MOST} messages or {MOST_BYTES} bytes came while a large one was cleaned of secrets"
            self.flaw = Failure("output_invalid", said, {"rule": "too_many_events"})

    async def _waiting(self, event: Event, begin: int = 0) -> Event | None:
        cleaned = self._cleaned(event, begin)
        return cleaned if cleaned is None or isinstance(cleaned, Event) else await cleaned

    async def _emitted(self, passing: Awaitable[Event | None]) -> None:
        cleaned = await passing
        while True:
            if cleaned is not None:
                self._back.emit(cleaned)
            if not self._waits:
                self.late = None
                return
            event, size = self._waits.popleft()
            self._bytes -= size
            cleaned = await self._waiting(event)
            await asyncio.sleep(0)  # none of them may have needed any time

    def _cleaned(self, event: Event, begin: int = 0) -> Event | Awaitable[Event | None] | None:
        self.used = True
        for at in range(begin, len(self._filters)):
            cleaned = self._filters[at].event(self._call, event)
            if cleaned is None:
                return None
            if not isinstance(cleaned, Event):
                return self._rest(cleaned, at + 1)
            event = cleaned
        return event

    async def _rest(self, passing: Awaitable[Event | None], begin: int) -> Event | None:
        event = await passing
        cleaned = None if event is None else self._cleaned(event, begin)
        return await cleaned if cleaned is not None and not isinstance(cleaned, Event) else cleaned
