"""A WebSocket as a pipe: one message a text frame. The server's side speaks ASGI, the client's the
`websockets` library."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from gatewright.transport.base import FROM_CLIENTS, SLOW_READER, Closed, Limits, Receiver

__all__ = ["Accepted", "refuse"]

log = logging.getLogger("gatewright.transport")

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

UNSUPPORTED_DATA = 1003
TRY_AGAIN_LATER = 1013
GOING_AWAY = 1001
NORMAL = 1000


async def refuse(receive: Receive, send: Send, status: int, body: bytes) -> None:
    """Answer the upgrade with an HTTP status: clients fail cleanly then, and wait for ever otherwise."""
    await receive()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "websocket.http.response.start", "status": status, "headers": headers})
    await send({"type": "websocket.http.response.body", "body": body})


class Accepted:
    """The server's side of one connection: a `Pipe`, alive while `serve` runs."""

    def __init__(
        self, receive: Receive, send: Send, receiver: Receiver, limits: Limits = FROM_CLIENTS
    ) -> None:
        self._receive = receive
        self._send = send
        self._receiver = receiver
        self._limits = limits
        self._queue: deque[bytes] = deque()
        self._held = 0
        self._more = asyncio.Event()
        self._closing: tuple[int, str] | None = None
        self._over: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def send(self, message: bytes) -> None:
        """Queue one message. Raises `Closed`, also when this one makes the peer a slow reader."""
        if self._closing is not None:
            raise Closed(self._closing[1])
        if self._held > self._limits.burst_bytes:
            self._close(TRY_AGAIN_LATER, SLOW_READER)
            raise Closed(SLOW_READER)
        self._queue.append(message)
        self._held += len(message)
        self._more.set()

    def close(self) -> None:
        """Close in an orderly way: what was queued still leaves."""
        self._close(NORMAL, "closed")

    def _close(self, code: int, reason: str) -> None:
        if self._closing is None:
            self._closing = code, reason
            self._more.set()

    async def wait_closed(self) -> str:
        """Wait for the end; the reason."""
        return await asyncio.shield(self._over)

    async def serve(self, subprotocol: str | None) -> str:
        """Accept, carry messages both ways until either side closes, and return the reason."""
        await self._receive()
        await self._send({"type": "websocket.accept", "subprotocol": subprotocol})
        reading = asyncio.create_task(self._read())
        writing = asyncio.create_task(self._write())
        try:
            await asyncio.wait({reading, writing}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            reading.cancel()
            writing.cancel()
            await asyncio.gather(reading, writing, return_exceptions=True)
            reason = self._closing[1] if self._closing else "closed by the peer"
            self._close(GOING_AWAY, reason)
            self._over.set_result(reason)
            self._receiver.closed(reason)
        return reason

    async def _read(self) -> None:
        while True:
            event = await self._receive()
            if event["type"] == "websocket.disconnect":
                return
            text = event.get("text")
            if text is None:
                self._close(UNSUPPORTED_DATA, "a binary frame; messages are text")
                await asyncio.get_running_loop().create_future()  # until the writer has closed
            else:
                self._hand_on(text.encode())

    def _hand_on(self, message: bytes) -> None:
        try:
            self._receiver.message(message)
        except Exception:
            log.exception("a message of a WebSocket broke its receiver")

    async def _write(self) -> None:
        while True:
            while self._queue:
                message = self._queue.popleft()
                await self._send({"type": "websocket.send", "text": message.decode()})
                self._held -= len(message)
            if self._closing is not None:
                code, reason = self._closing
                await self._send({"type": "websocket.close", "code": code, "reason": reason})
                return
            self._more.clear()
            await self._more.wait()
