"""TCP/TLS server of newline-delimited messages: a `Pipe` per connection; limits connections, cuts slow readers, drains half-closed ones.

A client that has said everything still gets its answers, as far as it waits for them;
then the connection is closed, because nothing tells such a client from one that is gone. A client that is silent
is the endpoint's affair, one that does not read the slow-reader rule's.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Callable
from typing import Protocol, cast

from gatewright.transport.accept import ArrivalRates, Listener
from gatewright.transport.base import (
    BURST_S,
    FROM_CLIENTS,
    SLOW_READER,
    Closed,
    Limits,
    Pipe,
    Receiver,
)
from gatewright.transport.clear_text import warn_of_clear_text
from gatewright.transport.connection_limits import Seat, Seats, Waits
from gatewright.transport.http_server import listen_on
from gatewright.transport.http_slices import Sliced
from gatewright.transport.line_stream import HALF_A_FRAME, LineInbox, LineOutbox
from gatewright.transport.pipe_ends import End
from gatewright.transport.read_turns import ReadTurns

__all__ = ["Answering", "LineServer", "TcpPipe", "serve_lines"]

CLOSE_GRACE_S = 2.0
"""How long a peer may take to read what was sent before the connection is cut."""

LAST_S = 30.0
"""How long a client that has said everything may wait for its last answers."""


class Answering(Receiver, Protocol):
    """A receiver that knows when it owes no answer any more."""

    async def drained(self) -> None:
        """Wait until everything that was asked is answered."""


Accept = Callable[[Pipe], Answering]
"""Makes the receiver of a new connection, which `Pipe` leads back to."""


async def serve_lines(
    accept: Accept,
    *,
    host: str,
    port: int,
    tls: ssl.SSLContext | None = None,
    limits: Limits = FROM_CLIENTS,
    seats: Seats | None = None,
) -> LineServer:
    """Serve on the running loop. Port 0 takes a free one. `seats` are those of another listener of the process, to share them.
    Raises `CannotListen`."""
    server = LineServer(accept, limits, seats)
    await server.start(host, port, tls)
    return server


class LineServer:
    """A running server. Made by `serve_lines`."""

    def __init__(self, accept: Accept, limits: Limits, seats: Seats | None = None) -> None:
        self._accept = accept
        self._limits = limits
        if seats is None:
            seats = Seats(limits.connections, limits.connections_per_address)
        self._servers: list[Listener] = []
        per_s = limits.connections_per_s
        self._arrivals = ArrivalRates(per_s, per_s * BURST_S, seats)
        self._open: set[TcpPipe] = set()
        self._turns = ReadTurns(asyncio.get_running_loop())
        self.flooded = 0
        """None of its connections is closed for the number of what it sends: lines stand in line."""
        self.port = 0
        self.clear_text: tuple[str, ...] = ()
        """Its addresses that others reach without TLS."""

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None) -> None:
        """Begin to accept. `serve_lines` does this."""
        sockets = await listen_on(host, port)
        self.port = int(sockets[0].getsockname()[1])
        handshake_s = self._limits.header_timeout_s
        self._servers = [
            Listener(one, self._connected, self._arrivals, tls=tls, handshake_s=handshake_s)
            for one in sockets
        ]
        self.clear_text = warn_of_clear_text(sockets, tls=tls is not None)

    def _connected(self, seat: Seat) -> TcpPipe:
        return TcpPipe(self._accept, self._limits, self._open, seat, self._turns)

    @property
    def connections(self) -> int:
        """How many clients are connected."""
        return len(self._open)

    @property
    def refused(self) -> int:
        """How many connections were refused: their address opened too many, or there was no room."""
        return self._arrivals.refused

    async def stop(self) -> None:
        """Accept no more, and close every connection."""
        for server in self._servers:
            server.close()
        pipes = list(self._open)
        for pipe in pipes:
            pipe.close()
        for pipe in pipes:
            await pipe.wait_closed()


class TcpPipe(Sliced):
    """One connection: a `Pipe`. What is read is looked at in slices, in turns with the other connections of the server.

    Reasons of its end: `closed`, `closed by the peer`, `half a frame, then the end`, `slow reader`,
    `a message longer than N bytes`.
    """

    def __init__(
        self, accept: Accept, limits: Limits, among: set[TcpPipe], seat: Seat, turns: ReadTurns
    ) -> None:
        super().__init__(turns)
        self._paused = False
        self._seat = seat
        self._accept = accept
        self._limits = limits
        self._among = among
        self._closing: str | None = None
        self._gone = asyncio.Event()
        self._cutting: asyncio.TimerHandle | None = None
        self._last: asyncio.Task[None] | None = None
        self._made = False

    # -- what asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = self._transport = cast("asyncio.Transport", transport)
        self._among.add(self)
        self._since: float | None = asyncio.get_running_loop().time()
        self._seat.holder = self
        self._outbox = LineOutbox(self._transport, self._limits, lambda: self._cut(SLOW_READER))
        self._receiver = self._accept(self)
        self._end = End(self._receiver)
        self._inbox = LineInbox(self, self._end, self._limits, self._cut)
        self._made = True
        if self._closing is None:
            self._inbox.start()
        else:  # whoever accepted it does not want it
            self._inbox.drop()

    def data_received(self, data: bytes) -> None:
        self._since = None
        super().data_received(data)

    def feed(self, data: bytes) -> None:
        """For `Sliced`."""
        self._inbox.feed(data)
        self.came(len(data), partial=self._inbox.partial)

    def idle_since(self) -> tuple[Waits, float] | None:
        """For `connection_limits.Holder`: idle only until the first byte came."""
        return None if self._since is None else (Waits.FIRST, self._since)

    def give_up(self) -> None:
        """For `connection_limits.Holder`."""
        self._cut("closed for another connection")

    def pause_reading(self) -> None:
        """For `LineInbox`."""
        self._paused = True
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        """For `LineInbox`."""
        self._paused = False
        self.read_on()

    def is_closing(self) -> bool:
        """For `LineInbox`."""
        return self._transport.is_closing()

    def eof_received(self) -> bool:
        self.parse_rest()
        self._inbox.end(self._heard)
        return self._transport.get_extra_info("sslcontext") is None  # TLS knows no half-closed

    def connection_lost(self, exc: Exception | None) -> None:
        self._seat.leave()
        self.forget()
        self._closing = self._closing or "closed by the peer"
        self._outbox.stop()
        self._inbox.drop()
        if self._cutting is not None:
            self._cutting.cancel()
        if self._last is not None:
            self._last.cancel()
        self._among.discard(self)
        self._end.finish(self._closing)
        self._gone.set()

    def _heard(self, half: bool) -> None:
        """Everything was read; answers may still be on their way."""
        if half:
            self._cut(f"{HALF_A_FRAME}, then the end")
        elif self._closing is None:
            self._last = asyncio.get_running_loop().create_task(self._answer_and_close())

    async def _answer_and_close(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LAST_S):
                await self._receiver.drained()
        self._closing = self._closing or "closed by the peer"
        self._leave()

    # -- the pipe

    @property
    def waiting(self) -> int:
        """See `Pipe.waiting`."""
        return self._outbox.waiting()

    def send(self, message: bytes) -> None:
        """Write one message; see `Pipe.send`."""
        if self._closing is not None:
            raise Closed(self._closing)
        if not self._outbox.send(message):
            self._cut(SLOW_READER)
            raise Closed(SLOW_READER)

    def close(self) -> None:
        """Write out what was sent, and close."""
        if self._closing is None:
            self._closing = "closed"
            if self._made:
                self._inbox.drop()
            self._leave()

    def _leave(self) -> None:
        """Write out what is left, in time."""
        self._outbox.flush()
        self._transport.close()
        if self._cutting is None:
            loop = asyncio.get_running_loop()
            self._cutting = loop.call_later(CLOSE_GRACE_S, self._transport.abort)

    async def wait_closed(self) -> str:
        """Wait for the end; the reason."""
        await self._gone.wait()
        return await self._end.wait()

    def _cut(self, reason: str) -> None:
        """End at once."""
        if self._closing is None:
            self._closing = reason
        self._transport.abort()
