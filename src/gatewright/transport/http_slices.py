"""`Sliced`, base of HTTP and TCP connections: parses input 4 KiB a turn, pauses reading meanwhile, leaves the rest to an upgraded protocol.

One read brings up to 256 KiB, and with them fifty thousand chunks of one byte or thousands of empty lines. Each costs the parser as
much as a large one, so what is more than a little stands in line (`read_turns.ReadTurns`); nothing more is read meanwhile. So does a little
that comes when others took the time of the turn: of two thousand clients that connect in one moment each has a head to be parsed.
"""

from __future__ import annotations

import asyncio
from time import perf_counter
from typing import Any, cast

from gatewright.transport.read_turns import ReadTurns
from gatewright.transport.slow_senders import Pieces

__all__ = ["SLICE_BYTES", "Sliced"]

SLICE_BYTES = 4096


class Sliced(asyncio.Protocol):
    """The base of a connection that parses in `feed`."""

    transport: Any
    """None where it is gone and the connection says so."""
    _paused: bool
    """Whether the connection itself wants nothing read now."""

    def __init__(self, turns: ReadTurns) -> None:
        self._turns = turns
        self._pieces = Pieces(turns.now)
        self._rest: bytes = b""
        self._at = 0
        self._stops = False  # once what came is parsed

    def feed(self, data: bytes) -> None:
        """Parse what came."""
        raise AssertionError("a connection says how it parses")

    def data_received(self, data: bytes) -> None:
        if self._rest:
            self._rest = self._rest[self._at :] + data
            self._at = 0
        elif len(data) <= SLICE_BYTES and (turns := self._turns).has_time:
            began = perf_counter()
            try:
                self.feed(data)
            finally:
                turns.spend(perf_counter() - began)
        else:
            self._rest, self._at = data, 0
            if self.transport is not None:
                self.transport.pause_reading()
            self._turns.want(self)

    def came(self, size: int, *, partial: bool) -> None:
        """So many bytes came, and what they belong to has not ended (`partial`): read on later, where that is slow."""
        # Also of what stood in line: in a crowd nearly all do. The last slice of a larger piece follows on one that is not small.
        slow = self._pieces.came(size, partial=partial and not self._paused)
        if slow and not (self.transport is None or self.transport.is_closing()):
            self.transport.pause_reading()
            self._turns.slow.rest(self)

    def stops_later(self) -> bool:
        """Whether something came that stands in line: it came in time. Once it is parsed, whoever has the transport then is told to
        `shutdown`."""
        self._stops = bool(self._rest)
        return self._stops

    def eof_received(self) -> bool | None:
        """TLS tells the end also while nothing is read: what stands in line came before it."""
        self.parse_rest()
        return None

    def parse_rest(self) -> None:
        """Parse what stands in line now, all of it: for who will have no turn. Behind TLS it is a few kilobytes."""
        rest, self._rest = self._rest[self._at :], b""
        if rest:
            self._feed(rest)

    def hurry(self, *, in_line: bool) -> bool:
        """Whether something came that is parsed soon: it stands in line, where that counts, or waits for a rest to end, which now ends
        before all others."""
        return (in_line and bool(self._rest)) or self._turns.slow.hurry(self)

    def awake(self) -> None:
        """The connection wants to read again, whether it rested or did not want to."""
        self._paused = False
        self._turns.slow.leave(self)
        self.read_on()

    def woken(self) -> None:
        """It has rested (`SlowSenders`)."""
        transport = self.transport
        if not (self._paused or transport is None or transport.is_closing()):
            self.read_on()

    def forget(self) -> None:
        """The connection is gone."""
        self._rest = b""
        self._turns.slow.leave(self)

    def read_on(self) -> None:
        """The connection wants to read again: at once, or behind what came already, or when it has rested."""
        if not (self._rest or self in self._turns.slow):
            self.transport.resume_reading()

    def hand_over(self, heir: asyncio.Protocol) -> None:
        """Leave the transport to `heir`, who finds it reading and says from now on whether it does; `heir` is given what is left."""
        self.transport.resume_reading()
        self.transport.set_protocol(heir)

    def work(self) -> None:
        """It is this connection's turn (`ReadTurns`)."""
        self._parse_slice()
        if self._stops and not self._rest:
            self._stops = False
            if self.transport is not None and not self.transport.is_closing():
                self.transport.get_protocol().shutdown()

    def _parse_slice(self) -> None:
        rest = self._rest
        if not rest:
            return
        piece = rest[self._at : self._at + SLICE_BYTES]
        self._at += len(piece)
        self._feed(piece)
        transport = self.transport
        if not self._rest or transport is None:
            return  # it is gone
        heir = transport.get_protocol()
        if heir is not self:
            rest, self._rest = self._rest[self._at :], b""
            if rest:
                cast("asyncio.Protocol", heir).data_received(rest)
        elif self._at < len(self._rest):
            self._turns.want(self)
        else:
            self._rest = b""
            if not self._paused and not transport.is_closing():
                self.read_on()  # unless it rests from now on

    def _feed(self, piece: bytes) -> None:
        try:
            self.feed(piece)
        except BaseException:
            # As asyncio does where it parses itself. Of a turn nobody else would end it: it would not be read any more, for ever.
            if self.transport is not None:
                self.transport.abort()
            raise
