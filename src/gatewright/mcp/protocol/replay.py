"""Buffers of resumable SSE streams (MCP 2025-03-26 to 2025-11-25): event ids, replay after reconnect, bounded memory.

A stream belongs to one POST of a session, or to the session itself (the GET stream). Its events carry
ids, so that a client whose connection broke can name the last one it saw and receive the rest. Memory
is bounded: a stream forgets its oldest events, and a client that asks for a forgotten one is told so
by the gap in numbers; a session keeps a bounded number of finished streams, and all sessions of one caller
a bounded number of bytes of them (`FinishedStreams`), since one answer alone may be as long as a message of a server. What the own
streams of a caller's sessions keep is bounded together in the same way: a thousand of them that nobody reads would fill the memory.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Generator
from typing import Any

__all__ = ["FINISHED_BYTES", "FinishedStreams", "Stream", "Streams"]

FINISHED_BYTES = 16 * 1024 * 1024

Sink = Callable[[str, bytes], None]
"""Takes the id and the text of one message."""
Steps = Generator[None, None, None]


def _at_once(steps: Steps) -> None:
    for _ in steps:
        pass


class FinishedStreams:
    """Finished streams, which hold so many bytes together; beyond that the oldest are forgotten, but never the last one."""

    def __init__(self, most_bytes: int | None = None) -> None:
        self._most = FINISHED_BYTES if most_bytes is None else most_bytes
        self._held = 0
        self._streams: OrderedDict[Stream, tuple[int, Callable[[], None]]] = OrderedDict()

    @property
    def held(self) -> int:
        """How many bytes there are."""
        return self._held

    def put(self, stream: Stream, forget: Callable[[], None]) -> None:
        """Keep a stream that has finished; `forget` is called when it has to make room."""
        self.take(stream)
        self._streams[stream] = stream.held, forget
        self._held += stream.held
        while self._held > self._most and len(self._streams) > 1:
            oldest = next(iter(self._streams))
            forget = self._streams[oldest][1]
            self.take(oldest)
            forget()

    def take(self, stream: Stream) -> None:
        """Stop counting a stream, which is forgotten otherwise."""
        self._held -= self._streams.pop(stream, (0, None))[0]


class _Connection:
    """One that carries a stream. What was kept is repeated on it in slices, and what comes meanwhile is kept behind that."""

    __slots__ = ("at", "begun", "over", "repeats", "sink")

    def __init__(
        self, sink: Sink, over: Callable[[], None] | None, begun: Callable[[Steps], None]
    ) -> None:
        self.sink = sink
        self.over = over
        self.begun = begun
        self.repeats = False
        """Whether something that was kept is still due."""
        self.at = 0
        """The last number that it was given."""


class Stream:
    """One stream: numbered messages, each carried by one connection.

    Of several connections the newest carries; when it goes, the one before it does again.
    """

    def __init__(
        self,
        ident: str,
        limit_bytes: int,
        over: Callable[[Stream], None] | None = None,
        grown: Callable[[Stream], None] | None = None,
    ) -> None:
        """`over` is told once that nothing more will come, `grown` of each message that is kept."""
        self.ident = ident
        self.whose: Any = None
        """For whom it is: nobody else is given what it keeps."""
        self._over = over
        self._grown = grown
        self.ended = False
        """The last message was added; whoever has seen it needs nothing more."""
        self._limit = limit_bytes
        self._held = 0
        self._number = 0
        self._handed = 0
        self._messages: OrderedDict[int, tuple[bytes, Any]] = OrderedDict()
        self.about: Any = None
        """What all of it is of, where that is one thing."""
        self._connections: list[_Connection] = []

    def primer(self) -> str:
        """The id of the event that opens the stream, before any message."""
        return f"{self.ident}-{self._number}"

    def add(self, message: bytes, *, last: bool = False, about: Any = None) -> None:
        """Number a message, keep it with what it is `about`, and hand it to the connection if there is one."""
        self._number += 1
        carrier = self._connections[-1] if self._connections else None
        self._messages[self._number] = message, about
        self._held += len(message)
        # The newest stays, whatever its length: it may be the answer.
        while self._held > self._limit and len(self._messages) > 1:
            number, (oldest, _) = self._messages.popitem(last=False)
            self._held -= len(oldest)
            if carrier is not None and carrier.repeats and number > carrier.at:
                self._hand(carrier, number, oldest)  # it was next there
        self.ended = self.ended or last
        if self._grown is not None:
            self._grown(self)
        if carrier is not None and not carrier.repeats:
            self._hand(carrier, self._number, message)
        if last:
            self.end()

    def _hand(self, carrier: _Connection, number: int, message: bytes) -> None:
        self._handed = max(self._handed, number)
        carrier.at = number
        carrier.sink(f"{self.ident}-{number}", message)

    def attach(
        self,
        sink: Sink,
        after: int | None = None,
        over: Callable[[], None] | None = None,
        begun: Callable[[Steps], None] = _at_once,
    ) -> None:
        """Carry the stream on a connection from now on; `after` repeats what followed that number.

        `over` is called when nothing more will come: after the last message, or by `end`. `begun` goes through the steps of repeating,
        the first ones at once.
        """
        # The newest carries from now on: that the one before it is dead may be noticed much later.
        for former in self._connections:
            self._repeated(former)
        one = _Connection(sink, over, begun)
        self._connections.append(one)
        if after is not None:
            self._begin(one, after)
        elif self.ended and over is not None:
            over()

    def _begin(self, one: _Connection, after: int) -> None:
        one.at, one.repeats = after, True
        one.begun(self._repeat(one))

    def _repeat(self, one: _Connection) -> Steps:
        """Give a connection what was kept and is due there, and what is kept meanwhile, one a step."""
        try:
            while due := [number for number in self._messages if number > one.at]:
                for number in due:
                    kept = self._messages.get(number)  # unless it may be told no more
                    if kept is not None and number > one.at:
                        self._hand(one, number, kept[0])
                        yield
                    if not one.repeats:
                        return
            self._repeated(one)
        finally:
            one.repeats = False

    def _repeated(self, one: _Connection) -> None:
        """Nothing is due any more: all was given, or another connection carries the stream."""
        if one.repeats:
            one.repeats = False
            if self.ended and one.over is not None:
                one.over()

    def detach(self, sink: Sink) -> None:
        """The connection is gone; others are not disturbed. What it was still due goes to the one that carries now."""
        # Bound methods are equal, but never identical.
        gone = [one for one in self._connections if one.sink == sink]
        self._connections = [one for one in self._connections if one.sink != sink]
        due = [one.at for one in gone if one.repeats]
        for one in gone:
            one.repeats = False
        # Of a stream that has ended all others were told so: who comes back asks for the rest.
        if due and self._connections and not self.ended:
            last = self._connections[-1]
            # A new one: steps of the former may still wait for their turn, and are to end there.
            self._connections[-1] = heir = _Connection(last.sink, last.over, last.begun)
            self._begin(heir, max(last.at, *due))

    def end(self) -> None:
        """Nothing more will come, and whoever carries the stream is told."""
        self.ended = True
        told, self._over = self._over, None
        if told is not None:
            told(self)
        for one in list(self._connections):
            if one.over is not None and not one.repeats:  # else behind what is due there
                one.over()

    def forget(self) -> None:
        """Keep nothing of what was said so far: whoever has not seen it misses it."""
        self._messages.clear()
        self._held = 0

    def make_room(self) -> None:
        """Keep nothing of it, and hand what is still due to the connection on which it is repeated first: that misses nothing."""
        carrier = self._connections[-1] if self._connections else None
        if carrier is not None and carrier.repeats:
            for number, (message, _) in list(self._messages.items()):
                if number > carrier.at:
                    self._hand(carrier, number, message)
        self.forget()

    def retain(self, may: Callable[[Any], bool]) -> None:
        """Keep of what was said so far what is about nothing, or about what `may` be told, which is asked once for each."""
        every = {about for _, about in self._messages.values()} - {None}
        refused = {about for about in every if not may(about)}
        if not refused:
            return
        kept = ((number, one) for number, one in self._messages.items() if one[1] not in refused)
        self._messages = OrderedDict(kept)
        self._held = sum(len(message) for message, _ in self._messages.values())
        if self._grown is not None:
            self._grown(self)

    def pass_on(self, *, kept: bool) -> None:
        """It is another's from now on, who is given what is `kept` of it or nothing of what was said so far; whoever carried it does not
        any more, also when the new one leaves."""
        if not kept:
            self.forget()
        former, self._connections = self._connections, []
        for one in former:
            one.repeats = False
            if one.over is not None:
                one.over()

    @property
    def held(self) -> int:
        """How many bytes it keeps."""
        return self._held

    @property
    def attached(self) -> bool:
        """Whether a connection carries the stream now."""
        return bool(self._connections)

    @property
    def handed(self) -> int:
        """The number of the last message that any connection was given."""
        return self._handed


class Streams:
    """The streams of one session, by id."""

    def __init__(
        self,
        limit_bytes: int,
        limit_streams: int = 64,
        shelf: FinishedStreams | None = None,
        owns: FinishedStreams | None = None,
    ) -> None:
        """`shelf` is that of other sessions as well, and so is `owns`, which counts what their own streams keep."""
        self._shelf = shelf or FinishedStreams()
        self._owns = owns or FinishedStreams()
        self._limit_bytes = limit_bytes
        self._limit_streams = limit_streams
        self._next = 0
        self._streams: OrderedDict[str, Stream] = OrderedDict()
        self.own = self._add(self._grown)
        """The session's GET stream."""

    def open(self, whose: Any = None) -> Stream:
        """A new stream. The oldest finished one makes room where there are too many."""
        stream = self._add()
        stream.whose = whose
        if len(self._streams) > self._limit_streams:
            for old in self._streams.values():
                if old.ended and not old.attached:
                    self.drop(old)
                    break
        return stream

    def _add(self, grown: Callable[[Stream], None] | None = None) -> Stream:
        ident = f"{self._next:x}"
        self._next += 1
        self._streams[ident] = made = Stream(ident, self._limit_bytes, self._finished, grown)
        return made

    def _grown(self, own: Stream) -> None:
        if not own.ended:
            self._owns.put(own, own.make_room)

    def _finished(self, stream: Stream) -> None:
        if stream.ident in self._streams and stream is not self.own:
            self._shelf.put(stream, lambda: self.drop(stream))

    def find(self, event_id: str) -> tuple[Stream, int] | None:
        """The stream and number an event id names, or None where this session never gave it out."""
        name, _, number = event_id.partition("-")
        stream = self._streams.get(name)
        # The length before `int`, which takes the square of it.
        if stream is None or not number.isdecimal() or len(number) > 12:
            return None
        return stream, int(number)

    def drop(self, stream: Stream) -> None:
        """Forget a stream that nobody will resume."""
        if stream is not self.own:
            self._shelf.take(stream)
            self._streams.pop(stream.ident, None)

    def end(self) -> None:
        """The session is over: nothing more will come on any stream."""
        for stream in list(self._streams.values()):
            stream.end()
            self._shelf.take(stream)
        self._owns.take(self.own)
