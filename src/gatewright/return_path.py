"""`FilteredBack`: runs a call's events and server requests through the filters in order, bounds what queues, and reports lost text.

Most filters answer at once. One that needs time (a large text is cleaned in a worker process) holds up what was sent after it, be
it an event or a question, and nothing else: other calls have a `FilteredBack` of their own. Text of a stream that does not pass any
more, because the call has ended, is told as missing (`GAP`).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from gatewright.call import Back, Call, CannotAsk, Event, Failure, Filter, Question
from gatewright.chunk_way import ChunkWay, as_it_is, chunk_way, step_of
from gatewright.mcp.wire import jsonrpc
from gatewright.secret_scanning.chunks import GAP, chars_of

__all__ = ["LATE_S", "MOST", "MOST_BYTES", "FilteredBack"]

MOST = 1000
MOST_BYTES = 4 * 1024 * 1024
"""How much may wait behind one event that takes long. A call that sends more ends with that: nothing is left out unsaid."""

LATE_S = 60.0
"""How long a call waits, once it has its outcome, for its messages to pass."""


class FilteredBack(msgspec.Struct, eq=False):
    """A `Back` whose events and questions pass the filters. An event that a filter needs time for holds up those after it."""

    # A struct: one is made for every call, and mostly nothing is sent before the answer.
    call: Call
    _back: Back
    _filters: Sequence[Filter]
    _waits: deque[tuple[str, bytes, int]] = msgspec.field(default_factory=deque)
    """As JSON text, with the characters that a chunk has: a few MiB of it may be millions of objects, of which each collection of
    garbage takes account."""
    _bytes: int = 0
    lost: int = 0
    """Characters of chunks that do not reach the caller, which is told so at the end."""
    _over: bool = False
    flaw: Failure | None = None
    """Why the call ends with this instead, where more waited than may."""
    late: asyncio.Task[None] | None = None
    """What passes on the events that could not pass at once, if there are any."""
    used: bool = False
    """Whether anything has gone through the filters."""

    def emit(self, event: Event) -> None:
        """Pass an event on, now or behind those that a filter still needs time for. Of a call that is over nothing passes: a filter
        would keep what it holds of it for ever."""
        if self._over:
            self.lost += chars_of(event.method, event.params)
            return
        if self.late is not None:
            self._wait(event)
            return
        passing = self._cleaned(event)
        if isinstance(passing, Event):
            self._back.emit(passing)
        elif passing is not None:
            self.late = asyncio.create_task(self._emitted(passing))

    def chunks(self) -> ChunkWay | None:
        """The way of plain chunks, where every filter knows what it does with their text, and at most one does anything."""
        on = chunk_way(self._back)
        steps = [step_of(one, self.call) for one in self._filters]
        acting = [one for one in steps if one is not None and one is not as_it_is]
        if on is None or None in steps or len(acting) > 1:
            return None
        step, free, further = acting[0] if acting else as_it_is, on.free, on.say

        def is_free() -> bool:
            return not self._over and self.late is None and free()

        def say(text: str) -> None:
            clean = step(text)
            if isinstance(clean, str):
                further(clean)
            else:
                self.late = asyncio.create_task(self._emitted(clean))

        return ChunkWay(is_free, say)

    def release(self, events: Sequence[Event]) -> None:
        """Pass on what filters had held back, which they have cleaned already, and say how much text never came to them."""
        for event in events:
            self._back.emit(event)
        self._tell_lost()

    def drop(self, events: Sequence[Event]) -> None:
        """Of a call whose caller may not make it any more: nothing of what filters had held back passes, and how much text that is, is told."""
        self.lost += sum(chars_of(one.method, one.params) for one in events)
        self._tell_lost()

    def _tell_lost(self) -> None:
        if self.lost:
            self._back.emit(Event(GAP, {"request_id": self.call.id, "chars": self.lost}))

    async def ask(self, question: Question) -> dict[str, Any]:
        """Put a question to the caller, behind the events before it. Raises `CannotAsk`."""
        await self.settled()
        if self.late is not None or self._over:
            raise CannotAsk("the call is over", -32000)
        said = Event(question.method, question.params or {})
        cleaned = self._cleaned(said)
        if cleaned is not None and not isinstance(cleaned, Event):
            cleaned = await self._turn(cleaned)
            if self._over:  # since it was clean, and before it could be put
                raise CannotAsk("the call is over", -32000)
        if cleaned is None:
            raise CannotAsk("no filter lets this question pass")
        if cleaned is not said:
            question = replace(question, params=cleaned.params)
        return await self._back.ask(question)

    async def _turn(self, passing: Awaitable[Event | None]) -> Event | None:
        """A question that a filter needs time for, once it may be put: what is emitted meanwhile comes behind it."""
        asked: asyncio.Future[Event | None] = asyncio.get_running_loop().create_future()
        self.late = asyncio.create_task(self._asked(passing, asked))
        self.late.add_done_callback(partial(_over, asked))
        return await asked

    async def _asked(
        self, passing: Awaitable[Event | None], asked: asyncio.Future[Event | None]
    ) -> None:
        try:
            cleaned = await passing
        except Exception as problem:  # noqa: BLE001 - whoever asks hears it
            if not asked.done():  # who may be gone
                asked.set_exception(problem)
        else:
            if not asked.done():
                asked.set_result(cleaned)
        await asyncio.sleep(0)  # in which it is put
        await self._emitted(None)

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

    async def finished(self) -> Failure | None:
        """The same for a call that has its outcome: what its caller still waits for has a limit."""
        try:
            async with asyncio.timeout(LATE_S):
                return await self.settled()
        except TimeoutError:
            said = f"its messages took more than {LATE_S:g} s to be cleaned of secrets"
            return Failure("output_invalid", said, {"rule": "too_costly"})

    def close(self) -> None:
        """The call is over: nobody waits for what has not passed yet, or is said from now on."""
        self._over = True
        if self._waits:  # which it seldom does, and this is done for each call
            self.lost += sum(chars for _, _, chars in self._waits)
            self._waits.clear()
        if self.late is not None:
            self.late.cancel()

    def _wait(self, event: Event) -> None:
        try:
            text = jsonrpc.encode(event.params)
        except (ValueError, RecursionError) as problem:  # half a surrogate pair, say
            self.flaw = self.flaw or Failure(
                "output_invalid", f"a message cannot be sent: {problem}"
            )
            self.lost += chars_of(event.method, event.params)
            return
        if self.flaw is None and len(self._waits) < MOST and self._bytes + len(text) <= MOST_BYTES:
            self._waits.append((event.method, text, chars_of(event.method, event.params)))
            self._bytes += len(text)
            return
        self.lost += chars_of(event.method, event.params)
        if self.flaw is None:
            said = f"more than {MOST} messages or {MOST_BYTES} bytes came while a large one was cleaned of secrets"
            self.flaw = Failure("output_invalid", said, {"rule": "too_many_events"})

    async def _waiting(self, event: Event, begin: int = 0) -> Event | None:
        cleaned = self._cleaned(event, begin)
        return cleaned if cleaned is None or isinstance(cleaned, Event) else await cleaned

    async def _emitted(self, passing: Awaitable[Event | None] | None) -> None:
        cleaned = None if passing is None else await passing
        if cleaned is not None:
            self._back.emit(cleaned)
        while self._waits:
            method, text, _ = self._waits.popleft()
            self._bytes -= len(text)
            cleaned = await self._waiting(Event(method, jsonrpc.decode_whole(text)))
            if cleaned is not None:
                self._back.emit(cleaned)
            await asyncio.sleep(0)  # none of them may have needed any time
        self.late = None

    def _cleaned(self, event: Event, begin: int = 0) -> Event | Awaitable[Event | None] | None:
        self.used = True
        for at in range(begin, len(self._filters)):
            cleaned = self._filters[at].event(self.call, event)
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


def _over(asked: asyncio.Future[Event | None], _: object) -> None:
    """A question whose call has ended before it could be put."""
    if not asked.done():
        asked.set_exception(CannotAsk("the call is over", -32000))
