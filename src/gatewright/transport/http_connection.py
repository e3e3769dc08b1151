"""One connection of a client, HTTP or WebSocket: uvicorn's protocols, and the limits they lack.

uvicorn waits for ever for a header block that never ends, holds one of any size, reads a body that nobody wants as
slowly as the client likes, and keeps an answer for a client that never takes it. Here each of those has a limit.
What the client did wrong is answered with a status where an answer can still be understood, and with a closed
connection where not; neither is worth a line in the log, because a stranger decides how many lines that would be.

Three clocks, of which at most one of the first two runs: a header block begun must end (`header_timeout_s`), a body
begun must end (`body_timeout_s`), and a client that leaves more than `queue_bytes` unread must read (`patience_s`).
Between two requests uvicorn's own clock runs (`keep_alive_s`).
"""

from __future__ import annotations

import asyncio
import http
import logging
from collections.abc import Callable
from functools import partial
from typing import Any, cast

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState

from gatewright.transport.base import Limits

__all__ = ["HttpConnection", "WebSocketConnection"]

BODY_MARGIN_S = 2.0
"""How much longer than `read_body` the connection itself waits, so that whoever reads the body can answer."""
LINGER_S = 2.0
"""How long input is still read, and forgotten, after it was answered: closing at once could destroy the answer."""


class _NotCancelled(logging.Filter):
    """A request that is cancelled when the server stops did not fail."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


log = logging.getLogger(__name__)
log.setLevel(logging.ERROR)
log.addFilter(_NotCancelled())


class _Refused(Exception):  # noqa: N818 - stops the parser; never seen outside
    pass


class _Reading:
    """Sees to it that a client takes what is written to it, or loses its connection."""

    def __init__(self, transport: asyncio.Transport, limits: Limits) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport = transport
        self._limits = limits
        self._before = 0
        self._timer: asyncio.TimerHandle | None = None
        transport.set_write_buffer_limits(high=limits.queue_bytes, low=limits.queue_bytes)

    def paused(self) -> None:
        """More than `queue_bytes` are waiting."""
        self.stop()
        self._before = self._transport.get_write_buffer_size()
        self._timer = self._loop.call_later(self._limits.patience_s, self._look)

    def stop(self) -> None:
        """The client reads, or is gone."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        if self._before - self._transport.get_write_buffer_size() < self._limits.queue_bytes:
            self._transport.abort()
        else:
            self.paused()


