"""Newline-delimited messages on a byte stream: splitter, inbox that pauses reading beyond a budget per turn, outbox that batches writes.

Three parts, none of which knows where the bytes come from. `LineSplitter` finds the lines; it looks at each byte
once, so that a line of 64 MiB in pieces of 64 KiB costs no more than many short ones. `LineInbox` hands them on within
a budget for each turn of the loop and stops reading meanwhile, so that a peer that floods us delays others by one
budget and no more. `LineOutbox` joins what is sent in one turn into one write.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from itertools import accumulate, islice
from typing import Protocol

from gatewright.transport.base import SLICE_S, Limits
from gatewright.transport.pipe_ends import Backlog, End

__all__ = ["HALF_A_FRAME", "LineInbox", "LineOutbox", "LineSplitter", "Reading", "Writing"]

HALF_A_FRAME = "half a frame"
"""How the reason of a pipe begins whose peer ended in the middle of a message."""

_SLICE = 4
_SHORT = 8192
"""So many lines, and together so many bytes, are handed on before anybody looks at the clock; a longer one alone."""
_COSTLY_S, _REST_S = 0.004, 0.05
"""Whoever sends what takes that long is not heard for as long again, at most for the second of these: the calls of others take several
turns of the loop, each of which would else wait for one such message more."""

_LF, _CR = (
    b"\n\r"  # numbers: `in` tries what stands before it as one first, and bytes cost it an exception
)
_NEWLINES = bytes.maketrans(b"\r\n", b"  ")


class Reading(Protocol):
    """The part of an `asyncio.ReadTransport` that an inbox needs."""

    def pause_reading(self) -> None:
        """Read no more for now."""

    def resume_reading(self) -> None:
        """Read again."""

    def is_closing(self) -> bool:
        """Whether it is closed or about to be."""


class Writing(Protocol):
    """The part of an `asyncio.WriteTransport` that an outbox needs."""

    def write(self, data: bytes, /) -> None:
        """Take bytes to write, now or as soon as possible."""

    def get_write_buffer_size(self) -> int:
        """How many bytes could not be written yet."""

    def is_closing(self) -> bool:
        """Whether it is closed or about to be."""


class LineSplitter:
    """Bytes in, lines out, without their line ends (LF or CRLF) and without the blank ones.

    `broken` becomes true at the first line over `limit` bytes; nothing is held or returned from then on.
    """

    def __init__(self, limit: int) -> None:
        self.broken = False
        self._limit = limit
        self._pieces: list[bytes] = []
        self._held = 0

    @property
    def partial(self) -> bool:
        """Whether a line has begun and not ended."""
        return self._held > 0

    def feed(self, data: bytes) -> list[bytes]:
        """Take the next bytes and return the lines they complete."""
        if self.broken:
            return []
        end = data.find(b"\n")
        if end < 0:
            return self._keep(data, [])
        if not self._held:
            return self._lines(data)
        # One byte more than the limit may be a carriage return that belongs to the line end.
        if self._held + end > self._limit + 1:
            return self._break([])
        first = b"".join([*self._pieces, data[:end]]).removesuffix(b"\r")
        self._pieces.clear()
        self._held = 0
        if len(first) > self._limit:
            return self._break([])
        lines = self._lines(data[end + 1 :])
        return [first, *lines] if first else lines

    def _lines(self, data: bytes) -> list[bytes]:
        """The lines that begin in `data`. Nothing is done for each of them in Python: a hundred thousand blank ones cost nearly nothing
        to send."""
        lines = data.replace(b"\r\n", b"\n").split(b"\n")
        rest = lines.pop()
        whole = list(filter(None, lines))
        if len(data) > self._limit and max(map(len, whole), default=0) > self._limit:
            too_long = (number for number, line in enumerate(whole) if len(line) > self._limit)
            return self._break(whole[: next(too_long)])
        return self._keep(rest, whole)

    def _keep(self, rest: bytes, whole: list[bytes]) -> list[bytes]:
        """Hold what has begun, unless it is too long already."""
        if rest:
            self._held += len(rest)
            self._pieces.append(rest)
        return self._break(whole) if self._held > self._limit + 1 else whole

    def _break(self, whole: list[bytes]) -> list[bytes]:
        self.broken = True
        self._pieces.clear()
        self._held = 0
        return whole


class LineInbox:
    """Delivers the lines of one stream to `end`, at most `turn_messages` and about `turn_bytes` a turn of the loop, and no
    more after some milliseconds: what is done with a line is not known here.

    `source` is what to pause meanwhile. `broken` is called with a reason when a line is over the limit. Nothing is
    delivered before `start`, so that whoever opens a pipe holds it before its receiver hears of anything.
    """

    def __init__(
        self, source: Reading, end: End, limits: Limits, broken: Callable[[str], None]
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._source = source
        self._deliver = end.deliver_all
        self._limits = limits
        self._broken = broken
        self._splitter = LineSplitter(limits.frame_bytes)
        self._lines: deque[bytes] = deque()
        self._bytes = 0
        self._messages = limits.turn_messages
        self._spent_s = 0.0
        """How long it took to hand on what was handed on last."""
        self._started = False
        self._turning = True
        self._paused = False
        self._dropped = False
        self._at_end: Callable[[bool], None] | None = None

    @property
    def partial(self) -> bool:
        """Whether a line has begun and not ended."""
        return self._splitter.partial

    def start(self) -> None:
        """Deliver from the turn after next on: after whoever waits for the opening of the pipe had a turn."""
        self._loop.call_soon(self._loop.call_soon, self._start)

    def feed(self, data: bytes) -> None:
        """Take what was read."""
        if self._dropped:
            return
        self._bytes = taken = self._bytes + len(data)
        lines = self._splitter.feed(data)
        if len(lines) == 1 and taken <= _SHORT and self._is_idle():
            # Nearly always: one answer, and nothing before it.
            self._messages += 1
            self._deliver(lines)
            if not self._turning:
                self._turning = True
                self._loop.call_soon(self._next_turn)
            return
        self._lines.extend(lines)
        self._hand_on()
        if not self._turning:
            self._turn_again()
        if self._lines or self._bytes >= self._limits.turn_bytes:
            self._pause()

    def _is_idle(self) -> bool:
        """Whether nothing waits, and another line may be handed on in this turn without a look at the clock."""
        return (
            not self._lines
            and self._messages < self._limits.turn_messages
            and not self._splitter.broken
            and self._spent_s < _COSTLY_S
        )

    def end(self, done: Callable[[bool], None]) -> None:
        """No more bytes. Calls `done` once all lines are delivered; its argument says whether half a line is left."""
        self._at_end = done
        if self._started and not self._lines:
            self._finish()

    def drop(self) -> None:
        """Deliver nothing more, and release what is held."""
        self._dropped = True
        self._lines.clear()
        self._splitter = LineSplitter(0)
        self._at_end = None

    def _start(self) -> None:
        self._started = True
        self._next_turn()

    def _hand_on(self) -> None:
        lines = self._lines
        room = self._limits.turn_messages - self._messages
        few = len(lines) <= min(room, _SLICE)
        if few and sum(map(len, lines)) <= _SHORT:
            batch = list(lines)
            lines.clear()
            self._messages += len(batch)
            self._deliver(batch)
        else:
            self._hand_on_slices(room)
        if self._splitter.broken and self._started and not lines and not self._dropped:
            self._dropped = True
            self._broken(f"a message longer than {self._limits.frame_bytes} bytes")

    def _hand_on_slices(self, room: int) -> None:
        begun, until = time.thread_time(), self._loop.time() + SLICE_S
        while room > 0 and self._lines:
            batch = self._some(min(room, _SLICE))
            room -= len(batch)
            self._messages += len(batch)
            self._deliver(batch)
            # Not by the clock: a machine that is busy elsewhere is nobody's fault.
            self._spent_s = time.thread_time() - begun
            if self._loop.time() >= until:
                self._messages = self._limits.turn_messages  # the rest in the next turn
                return

    def _some(self, most: int) -> list[bytes]:
        """The next lines, as many as are handed on at once."""
        lines = self._lines
        batch = list(islice(lines, most))
        if sum(map(len, batch)) > _SHORT:
            sizes = accumulate(map(len, batch))
            batch = [
                one
                for at, (one, size) in enumerate(zip(batch, sizes, strict=True))
                if not at or size <= _SHORT
            ]
        for _ in batch:
            lines.popleft()
        return batch

    def _next_turn(self) -> None:
        self._bytes = self._messages = 0
        self._turning = False
        if not (
            self._lines or self._paused or self._splitter.broken or self._spent_s or self._at_end
        ):
            return  # there is nothing to hand on, and nothing to be told
        if not self._dropped:
            self._hand_on()
        if self._lines or self._spent_s >= _COSTLY_S:
            self._turn_again()
            return
        self._resume()
        if self._at_end is not None:
            self._finish()

    def _turn_again(self) -> None:
        self._turning = True
        spent_s, self._spent_s = self._spent_s, 0.0
        if spent_s < _COSTLY_S:
            self._loop.call_soon(self._next_turn)
        else:
            self._pause()
            self._loop.call_later(min(spent_s, _REST_S), self._next_turn)

    def _finish(self) -> None:
        done, self._at_end = self._at_end, None
        if done is not None:
            done(self._splitter.partial)

    def _pause(self) -> None:
        if not self._paused and not self._source.is_closing():
            self._paused = True
            self._source.pause_reading()

    def _resume(self) -> None:
        if self._paused:
            self._paused = False
            if not self._source.is_closing():
                self._source.resume_reading()


class LineOutbox:
    """Collects what is sent in one turn of the loop and writes it at once.

    `slow` is called when the peer does not read; nothing must be sent after that.
    """

    def __init__(self, sink: Writing, limits: Limits, slow: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._sink = sink
        self._backlog = Backlog(limits, self.waiting, slow)
        self._limit = limits.queue_bytes
        self._pieces: list[bytes] = []
        self._behind = 0
        """What waited already when the first piece came; it can only get less before they are written."""
        self._most = 0
        """That, and the pieces."""

    def send(self, message: bytes) -> bool:
        """Queue one message as a line. False: the peer is a slow reader, and the message is not queued."""
        if _LF in message or _CR in message:
            message = message.translate(_NEWLINES)
        size = len(message) + 1
        pieces = self._pieces
        if not pieces:
            self._loop.call_soon(self.flush)
            self._behind = self._most = self._sink.get_write_buffer_size()
        most = self._most + size
        # `_most` is an upper bound: only near the limit is the transport asked how much really waits.
        if most <= self._limit:
            self._backlog.sent += size
        elif not self._backlog.admit(size):
            return False
        pieces.append(message)
        self._most = most
        return True

    def send_behind(self, message: bytes, most: int) -> bool:
        """Queue one message as a line where no more than so many bytes wait with it, and the peer takes more; else False."""
        if _LF in message or _CR in message:
            message = message.translate(_NEWLINES)
        pieces = self._pieces
        if not pieces:
            self._loop.call_soon(self.flush)
            self._behind = self._most = self._sink.get_write_buffer_size()
        size = len(message) + 1
        behind = self._most + size
        if behind > most or behind > self._limit:
            return False
        pieces.append(message)
        self._most = behind
        self._backlog.sent += size
        return True

    def refuse(self) -> None:
        """Take nothing more by `send_behind`; nobody calls `send` from now on."""
        self._limit = -1

    def flush(self) -> None:
        """Write what is queued now instead of at the end of the turn."""
        pieces = self._pieces
        if not pieces:
            return
        pieces.append(b"")
        data = b"\n".join(pieces)
        pieces.clear()
        self._behind = self._most = 0
        if not self._sink.is_closing():
            self._sink.write(data)

    def stop(self) -> None:
        """The peer need not read any more: it is gone, or on its way out under somebody else's deadline."""
        self._backlog.stop()

    def waiting(self) -> int:
        """Bytes that the peer has not taken yet."""
        return self._most - self._behind + self._sink.get_write_buffer_size()
