"""An ASGI application that accepts WebSockets, and clients of several manners for it."""

from __future__ import annotations

import asyncio
import base64
import os
import socket
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from gatewright.transport.base import FROM_SERVERS, Limits
from gatewright.transport.http_server import HttpServer
from gatewright.transport.websocket import Accepted, Connected, connect
from tests.transport.collecting import DEADLINE_S, Collector, within

__all__ = ["Door", "Open", "client", "close_code", "nobody_left", "read_on", "shake_hands"]


class Door:
    """An ASGI application that accepts WebSockets and keeps their pipes."""

    def __init__(self, limits: Limits, *, echo: bool, subprotocol: str | None) -> None:
        self.limits = limits
        self.echo = echo
        self.subprotocol = subprotocol
        self.pipe: Accepted
        self.reasons: list[str] = []
        self.there = asyncio.Event()
        self.collector = Collector(self._answer)
        self.server: HttpServer

    @property
    def url(self) -> str:
        return self.server.url.replace("http", "ws")

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.pipe = Accepted(receive, send, self.collector, self.limits)
        self.there.set()
        self.reasons.append(await self.pipe.serve(self.subprotocol))

    def _answer(self, message: bytes) -> None:
        if self.echo:
            self.pipe.send(message)


Open = Callable[..., Coroutine[Any, Any, Door]]


async def client(at: Door, limits: Limits = FROM_SERVERS) -> tuple[Connected, Collector]:
    collector = Collector()
    pipe = await within(connect(at.url, receiver=collector, limits=limits))
    await within(at.there.wait())
    return pipe, collector


async def close_code(connection: Any) -> int:
    """Read until the peer closes, and return its close code."""
    with pytest.raises(ConnectionClosed) as caught:
        await within(read_on(connection))
    assert caught.value.rcvd is not None
    return caught.value.rcvd.code


async def read_on(connection: Any) -> None:
    """Read until the connection is closed, which raises."""
    while True:
        await connection.recv()


async def shake_hands(at: Door, more: bytes = b"") -> socket.socket:
    """The upgrade by hand, for a client that then never reads."""
    raw = socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    raw.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(raw, ("127.0.0.1", at.server.port))
    key = base64.b64encode(os.urandom(16))
    head = (
        b"GET /mcp HTTP/1.1\r\nhost: a\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
        b"sec-websocket-version: 13\r\nsec-websocket-protocol: mcp\r\n"
        b"sec-websocket-key: " + key + b"\r\n" + more + b"\r\n"
    )
    await loop.sock_sendall(raw, head)
    return raw


async def nobody_left(server: HttpServer) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while server.connections:
            await asyncio.sleep(0.01)
