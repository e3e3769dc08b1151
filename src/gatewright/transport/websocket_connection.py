"""A client's connection after its upgrade: uvicorn's WebSocket protocol, and the limits it lacks.

Here is also `Patience`, which is all that HTTP and WebSocket connections have in common: a client that does not take
what is written to it loses its connection.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from uvicorn.config import Config
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState

from gatewright.transport.base import Limits

__all__ = ["Patience", "WebSocketConnection"]

CLOSING_S = 2.0
"""How long the peer may take to answer a closing frame."""


class _NotCancelled(logging.Filter):
    """A request that is cancelled when the server stops did not fail."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


log = logging.getLogger(__name__)
log.setLevel(logging.ERROR)
log.addFilter(_NotCancelled())


class Patience:
    """Sees to it that a client takes what is written to it, or loses its connection."""

    __slots__ = ("_before", "_limits", "_loop", "_timer", "_transport")

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
        self.close_timeout = CLOSING_S
        self._limits = limits
        self._gone = gone

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._patience = Patience(self.transport, self._limits)

    def connection_lost(self, exc: Exception | None) -> None:
        self._patience.stop()
        super().connection_lost(exc)
        self._gone()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._patience.paused()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._patience.stop()

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
