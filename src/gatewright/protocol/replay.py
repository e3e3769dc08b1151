"""Resumable event streams (MCP 2025-03-26 to 2025-11-25): what was sent, and what is still owed.

A stream belongs to one POST of a session, or to the session itself (the GET stream). Its events carry
ids, so that a client whose connection broke can name the last one it saw and receive the rest. Memory
is bounded: a stream forgets its oldest events, and a client that asks for a forgotten one is told so
by the gap in numbers; a session keeps a bounded number of finished streams.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable

__all__ = ["Stream", "Streams"]


class Stream:
    """One stream: numbered messages, at most one connection that carries them at a time."""

    def __init__(self, ident: str, limit_bytes: int) -> None:
        self.ident = ident
        self.ended = False
        """The last message was added; whoever has seen it needs nothing more."""
        self._limit = limit_bytes
        self._held = 0
        self._number = 0
        self._messages: deque[tuple[int, bytes]] = deque()
        self._sink: Callable[[str, bytes], None] | None = None

    def primer(self) -> str:
        """The id of the event that opens the stream, before any message."""
        return f"{self.ident}-{self._number}"

    def add(self, message: bytes, *, last: bool = False) -> None:
        """Number a message, keep it, and hand it to the connection if there is one."""
        self._number += 1
        self._messages.append((self._number, message))
        self._held += len(message)
        while self._held > self._limit and len(self._messages) > 1:
            self._held -= len(self._messages.popleft()[1])
        self.ended = self.ended or last
        if self._sink is not None:
            self._sink(f"{self.ident}-{self._number}", message)

    def attach(self, sink: Callable[[str, bytes], None], after: int | None = None) -> None:
        """Carry the stream on a connection from now on; `after` repeats what followed that number."""
        self._sink = sink
        if after is not None:
            for number, message in list(self._messages):
                if number > after:
                    sink(f"{self.ident}-{number}", message)

    def detach(self, sink: Callable[[str, bytes], None]) -> None:
        """The connection is gone; a later one may attach. Ignored when another took over already."""
        if self._sink == sink:  # bound methods are equal, but never identical
            self._sink = None

    @property
    def attached(self) -> bool:
        """Whether a connection carries the stream now."""
        return self._sink is not None


class Streams:
    """The streams of one session, by id."""

    def __init__(self, limit_bytes: int, limit_streams: int = 64) -> None:
        self._limit_bytes = limit_bytes
        self._limit_streams = limit_streams
        self._next = 0
        self._streams: OrderedDict[str, Stream] = OrderedDict()
        self.own = self.open()
        """The session's GET stream."""

    def open(self) -> Stream:
        """A new stream. The oldest finished one makes room where there are too many."""
        ident = f"{self._next:x}"
        self._next += 1
        stream = self._streams[ident] = Stream(ident, self._limit_bytes)
        if len(self._streams) > self._limit_streams:
            for name, old in self._streams.items():
                if old.ended and not old.attached:
                    del self._streams[name]
                    break
        return stream

    def find(self, event_id: str) -> tuple[Stream, int] | None:
        """The stream and number an event id names, or None where this session never gave it out."""
        name, _, number = event_id.partition("-")
        stream = self._streams.get(name)
        if stream is None or not number.isdecimal() or len(number) > 12:
            return None
        return stream, int(number)

    def drop(self, stream: Stream) -> None:
        """Forget a stream that nobody will resume."""
        if stream is not self.own:
            self._streams.pop(stream.ident, None)
