"""`WebSocketConnection` (server): uvicorn's protocol with input limits, write queue; by `Direct` an app hands it to a `Receiver` and may end.

An application may take a connection over (`Direct`): it is found in the scope's extensions as `DIRECT`. From then on
messages are handed to a receiver as they arrive, frames are written that were encoded for many connections at once, and
neither the application's task nor anything else of the handshake is kept: ten thousand silent connections are cheap.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from typing import Any, Literal, Protocol, cast

from uvicorn.config import Config
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.exceptions import InvalidState
from websockets.frames import Frame, Opcode
from websockets.http11 import Request

from gatewright.transport.base import Limits, Receiver
from gatewright.transport.connection_limits import Seat
from gatewright.transport.http_server_state import Serving
from gatewright.transport.read_turns import read_or_not
from gatewright.transport.slow_senders import LOOK_S
from gatewright.transport.websocket import BROKEN_TEXT, NOT_UTF8, closing_reason
from gatewright.transport.websocket_intake import EXCUSED, Intake
from gatewright.transport.write_queue import WriteQueue
from gatewright.web.utf8 import is_utf8

__all__ = ["DIRECT", "Direct", "WebSocketConnection", "text_frame"]

CLOSING_S = 2.0
"""How long the peer may take to answer a closing frame."""

DIRECT = "gatewright.direct"
"""The extension of the ASGI scope that has the connection itself."""

SEND_BUFFER_BYTES = 64 * 1024
"""What the system may hold for the peer of a connection that was taken over (Linux doubles it). Left alone it grows to
megabytes, thousands of times over, for peers that never read."""

QUEUED = 32
LARGE_BYTES = 16 * 1024
"""So many messages wait for the application, or one that is so long, before no more are parsed."""

UNSUPPORTED_DATA = 1003
POLICY_VIOLATION = 1008

_AFTER_THE_UPGRADE = ("websocket.send", "websocket.close")


def text_frame(message: bytes) -> bytes:
    """One text message as a server writes it. The same bytes are good for every connection without extensions."""
    return Frame(Opcode.TEXT, message).serialize(mask=False)


class Direct(Protocol):
    """A connection that can be taken over."""

    @property
    def outlet(self) -> WriteQueue:
        """Where frames of `text_frame` are written to, once the upgrade was accepted."""

    def take_over(self, receiver: Receiver, burst_bytes: int) -> None:
        """From now on messages go to `receiver`, and at most `burst_bytes` wait for the peer at any one moment;
        `receiver` is told when the peer is cut off. Call it once the upgrade was accepted."""

    def leave(self, code: int, reason: str) -> None:
        """Say goodbye. What was written before still leaves, unless the peer does not read."""


class _NotCancelled(logging.Filter):
    """A request that is cancelled when the server stops did not fail."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


flood_log = logging.getLogger("gatewright.floods")
log = logging.getLogger(__name__)
log.setLevel(logging.ERROR)
log.addFilter(_NotCancelled())


class _Nowhere(asyncio.Queue[Any]):
    """Where events go that no application waits for."""

    def put_nowait(self, item: Any) -> None:
        """Forget it: the receiver is told otherwise."""


_NOWHERE = _Nowhere()

_WRITABLE = asyncio.Event()
"""The `writable` of every connection that was taken over: what may be written to it is up to its `WriteQueue`."""
_WRITABLE.set()


