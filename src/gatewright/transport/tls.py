"""Serves TLS on accepted connections: decrypts 8 KiB a step, and pauses reading from clients that send many small records.

asyncio reads up to 256 KiB and decrypts all of it in one step. A record of one byte has 23 bytes on the wire and costs as much as one of a
kilobyte, so one client, before anybody knows who it is, could hold everybody for as long as it likes, a tenth of a second at a time. Here a
step has a few kilobytes; the heads of its records are counted (RFC 8446 §5.1), and who sends many small ones is read again only after all who do
have rested, together three times as long as their records cost.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from asyncio.sslproto import SSLProtocol, SSLProtocolState, _SSLProtocolTransport
from collections.abc import Callable
from typing import Any

__all__ = ["FEW", "READ_BYTES", "Pace", "Records", "secured"]

READ_BYTES = 8 * 1024
FEW = 32
"""So many records of one step cost nothing: who writes a line at a time sends no more."""
_A_RECORD_S = 10e-6
_REST = 3
"""What one record costs in seconds, and so many times as long its sender is not read."""
_HEAD = 5
"""Bytes of a record's head: type, version, and the length of what follows (RFC 8446 §5.1)."""


class Records:
    """Counts the records of one stream by their heads."""

    __slots__ = ("_head", "_left")

    def __init__(self) -> None:
        self._head = bytearray()
        self._left = 0

    def count(self, data: memoryview) -> int:
        """How many begin in the next piece of the stream."""
        at, end, found = 0, len(data), 0
        while at < end:
            if self._left:
                step = min(self._left, end - at)
                self._left -= step
                at += step
                continue
            piece = data[at : at + _HEAD - len(self._head)]
            found += not self._head
            self._head += piece
            at += len(piece)
            if len(self._head) == _HEAD:
                self._left = int.from_bytes(self._head[3:])
                self._head.clear()
        return found


class Pace:
    """When the connections of one loop that send many small records are read again: one after the other."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._free_at = 0.0

    def rest(self, records: int, resume: Callable[[], None]) -> None:
        """Call `resume` when it is this connection's turn, which sent so many."""
        cost = records * _A_RECORD_S
        self._free_at = max(self._loop.time(), self._free_at) + (1 + _REST) * cost
        self._loop.call_at(self._free_at, resume)


class _Transport(_SSLProtocolTransport):
    def close(self) -> None:
        # asyncio's own forgets its protocol the second time: it can be neither asked what it has to write nor aborted any more.
        if not self._closed:
            super().close()


class _Secured(SSLProtocol):
    # asyncio's own name: how much it reads and decrypts in one step.
    max_size = READ_BYTES
    # And these: whether it reads no more, as nobody takes what it decrypts; and whether nobody does.
    _ssl_reading_paused: bool
    _app_reading_paused: bool
    _state: SSLProtocolState
    _app_transport_created: bool
    _wire: Any
    _pace: Pace
    _records: Records
    _paced = False

    def _get_app_transport(self) -> Any:
        if not self._app_transport_created:
            self._app_transport, self._app_transport_created = _Transport(self._loop, self), True
        return super()._get_app_transport()  # type: ignore[misc]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._wire = transport
        super().connection_made(transport)

    def get_buffer(self, n: int) -> memoryview:
        self._came: memoryview = super().get_buffer(n)
        return self._came

    def buffer_updated(self, nbytes: int) -> None:
        count = self._records.count(self._came[:nbytes])
        super().buffer_updated(nbytes)
        if count > FEW and not self._wire.is_closing():
            self._paced = True
            self._wire.pause_reading()
            self._pace.rest(count, self._resume)

    def _resume(self) -> None:
        self._paced = False
        # While nobody takes what was decrypted, asyncio has stopped reading as well, and does not say so otherwise.
        if not self._ssl_reading_paused and not self._wire.is_closing():
            self._wire.resume_reading()

    def _control_ssl_reading(self) -> None:
        super()._control_ssl_reading()  # type: ignore[misc]
        if self._paced:  # it goes on by itself once somebody takes what was decrypted
            self._wire.pause_reading()

    def _start_shutdown(self) -> None:
        """What the client sent and nobody took keeps no connection open: asyncio would wait for ever for who takes it, where the
        client has left, and not read the client's goodbye."""
        left = self._state is SSLProtocolState.FLUSHING
        super()._start_shutdown()
        if left and self._app_reading_paused:
            self._do_flush()  # type: ignore[attr-defined]
        elif self._ssl_reading_paused and not self._wire.is_closing():
            self._ssl_reading_paused = False
            self._wire.resume_reading()


async def secured(
    accepted: socket.socket,
    protocol: asyncio.BaseProtocol,
    context: ssl.SSLContext,
    pace: Pace,
    *,
    handshake_s: float,
) -> None:
    """Lead a connection to a protocol, once its handshake is done. Raises `OSError`."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()
    made = _Secured(
        loop,
        protocol,
        context,
        done,
        server_side=True,
        ssl_handshake_timeout=handshake_s,  # type: ignore[arg-type]
    )
    made._pace, made._records = pace, Records()
    # Else a quarter of a megabyte would still be read, a wake-up for each piece, of who is not to be read.
    made._set_read_buffer_limits(1, 0)  # type: ignore[attr-defined]
    transport, _ = await loop.connect_accepted_socket(lambda: made, accepted)
    try:
        await done
    except BaseException:
        transport.abort()
        raise
