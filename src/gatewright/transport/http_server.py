"""An ASGI application on a socket: uvicorn with httptools, and the limits it lacks.

uvicorn waits for ever for a header block that never ends and takes one of any size; both are bounded
here. Bodies are read by whoever wants them, with `read_body`.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from gatewright.transport.base import FROM_CLIENTS, Limits

__all__ = ["BodyTimeout", "BodyTooLarge", "ClientGone", "HttpServer", "read_body", "serve"]

BACKLOG = 2048

Receive = Callable[[], Awaitable[dict[str, Any]]]


class BodyTooLarge(Exception):  # noqa: N818 - what the client did, not what is wrong with us
    """The body is longer than it may be."""


class BodyTimeout(Exception):  # noqa: N818
    """The body did not arrive in time."""


class ClientGone(Exception):  # noqa: N818
    """The client closed the connection before its body was complete."""


async def read_body(receive: Receive, limit: int, timeout_s: float = 30.0) -> bytes:
    """The whole body of an ASGI request, at most `limit` bytes.

    Raises `BodyTooLarge`, `BodyTimeout` or `ClientGone`.
    """
    message = await receive()
    if message["type"] == "http.request" and not message.get("more_body", False):
        body: bytes = message.get("body", b"")
        if len(body) > limit:
            raise BodyTooLarge
        return body
    try:
        async with asyncio.timeout(timeout_s):
            return await _read_on(message, receive, limit)
    except TimeoutError:
        raise BodyTimeout from None


async def _read_on(message: dict[str, Any], receive: Receive, limit: int) -> bytes:
    pieces: list[bytes] = []
    held = 0
    while True:
        if message["type"] != "http.request":
            raise ClientGone
        piece = message.get("body", b"")
        held += len(piece)
        if held > limit:
            raise BodyTooLarge
        pieces.append(piece)
        if not message.get("more_body", False):
            return b"".join(pieces)
        message = await receive()


class _Protocol(HttpToolsProtocol):
    """One connection. A header block has `header_timeout_s` and `header_bytes`, from its first byte
    on a kept connection, from the connection itself for the first."""

    limits = FROM_CLIENTS

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._in_headers = True
        self._header_bytes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._await_headers()

    def _await_headers(self) -> None:
        self._timer = self.loop.call_later(self.limits.header_timeout_s, self._refuse, 408)

    def _refuse(self, status: int) -> None:
        if self.transport.is_closing():
            return
        words = {408: b"Request Timeout", 431: b"Request Header Fields Too Large"}
        self.transport.write(
            b"HTTP/1.1 %d %b\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            % (status, words[status])
        )
        self.transport.close()

    def data_received(self, data: bytes) -> None:
        if self._in_headers:
            self._header_bytes += len(data)
        super().data_received(data)
        if self._in_headers:
            if self._header_bytes > self.limits.header_bytes:
                self._refuse(431)
            elif self._timer is None:
                self._await_headers()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_headers = True

    def on_headers_complete(self) -> None:
        self._in_headers = False
        self._header_bytes = 0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        size = sum(len(name) + len(value) + 4 for name, value in self.headers)
        if size > self.limits.header_bytes:
            self._refuse(431)
            return
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if self.cycle is not None:
            super().on_body(body)

    def on_message_complete(self) -> None:
        if self.cycle is not None:
            super().on_message_complete()
        self._in_headers = True

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        super().connection_lost(exc)


class _Uvicorn(uvicorn.Server):
    """A server that leaves signals to whoever runs the loop, and says when it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listens = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listens.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class HttpServer:
    """A running server. `url` has no path."""

    def __init__(
        self, server: uvicorn.Server, task: asyncio.Task[None], host: str, port: int
    ) -> None:
        self._server = server
        self._task = task
        self.port = port
        shown = f"[{host}]" if ":" in host else host
        self.url = f"http://{shown}:{port}"

    async def stop(self, grace_s: float) -> None:
        """Take no more connections, let running requests end within the grace, close the rest."""
        self._server.config.timeout_graceful_shutdown = max(1, round(grace_s))
        self._server.should_exit = True
        await self._task


async def serve(
    app: Callable[..., Awaitable[None]],
    *,
    host: str,
    port: int,
    limits: Limits = FROM_CLIENTS,
) -> HttpServer:
    """Serve `app` on the running loop; port 0 takes a free one. Raises `OSError` where it is taken."""
    listening = _listen(host, port)
    protocol = type("Protocol", (_Protocol,), {"limits": limits})
    config = uvicorn.Config(
        app,
        http=protocol,
        ws="websockets-sansio",
        loop="none",
        lifespan="off",
        access_log=False,
        log_config=None,
        server_header=False,
        timeout_keep_alive=round(limits.keep_alive_s),
        ws_max_size=limits.frame_bytes,
        ws_ping_interval=limits.ping_interval_s,
        ws_ping_timeout=limits.ping_interval_s,
        ws_per_message_deflate=False,
    )
    server = _Uvicorn(config)
    task = asyncio.create_task(server.serve(sockets=[listening]))
    listens = asyncio.create_task(server.listens.wait())
    await asyncio.wait({task, listens}, return_when=asyncio.FIRST_COMPLETED)
    if not server.started:
        listens.cancel()
        task.result()
        raise OSError(f"the HTTP server on {host}:{port} did not start")
    return HttpServer(server, task, host, listening.getsockname()[1])


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(BACKLOG)
        listening.setblocking(False)
    except OSError as problem:
        listening.close()
        raise OSError(
            problem.errno,
            f"cannot listen on {host}:{port}: {problem.strerror}; choose another with --port",
        ) from None
    return listening