class WebSocketConnection(WebSocketsSansIOProtocol):
    """A connection after its upgrade."""

    def __init__(
        self,
        config: Config,
        server_state: Serving,
        app_state: dict[str, Any],
        *,
        limits: Limits,
        seat: Seat,
    ) -> None:
        super().__init__(config, server_state, app_state)
        self.logger = log
        self.close_timeout = CLOSING_S
        self._limits = limits
        seat.holder = None  # it may be silent for days
        self._seat = seat
        self._ends: Literal["", "lost", "over"] = ""
        self._receiver: Receiver | None = None
        self._looked: bytes | None = None
        """What the last ping asked for whose answer was looked for behind the time."""
        self._excused: tuple[bytes, ...] = ()
        """What pings asked that were not answered in time, the oldest first."""
        self._serving = server_state
        self._intake = Intake(
            server_state.turns, self.loop.time, self._parse, self._flow, self._flooded
        )

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._reads = True
        self.outlet = WriteQueue(self.transport, self._limits)

    def eof_received(self) -> bool:  # type: ignore[override]  # uvicorn has None, asyncio both
        """The client says no more. It is closed when its turn comes: to close thousands takes the loop itself long enough."""
        if self.scheme == "wss":
            return False  # TLS knows no half-closed connection
        self._serving.farewells.want(self)
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        self._ends = "lost"
        self._intake.stop()
        self.outlet.stop()
        self.outlet.close()
        self.stop_keepalive()
        self.disconnected = True
        self._seat.leave()
        # Ten thousand may leave in one turn of the loop, and most of what that takes is here and in what it wakes.
        self._serving.farewells.want(self)

    def work(self) -> None:
        """For `ReadTurns`: close the connection, or do what is left to do once it is lost."""
        if (
            self._ends != "lost"
        ):  # it may have been told here twice, by its client's last word and by its loss
            self.transport.close()
            return
        self._ends = "over"
        super().connection_lost(None)  # it makes no difference by what it was lost
        # The library's parser is a generator that has itself, and its failure has this in its traceback: for the collector.
        self.conn.parser.close()
        self.conn.parser_exc = self.conn.handshake_exc = None
        receiver, self._receiver = self._receiver, None
        if receiver is not None:
            receiver.closed("closed")
        self._serving.gone()

    def pause_writing(self) -> None:
        if self._receiver is not None:
            self.outlet.pause()
        else:
            super().pause_writing()
            self.outlet.paused()

    def resume_writing(self) -> None:
        if self._receiver is not None:
            self.outlet.resume()
        else:
            super().resume_writing()
            self.outlet.stop()

    def send_500_response(self) -> None:
        if not self.disconnected:
            super().send_500_response()

    def shutdown(self) -> None:
        if self.disconnected:  # its turn comes, though nothing can be said any more
            return
        self.outlet.finish()
        with contextlib.suppress(InvalidState):  # it is closing already, and ends by itself
            super().shutdown()

    def handle_close(self, event: Frame) -> None:
        self.outlet.finish()
        super().handle_close(event)

    def keepalive_timeout(self) -> None:
        asked = self.pending_ping_payload
        if asked != self._looked and self._intake.hurry():
            self._looked = asked  # the answer may have come while it rested: once for each ping
            self.pong_timer = self.loop.call_later(LOOK_S, self.keepalive_timeout)
            return
        if self._intake.late(self._limits.ping_interval_s):
            if self.pending_ping_payload is not None:
                self._excused = (*self._excused, self.pending_ping_payload)[-EXCUSED:]
            super().send_keepalive_ping()  # its answer may stand behind what waits for its turn here
            return
        super().keepalive_timeout()
        self.transport.abort()  # who does not answer a ping does not take what is left either

    def send_keepalive_ping(self) -> None:
        self._answered(len(self._excused))  # and the one before, or there was none
        super().send_keepalive_ping()

    def handle_pong(self, event: Frame) -> None:
        # An answer that comes late is one: behind as much as came before it, a slow peer never catches up with the newest ping.
        if self._excused and event.data in self._excused:
            self._answered(self._excused.index(bytes(event.data)) + 1)
        super().handle_pong(event)

    def _answered(self, count: int) -> None:
        self._excused = self._excused[count:]
        self._intake.answered()

    def data_received(self, data: bytes) -> None:
        if self.handshake_initiated:
            self._intake.take(data)
            return
        end = data.find(b"\r\n\r\n") + 4
        self._parse(data[:end])
        if len(data) > end:
            self._intake.take(data[end:])

    def _parse(self, data: bytes) -> None:
        try:
            super().data_received(data)
        except BaseException:
            # As asyncio does where it parses itself. Of a turn nobody else would end it: it would not be read any more, for ever.
            self.transport.abort()
            raise
        if self.conn.handshake_exc is not None and not self.handshake_initiated:
            # The library has limits of its own and an answer (414, 431) that uvicorn does not send.
            self.handshake_initiated = self.handshake_complete = self.close_sent = True
            said = b"".join(self.conn.data_to_send())
            self.transport.write(said or b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n")
            self.transport.close()

    def handle_parser_exception(self) -> None:
        if self.conn.close_sent is None:
            # Garbage behind an upgrade that is not answered yet: there is nobody to say goodbye to.
            self.transport.abort()
        else:
            self.outlet.finish()
            super().handle_parser_exception()

    # -- what is read, and when

    def _flow(self, on: bool) -> None:
        self._reads = read_or_not(self.transport, self._reads, on)

    async def receive(self) -> Any:
        if self.queue.empty():
            self._intake.hold(held=not self.handshake_complete)
        return await self.queue.get()

    def _flooded(self, reason: str) -> None:
        """The client sends what nobody may. It is told why, and what it goes on to send is read and forgotten."""
        self._serving.flooded += 1
        flood_log.warning("a WebSocket of %s was closed: %s", (self.client or ("?",))[0], reason)
        self.stop_keepalive()
        self._end(POLICY_VIOLATION, reason)
        self._flow(True)

    def _end(self, code: int, reason: str) -> None:
        """The client is sent away for what it sent, and the application, where there is one yet, is told."""
        if self._receiver is None and not self.close_sent:
            end = {"type": "websocket.disconnect", "code": code, "reason": reason}
            self.queue.put_nowait(cast("Any", end))
        self.leave(code, reason)

    async def send(self, message: Any) -> None:
        if message["type"] == "websocket.close" and not self.writable.is_set():
            # The peer does not read: a closing frame would wait behind all that it does not take.
            self.transport.abort()
            return
        await self.writable.wait()
        if self.close_sent and message["type"] in _AFTER_THE_UPGRADE:
            # The end came first (a frame over the limit, a flood): no failure of the application, which hears of it.
            raise ClientDisconnected
        await super().send(message)
        if message["type"] == "websocket.accept":
            self._intake.hold(held=not self.handshake_complete)
        elif self.close_timer is not None:
            self._intake.hold(
                held=False
            )  # what is left is forgotten, up to the peer's closing frame

    # -- taken over

    def handle_connect(self, event: Request) -> None:
        super().handle_connect(event)
        if hasattr(self, "scope"):  # the handshake is in order
            cast("dict[str, Any]", self.scope["extensions"])[DIRECT] = self

    async def run_asgi(self) -> None:
        """Run the application. A connection that it takes over outlives it."""
        try:
            await self.app(self.scope, self.receive, self.send)
        except ClientDisconnected:
            pass  # it left, which is no failure
        except BaseException:
            self.logger.exception("Exception in ASGI application\n")
            self.send_500_response()
        else:
            if self._receiver is not None:
                return
            if not self.handshake_complete:
                self.send_500_response()
        finally:
            # The scope has this connection in it (`DIRECT`); nobody asks for these once the application has ended.
            for name in ("scope", "request", "response"):
                self.__dict__.pop(name, None)
        if self.close_timer is None:
            self.transport.close()

    def take_over(self, receiver: Receiver, burst_bytes: int) -> None:
        sock = self.transport.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
        early, self.queue = self.queue, _NOWHERE
        # What only the handshake needed; with thousands of connections it would be most of the memory.
        del self.scope, self.request, self.response
        if self.disconnected:
            self.loop.call_soon(receiver.closed, "closed by the peer")
            return
        self._receiver = receiver
        self.writable = _WRITABLE
        self.outlet.hold(burst_bytes)
        while not early.empty():
            event = early.get_nowait()
            if event["type"] == "websocket.receive":
                self.frames = [(event.get("text") or "").encode() or event.get("bytes") or b""]
                self.send_receive_event_to_app()
        self._intake.hold(held=False)

    def send_receive_event_to_app(self) -> None:
        receiver = self._receiver
        data = self.frames[0] if len(self.frames) == 1 else b"".join(self.frames)
        if receiver is None:
            if self.curr_msg_data_type == "text" and not is_utf8(data):
                self.frames = []
                self._end(NOT_UTF8, BROKEN_TEXT)  # uvicorn would log each with a traceback
                return
            large = len(data) > LARGE_BYTES
            self.frames = [data]
            # It is the intake that says when to read: uvicorn neither pauses here nor resumes past it after a closing frame.
            self.read_paused = True
            super().send_receive_event_to_app()
            self.read_paused = False
            if self.close_sent:
                return
            if large or self.queue.qsize() >= QUEUED:
                self._intake.hold(held=True)
            return
        self.frames = []
        # What comes behind our closing frame is not listened to (RFC 6455 §5.5.1).
        if self.close_sent:
            return
        if self.curr_msg_data_type != "text":
            self.leave(UNSUPPORTED_DATA, "a binary frame; messages are text")
        elif not is_utf8(data):
            self.leave(NOT_UTF8, BROKEN_TEXT)
        else:
            receiver.message(bytes(data))

    def leave(self, code: int, reason: str) -> None:
        if self.close_sent or self.transport.is_closing():
            return
        if self.outlet.is_stuck:
            self.transport.abort()
            return
        self.outlet.finish()
        self.conn.send_close(code, closing_reason(reason))
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent = True
        self.close_timer = self.loop.call_later(self.close_timeout, self.transport.close)