class HttpConnection(HttpToolsProtocol):
    """A connection that speaks HTTP, until perhaps it is upgraded. `gone` is called when it is lost."""

    def __init__(
        self, config: Config, state: ServerState, limits: Limits, gone: Callable[[], None]
    ) -> None:
        super().__init__(config, state, {})
        self.logger = log
        self.access_log = False
        idle: Any = limits.keep_alive_s  # uvicorn says whole seconds, and does not need them
        self.timeout_keep_alive = idle
        upgraded: Any = partial(WebSocketConnection, limits=limits, gone=gone)
        self.ws_protocol_class = upgraded
        self._limits = limits
        self._gone = gone
        self._clock: asyncio.TimerHandle | None = None
        self._in_head = True
        self._in_body = False
        self._began = False
        self._heads = 0
        self._head_bytes = 0
        self._refusal: http.HTTPStatus | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(cast("asyncio.Transport", transport))
        self._reading = _Reading(self.transport, self._limits)
        self._start_clock(self._limits.header_timeout_s, self._head_is_late)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_clock()
        self._reading.stop()
        super().connection_lost(exc)
        self._unset_keepalive_if_required()
        self._gone()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._reading.paused()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._reading.stop()

    # -- what arrives

    def data_received(self, data: bytes) -> None:
        if self._refusal is not None:
            return
        only_head = self._in_head
        self._heads = 0
        super().data_received(data)
        if self.is_refused():
            return
        if self._in_head:
            if only_head and not self._heads:
                self._head_goes_on(len(data))
            elif self._began:
                self._head_goes_on(1)
        elif self._in_body and self._clock is None:
            self._start_clock(self._limits.body_timeout_s + BODY_MARGIN_S, self._body_is_late)

    def is_refused(self) -> bool:
        """Whether the client did something after which nothing more is read."""
        return self._refusal is not None

    def _head_goes_on(self, size: int) -> None:
        """Bytes arrived, and the header block is still not whole."""
        self._head_bytes += size
        if self._head_bytes > self._limits.header_bytes:
            self._refuse(http.HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        elif self._clock is None:
            self._start_clock(self._limits.header_timeout_s, self._head_is_late)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._began = True

    def on_headers_complete(self) -> None:
        self._stop_clock()
        self._in_head = self._began = False
        self._heads += 1
        self._head_bytes = 0
        size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if size > self._limits.header_bytes:
            self._refusal = http.HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
            raise _Refused
        super().on_headers_complete()
        self._in_body = True

    def on_message_complete(self) -> None:
        self._stop_clock()
        self._in_body = False
        self._in_head = True
        super().on_message_complete()
        cycle: RequestResponseCycle | None = self.cycle  # none yet where an upgrade comes first
        if cycle is not None and cycle.response_complete:
            # It was answered before its end, and uvicorn's clock for idle connections stopped since.
            self._start_clock(self._limits.header_timeout_s, self._head_is_late)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._in_body and not self.transport.is_closing():
            self._stop_clock()
            self._start_clock(LINGER_S, self.transport.close)

    def handle_websocket_upgrade(self) -> None:
        self._stop_clock()
        self._reading.stop()
        super().handle_websocket_upgrade()

    # -- what is refused

    def send_400_response(self, msg: str) -> None:
        """uvicorn calls this for everything its parser stumbles over, our own refusals among it."""
        self._refuse(self._refusal or http.HTTPStatus.BAD_REQUEST)

    def _head_is_late(self) -> None:
        if self._head_bytes:
            self._refuse(http.HTTPStatus.REQUEST_TIMEOUT)
        else:
            self.transport.close()

    def _body_is_late(self) -> None:
        cycle = self.cycle
        cycle.disconnected = (
            True  # whoever waits for the body learns it, and may answer nobody any more
        )
        cycle.message_event.set()
        self._refuse(http.HTTPStatus.REQUEST_TIMEOUT, answered=cycle.response_started)

    def _refuse(self, status: http.HTTPStatus, *, answered: bool | None = None) -> None:
        """Say `status` where no other answer is on its way, and close."""
        self._refusal = status
        self._stop_clock()
        if self.transport.is_closing():
            return
        if answered is None:
            cycle: RequestResponseCycle | None = self.cycle
            answered = cycle is not None and not cycle.response_complete
        if not answered:
            text = status.phrase.encode()
            self.transport.write(
                b"HTTP/1.1 %d %b\r\nconnection: close\r\ncontent-type: text/plain\r\n"
                b"content-length: %d\r\n\r\n%b" % (status, text, len(text), text)
            )
        if answered or not self.transport.can_write_eof():
            self.transport.close()
            return
        # Closing with input unread would make the system reset the connection and lose the answer.
        self.transport.write_eof()
        self._start_clock(LINGER_S, self.transport.close)

    # -- clocks

    def _start_clock(self, seconds: float, action: Callable[[], None]) -> None:
        self._clock = self.loop.call_later(seconds, action)

    def _stop_clock(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None


class WebSocketConnection(WebSocketsSansIOProtocol):
    """A connection after its upgrade."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        *,
        limits: Limits,
        gone: Callable[[], None],
    ) -> None:
        super().__init__(config, server_state, app_state)
        self.logger = log
        self.close_timeout = LINGER_S
        self._limits = limits
        self._gone = gone

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._reading = _Reading(self.transport, self._limits)

    def connection_lost(self, exc: Exception | None) -> None:
        self._reading.stop()
        super().connection_lost(exc)
        self._gone()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._reading.paused()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._reading.stop()

    def keepalive_timeout(self) -> None:
        super().keepalive_timeout()
        self.transport.abort()  # who does not answer a ping does not take what is left either

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.handshake_exc is not None and not self.handshake_initiated:
            # The library has limits of its own and an answer (414, 431) that uvicorn does not send.
            self.handshake_initiated = self.handshake_complete = self.close_sent = True
            said = b"".join(self.conn.data_to_send())
            self.transport.write(said or b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n")
            self.transport.close()

    async def send(self, message: Any) -> None:
        if message["type"] == "websocket.close" and not self.writable.is_set():
            # The peer does not read: a closing frame would wait behind all that it does not take.
            self.transport.abort()
            return
        await super().send(message)
