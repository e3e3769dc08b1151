"""What an HTTP client sends, parsed a little at a time and in turns with all other connections.

One read brings up to 256 KiB, and with them fifty thousand chunks of one byte or thousands of empty lines. Each costs the parser as
much as a large one, so what is more than a little stands in line (`websocket_intake.Turns`); nothing more is read meanwhile.
"""

from __future__ import annotations

import asyncio
from typing import cast

from gatewright.transport.websocket_intake import Turns

__all__ = ["SLICE_BYTES", "Sliced"]

SLICE_BYTES = 4096


class Sliced(asyncio.Protocol):
    """The base of a connection that parses in `feed`."""

    transport: asyncio.Transport
    _paused: bool
    """Whether the connection itself wants nothing read now."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._rest: bytes = b""
        self._at = 0

    def feed(self, data: bytes) -> None:
        """Parse what came."""
        raise AssertionError("a connection says how it parses")

    def data_received(self, data: bytes) -> None:
        if self._rest:
            self._rest = self._rest[self._at :] + data
            self._at = 0
        elif len(data) <= SLICE_BYTES:
            self.feed(data)
        else:
            self._rest, self._at = data, 0
            self.transport.pause_reading()
            self._turns.want(self)

    def forget(self) -> None:
        """The connection is gone."""
        self._rest = b""

    def work(self) -> None:
        """It is this connection's turn (`Turns`)."""
        rest = self._rest
        if not rest:
            return
        piece = rest[self._at : self._at + SLICE_BYTES]
        self._at += len(piece)
        self.feed(piece)
        if not self._rest:
            return  # it is gone
        heir = self.transport.get_protocol()
        if heir is not self:
            rest, self._rest = self._rest[self._at :], b""
            self.transport.resume_reading()
            if rest:
                cast("asyncio.Protocol", heir).data_received(rest)
        elif self._at < len(self._rest):
            self._turns.want(self)
        else:
            self._rest = b""
            if not self._paused and not self.transport.is_closing():
                self.transport.resume_reading()
