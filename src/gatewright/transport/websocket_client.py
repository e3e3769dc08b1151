"""`ClientSide`: `websockets` client connection that parses a server's frames a few per loop turn, within limits; keepalive allows late pongs.

The library parses all of one read at once and answers each ping whether its peer reads or not. Here a peer that was dialled has
the limits that clients have (`websocket_intake`), since it is trusted no more: it may be anybody's tool server or participant. Only
its messages are no flood, however many: those of all callers come over the one connection, which is read more slowly.
"""

from __future__ import annotations

import asyncio
from typing import Any

from websockets.asyncio.client import ClientConnection
from websockets.frames import CloseCode
from websockets.protocol import State

from gatewright.transport.base import SLOW_READER
from gatewright.transport.read_turns import ReadTurns, read_or_not
from gatewright.transport.websocket_intake import Intake

__all__ = ["ANSWERS_MOST", "CLOSE_S", "ClientSide"]

CLOSE_S = 2.0
"""How long a peer may take to answer our closing frame, or to end the connection after its own."""
ANSWERS_MOST = 64 * 1024
"""Bytes of answers to pings that may wait for a peer that does not read."""
_HEAD_END = b"\r\n\r\n"


class ClientSide(ClientConnection):
    """Reads as fast as its turn and its reader allow. `guilt` says why the peer was sent away, where it was."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.guilt = ""
        self._tail = b""
        """What may be the beginning of the end of the response's head."""
        self._unread = 0
        self._reads = True
        self._ending: asyncio.TimerHandle | None = None
        self._intake = Intake(
            ReadTurns(self.loop),
            self.loop.time,
            self._parse,
            self._flow,
            self._flooded,
            self.loop.call_later,
        )

    async def keepalive(self) -> None:
        """Send pings, and end the connection where none is answered: as the library does, except where the peer's answer may stand
        behind messages that wait for their turn here. Then it is asked again."""
        if self.ping_interval is None or self.ping_timeout is None:
            return
        while True:
            await asyncio.sleep(self.ping_interval)
            answer = asyncio.ensure_future(await self.ping())
            # Also one that comes late: a slow peer never catches up with the newest ping.
            answer.add_done_callback(self._answered)
            await asyncio.wait([answer], timeout=self.ping_timeout)
            if answer.done():
                answer.result()
            elif not self._intake.late(self.ping_timeout):
                # Which waits for the end of the connection, and with it this ends.
                async with self.send_context():
                    self.protocol.fail(CloseCode.INTERNAL_ERROR, "keepalive ping timeout")

    def _answered(self, answer: asyncio.Future[float]) -> None:
        if not answer.cancelled() and answer.exception() is None:
            self._intake.answered()

    # -- called by the loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """There is a connection; the library's queue of messages holds the intake, which holds the socket."""
        super().connection_made(transport)
        self.recv_messages.pause = self._look
        self.recv_messages.resume = self._look
        self._intake.hold(held=False)

    def connection_lost(self, exc: Exception | None) -> None:
        """There is none any more."""
        self._intake.stop()
        if self._ending is not None:
            self._ending.cancel()
        super().connection_lost(exc)

    def resume_writing(self) -> None:
        """The peer has read."""
        self._unread = 0
        super().resume_writing()

    def data_received(self, data: bytes) -> None:
        """Bytes came: of the response to the upgrade, then of frames."""
        if self.response is None:
            data = self._after_head(data)
        if data:
            self._intake.take(data)

    def _after_head(self, data: bytes) -> bytes:
        """What stands behind the response of a server that speaks WebSocket from now on."""
        end = (self._tail + data).find(_HEAD_END)
        end = len(data) if end < 0 else end + len(_HEAD_END) - len(self._tail)
        self._tail = (self._tail + data[:end])[1 - len(_HEAD_END) :]
        super().data_received(data[:end])
        if self.response is not None:
            return data[end:]
        if end < len(data):
            super().data_received(data[end:])  # the body of a refusal
        return b""

    # -- called by the intake

    def _parse(self, data: bytes) -> None:
        before = self.transport.get_write_buffer_size()
        try:
            super().data_received(data)
        except BaseException:
            # As asyncio does where it parses itself. Of a turn nobody else would end it.
            self.transport.abort()
            raise
        # Nothing else is written while frames are parsed.
        if self.paused:
            self._unread += max(0, self.transport.get_write_buffer_size() - before)
        if self._unread > ANSWERS_MOST:
            self.guilt = SLOW_READER
            self.transport.abort()
        if self.protocol.state is not State.OPEN:
            self._end_soon()

    def _end_soon(self) -> None:
        """The library itself waits for the end of the connection for ever."""
        if self._ending is None:
            self._ending = self.loop.call_later(CLOSE_S, self.transport.abort)

    def _look(self) -> None:
        # Later: whoever takes a message is in the middle of it.
        self.loop.call_soon(self._held)

    def _held(self) -> None:
        self._intake.hold(held=self.recv_messages.paused)

    def _flow(self, on: bool) -> None:
        self._reads = read_or_not(self.transport, self._reads, on)

    def _flooded(self, reason: str) -> None:
        """It is told why, and what it goes on to send is read and forgotten."""
        if self.protocol.state is State.OPEN:
            self.guilt = reason
            self.protocol.fail(CloseCode.POLICY_VIOLATION, reason)
            self.send_data()
        self._end_soon()
        self._flow(True)
