"""A client of HTTP that says exactly what it is told to, and reads what comes back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from gatewright.transport.base import Limits
from gatewright.transport.http_server import HttpServer, serve
from tests.transport.collecting import within

__all__ = ["GET", "HEAD", "OLD", "RawClient", "connected", "dialled", "heard"]

GET = b"GET /a?b HTTP/1.1\r\nHost: a\r\nX-A: B\r\n\r\n"
HEAD = b"HEAD / HTTP/1.1\r\nhost: a\r\n\r\n"
OLD = b"GET / HTTP/1.0\r\n\r\n"


class RawClient:
    """One connection."""

    def __init__(
        self, server: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.server = server
        self.reader = reader
        self.writer = writer

    def say(self, data: bytes) -> None:
        """Send in one piece."""
        self.writer.write(data)

    async def say_slowly(self, pieces: Iterable[bytes]) -> None:
        """Send in pieces that, as a rule, also arrive in pieces."""
        for piece in pieces:
            self.writer.write(piece)
            await within(self.writer.drain())
            await asyncio.sleep(0)
            await asyncio.sleep(0)

    async def head(self) -> bytes:
        """The next head of a response, in lower case."""
        return (await within(self.reader.readuntil(b"\r\n\r\n"))).lower()

    async def hear(self) -> tuple[int, bytes]:
        """The next response, whichever way its body is framed: status and body."""
        head = await self.head()
        status = int(head.split()[1])
        if b"transfer-encoding: chunked" in head:
            return status, await self._chunks()
        if b"content-length: " in head:
            length = int(head.split(b"content-length: ")[1].split(b"\r\n")[0])
            return status, await within(self.reader.readexactly(length))
        return status, await self.end()

    async def _chunks(self) -> bytes:
        body = b""
        while True:
            size = int(await within(self.reader.readuntil(b"\r\n")), 16)
            body += (await within(self.reader.readexactly(size + 2)))[:-2]
            if not size:
                return body

    async def end(self) -> bytes:
        """Everything until the server closes."""
        return await within(self.reader.read())


@asynccontextmanager
async def dialled(server: HttpServer) -> AsyncIterator[RawClient]:
    """A client of a server that runs."""
    reader, writer = await within(asyncio.open_connection("127.0.0.1", server.port))
    try:
        yield RawClient(server, reader, writer)
    finally:
        writer.transport.abort()


@asynccontextmanager
async def connected(app: Any, **limits: Any) -> AsyncIterator[RawClient]:
    """A server of `app` and a client of it."""
    server = await serve(app, limits=Limits(**limits))
    try:
        async with dialled(server) as client:
            yield client
    finally:
        await within(server.stop(0.1))


async def heard(app: Any, *requests: bytes) -> bytes:
    """Everything that comes back for these and a last request that closes, without dates."""
    async with connected(app) as client:
        client.say(b"".join(requests))
        client.say(b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
        parts = (await client.end()).split(b"\r\n")
    return b"\r\n".join(part for part in parts if not part.startswith(b"date: "))
