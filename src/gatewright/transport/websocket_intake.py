"""`Intake`: parses frames of a WebSocket in fair turns (`ReadTurns`): pauses reading, closes on floods, paces peers that were dialled.

A frame of one byte costs as much to parse as one of a kilobyte, so a client could keep the loop busy for seconds with what
arrives in one read. Here the heads of frames are read (RFC 6455 §5.2), which is cheap, and the parser is given the next few
only when it is this connection's turn. All connections of a loop share the time of a turn. While there is more at hand than was parsed,
nothing more is read from the socket.

Nothing is parsed before the upgrade was answered: who is refused was never listened to.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import perf_counter

from gatewright.transport.read_turns import ReadTurns
from gatewright.transport.slow_senders import Pieces

__all__ = ["EXCUSED", "FRAMES_A_TURN", "Flood", "Intake"]

FRAMES_A_TURN = 2
"""So many frames of one connection, then everything else has its turn: a message that is refused and recorded takes a millisecond."""
FRAMES_PER_S = 5_000.0
FRAMES_BURST = 20_000.0
"""Data frames of one connection. What a client sends beyond is a flood; a peer that was dialled is read no faster."""
PACED_PER_S = 20_000.0
"""Those of a peer that was dialled come back faster: they are those of all callers."""
PACE_S = 0.01
"""How long a peer that was dialled waits where it has used up its data frames: a few hundred come back meanwhile."""
CONTROL_PER_S = 50.0
CONTROL_BURST = 500.0
"""Pings, pongs and the like."""
EXCUSED = 15
"""So many pings in a row may go unanswered while what stands before the answers waits to be parsed. Who answers none for longer is
dead, or never meant to: what keeps coming is no answer."""
FRAGMENTS = 128
FRAGMENT_BYTES = 1024
"""A message may come in so many pieces, and in one more for each kilobyte that it has."""

_CONTROL = 0x8
_FIN = 0x80


class Flood(Exception):  # noqa: N818 - what the client does
    """The client sends more than it may. The text says what, and is the reason of the closing frame."""


class _Allowance:
    """What may come at once, and what comes back of it each second."""

    __slots__ = ("_at", "_burst", "_left", "_per_s")

    def __init__(self, per_s: float, burst: float, now: float) -> None:
        self._per_s, self._burst, self._left, self._at = per_s, burst, burst, now

    def has(self, now: float) -> bool:
        """Whether one more may come."""
        # Each time: what is added later would be for a time in which there was no room for it.
        self._left = min(self._burst, (now - self._at) * self._per_s + self._left)
        self._at = now
        return self._left >= 1.0

    def take(self, now: float) -> bool:
        """One more came; whether it might."""
        might = self.has(now)
        self._left -= 1.0
        return might


class _Frames:
    """Where the frames of a stream begin and end. Raises `Flood`."""

    __slots__ = ("_control", "_data", "_fragments", "_head", "_left", "_paced", "_size")

    def __init__(self, now: float, *, paced: bool) -> None:
        self._paced = paced
        self._head = bytearray()
        self._left = 0  # of the contents of the frame at hand
        self._fragments = 0
        self._size = 0
        self._data = _Allowance(PACED_PER_S if paced else FRAMES_PER_S, FRAMES_BURST, now)
        self._control = _Allowance(CONTROL_PER_S, CONTROL_BURST, now)

    @property
    def begun(self) -> bool:
        """Whether a frame began that has not ended."""
        return bool(self._left or self._head)

    def upto(self, data: bytes, at: int, most: int, now: float) -> int:
        """The index up to which `data` may be parsed, from `at`: at most `most` frames begin in between. That of a peer which is
        paced is `at` itself where it has to wait."""
        head, end = self._head, len(data)
        while at < end:
            if self._left:
                step = min(self._left, end - at)
                self._left -= step
                at += step
                continue
            if not head and (not most or self._early(data[at], now)):
                return at
            missing = _head_bytes(head) - len(head)
            piece = data[at : at + missing]
            head += piece
            at += len(piece)
            if len(head) == _head_bytes(head):
                self._begun(now)
                most -= 1
        return at

    def _early(self, first: int, now: float) -> bool:
        """Whether a frame that begins so is to wait for its allowance."""
        return self._paced and not first & _CONTROL and not self._data.has(now)

    def _begun(self, now: float) -> None:
        head, first, size = self._head, self._head[0], self._head[1] & 0x7F
        if size > 125:
            size = int.from_bytes(head[2 : 4 if size == 126 else 10])
        self._left = size
        head.clear()
        if first & _CONTROL:
            if not self._control.take(now):
                raise Flood(f"more than {CONTROL_PER_S:g} control frames a second")
            return
        if not self._data.take(now):
            raise Flood(f"more than {FRAMES_PER_S:g} frames a second")
        self._fragments += 1
        self._size += size
        if self._fragments > FRAGMENTS + self._size // FRAGMENT_BYTES:
            raise Flood(f"a message in more than {FRAGMENTS} small pieces; send it whole")
        if first & _FIN:
            self._fragments = self._size = 0


def _head_bytes(head: bytearray) -> int:
    """How long the head of a frame is, as far as that is known yet."""
    if len(head) < 2:
        return 2
    size = head[1] & 0x7F
    return 2 + (4 if head[1] & 0x80 else 0) + (2 if size == 126 else 8 if size == 127 else 0)


def _nothing(_: object) -> None:
    """Who has stopped calls nobody."""


class Intake:
    """One connection's. `parse` takes what is to be parsed now, `flow` whether the socket is to be read, `flood` why the client is
    sent away. With `later`, the loop's `call_later`, one that sends more data frames than it may is read more slowly, and not sent away."""

    def __init__(
        self,
        turns: ReadTurns,
        now: Callable[[], float],
        parse: Callable[[bytes], None],
        flow: Callable[[bool], None],
        flood: Callable[[str], None],
        later: Callable[[float, Callable[[], None]], asyncio.TimerHandle] | None = None,
    ) -> None:
        self._turns = turns
        self._now = now
        self._parse = parse
        self._flow = flow
        self._flood = flood
        self._frames = _Frames(now(), paced=later is not None)
        self._later = later
        self._timer: asyncio.TimerHandle | None = None
        self._data = b""
        self._at = 0
        self._waited = float("-inf")
        self._pieces = Pieces(now)
        self._excused = 0
        self._held = True
        self._in_line = False
        self._over = False

    @property
    def waits(self) -> bool:
        """Whether something came that is not parsed yet."""
        return bool(self._data)

    def late(self, within_s: float) -> bool:
        """Whether something that came waits to be parsed, or did within the last seconds, where a ping is not answered. The peer is not
        dead then: its answer may stand behind that, here or in what the system holds. It is believed for `EXCUSED` pings."""
        if not self.waits and self._now() - self._waited >= within_s:
            return False
        self._excused += 1
        return self._excused <= EXCUSED

    def answered(self) -> None:
        """The peer has answered a ping."""
        self._excused = 0

    def take(self, data: bytes) -> None:
        """Bytes came."""
        if self._over:
            return
        if self._data:
            data = self._data[self._at :] + data
        self._data, self._at = data, 0
        self._next()

    def woken(self) -> None:
        """It has rested (`SlowSenders`)."""
        self._next()

    def hurry(self) -> bool:
        """Where it rests: have it read again before all others that rest."""
        return self._turns.slow.hurry(self)

    def hold(self, *, held: bool) -> None:
        """Parse nothing for now, or go on."""
        self._held = held
        self._next()

    def stop(self) -> None:
        """Nothing more is listened to."""
        self._over = True
        self._turns.slow.leave(self)
        # They belong to the connection, which has this: neither would be freed before the collector comes.
        self._parse = self._flow = self._flood = _nothing
        if self._timer is not None:
            self._timer.cancel()
        self._later = self._timer = None
        self._data, self._at = b"", 0

    def _next(self) -> None:
        if self._over:
            return
        if not self._data:
            if self not in self._turns.slow:
                self._flow(True)
            return
        stands = self._held or self._in_line or self._timer is not None
        turns = self._turns
        # A little of each of ten thousand may come in one moment: beyond the time of a turn it stands in line, too.
        if not (stands or self._at) and turns.nobody and turns.has_time:
            # A message or two, as nearly always. Whether to read is asked once they are parsed: to stop and go on costs two calls of the system.
            self._in_line, began = True, perf_counter()
            try:
                self.work()
            finally:
                turns.spend(perf_counter() - began)
            return
        # What is parsed as it comes has not waited: who sends a byte a second, and answers no ping, is cut off.
        if self._at or stands:
            self._waited = self._now()
        self._flow(False)
        if not stands:
            self._in_line = True
            turns.want(self, later=True)  # the messages cost more than their frames

    def work(self) -> None:
        """It is this connection's turn (`ReadTurns`)."""
        self._in_line = False
        if self._over or self._held or not self._data:
            return
        data, at = self._data, self._at
        try:
            end = self._frames.upto(data, at, FRAMES_A_TURN, self._now())
        except Flood as why:
            flood = self._flood
            self._flow(False)
            self.stop()
            flood(str(why))
            return
        if end == at and self._later is not None:
            self._flow(False)
            self._timer = self._later(PACE_S, self._refilled)
            return
        self._at = end
        if end == len(data):
            self._data, self._at = b"", 0
        self._parse(data[at:end] if at or end < len(data) else data)
        self._next()
        if end == len(data) and not self._over:
            self._all_parsed(len(data))

    def _all_parsed(self, size: int) -> None:
        """Read on, or later: whether or not it stood in line, so much came since all was parsed last."""
        slow = self._pieces.came(size, partial=self._frames.begun)
        # A peer that was dialled speaks for all callers, and is no crowd.
        if slow and self._later is None:
            self._flow(False)
            self._turns.slow.rest(self)

    def _refilled(self) -> None:
        self._timer = None
        self._waited = self._now()
        self._next()
