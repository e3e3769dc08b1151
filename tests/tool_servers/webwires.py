"""The HTTP wire of the test servers, by hand on asyncio: Streamable HTTP of both eras, and HTTP+SSE.

Handshake era: sessions, a GET stream for what belongs to no call, DELETE. The answer of a POST is
plain JSON unless something has to be said before it; then it is a stream. Stateless era (`modern`):
one exchange a POST, no sessions; closing the connection cancels the call, and error codes decide
the status. `/sse` and `/messages` are the transport of 2024-11-05.

The first line on stdout is `ready URL`. The process ends when the process that started it does.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from tests.tool_servers.wires import App, Client

__all__ = ["serve_http"]

BODY_LIMIT = 128 * 1024 * 1024
STATUS_OF_CODE = {-32601: 404, -32602: 400, -32020: 400, -32021: 400, -32022: 400, -32700: 400}
PARENT_CHECK_SECONDS = 0.5


@dataclass
class _Request:
    verb: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes


class _Exchange:
    """One HTTP answer, which becomes a stream when something is said before its end."""

    def __init__(self, writer: asyncio.StreamWriter, modern: bool) -> None:
        self.writer = writer
        self.modern = modern
        self.session = ""
        self.streaming = False
        self.finished = False

    def head(self, status: int, kind: str, length: int | None) -> None:
        lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}"]
        if kind:
            lines.append(f"Content-Type: {kind}")
        lines.append(
            "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
        )
        if self.session:
            lines.append(f"Mcp-Session-Id: {self.session}")
        self.writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))

    async def open(self) -> None:
        """Commit to an event stream."""
        self.streaming = True
        self.head(200, "text/event-stream", None)
        await self.writer.drain()

    async def event(self, text: str, kind: str = "message") -> None:
        if not self.streaming:
            await self.open()
        data = f"event: {kind}\ndata: {text}\n\n".encode()
        self.writer.write(f"{len(data):x}\r\n".encode("latin-1") + data + b"\r\n")
        await self.writer.drain()

    async def end(self) -> None:
        """Close the stream properly."""
        if self.streaming and not self.finished:
            self.writer.write(b"0\r\n\r\n")
            await self.writer.drain()
        self.finished = True

    async def send(self, text: str) -> None:
        """Say one message: an answer ends the exchange, anything else makes it a stream."""
        message = json.loads(text)
        if "method" in message or self.streaming:
            await self.event(text)
        else:
            code = int((message.get("error") or {}).get("code", 0))
            await self.plain(STATUS_OF_CODE.get(code, 200) if self.modern else 200, text)
        if "method" not in message:
            await self.end()

    async def plain(self, status: int, text: str = "") -> None:
        """A whole answer at once."""
        data = text.encode("utf-8")
        self.head(status, "application/json" if data else "", len(data))
        self.writer.write(data)
        await self.writer.drain()
        self.finished = True


class _Session:
    """A client of the handshake era, with its stream for unasked messages."""

    def __init__(self, app: App) -> None:
        self.key = os.urandom(16).hex()
        self.client = Client(app, self._queue)
        self.outbox: asyncio.Queue[str] = asyncio.Queue()

    async def _queue(self, text: str) -> None:
        self.outbox.put_nowait(text)

    async def pour(self, exchange: _Exchange) -> None:
        """Send what is queued, and all that comes, until the connection breaks."""
        if not exchange.streaming:
            await exchange.open()
        while True:
            await exchange.event(await self.outbox.get())


class _Site:
    """All that one listening server knows."""

    def __init__(self, app: App, modern: bool) -> None:
        self.app = app
        self.modern = modern
        self.sessions: dict[str, _Session] = {}

    async def connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve requests on one connection, one after the other."""
        try:
            while request := await _read(reader):
                exchange = _Exchange(writer, self.modern)
                work = asyncio.create_task(self.route(request, exchange))
                if not await _until_done_or_gone(work, reader, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError, ValueError):
            pass
        finally:
            with contextlib.suppress(ConnectionError, RuntimeError):
                writer.close()

    async def route(self, request: _Request, exchange: _Exchange) -> None:
        if self.modern:
            await self.stateless(request, exchange)
        elif (request.verb, request.path) == ("GET", "/sse"):
            await self.old_stream(exchange)
        elif (request.verb, request.path) == ("POST", "/messages"):
            await self.old_post(request, exchange)
        elif request.verb == "POST":
            await self.post(request, exchange)
        else:
            await self.get_or_delete(request, exchange)

    async def stateless(self, request: _Request, exchange: _Exchange) -> None:
        if request.verb != "POST":
            await exchange.plain(405)
            return
        client = Client(self.app, exchange.event)
        task = await client.take(request.body, exchange.send, request.headers)
        if task is None:
            if not exchange.finished:
                await exchange.plain(202)
            return
        try:
            await task
        except asyncio.CancelledError:
            client.hang_up()
            raise

    async def post(self, request: _Request, exchange: _Exchange) -> None:
        message = json.loads(request.body or b"null")
        method = message.get("method") if isinstance(message, dict) else None
        if method == "initialize":
            session = _Session(self.app)
            self.sessions[session.key] = session
        else:
            found = self.sessions.get(request.headers.get("mcp-session-id", ""))
            if found is None:
                known = "mcp-session-id" in request.headers
                await exchange.plain(404 if known else 400, _complaint(message))
                return
            session = found
        exchange.session = session.key
        if method is None or "id" not in message:
            await exchange.plain(202)
        task = await session.client.take(request.body, exchange.send, request.headers)
        if task is not None:
            # A lost connection does not cancel a call in this era: shield it.
            await asyncio.shield(asyncio.gather(task, return_exceptions=True))
            if not exchange.finished:
                await exchange.end() if exchange.streaming else await exchange.plain(202)

    async def get_or_delete(self, request: _Request, exchange: _Exchange) -> None:
        session = self.sessions.get(request.headers.get("mcp-session-id", ""))
        if session is None:
            known = "mcp-session-id" in request.headers
            await exchange.plain(404 if known else 400, _complaint(None))
        elif request.verb == "DELETE":
            del self.sessions[session.key]
            session.client.hang_up()
            await exchange.plain(200)
        elif request.verb == "GET":
            exchange.session = session.key
            await session.pour(exchange)
        else:
            await exchange.plain(405)

    async def old_stream(self, exchange: _Exchange) -> None:
        session = _Session(self.app)
        self.sessions[session.key] = session
        await exchange.event(f"/messages?session={session.key}", "endpoint")
        try:
            await session.pour(exchange)
        finally:
            del self.sessions[session.key]
            session.client.hang_up()

    async def old_post(self, request: _Request, exchange: _Exchange) -> None:
        session = self.sessions.get(request.query.removeprefix("session="))
        if session is None:
            await exchange.plain(404, _complaint(None))
            return
        await exchange.plain(202)
        client = session.client
        await client.take(request.body, client.send, request.headers)


def _complaint(message: Any) -> str:
    key = message.get("id") if isinstance(message, dict) else None
    error = {"code": -32000, "message": "No such session"}
    return json.dumps({"jsonrpc": "2.0", "id": key, "error": error})


async def _read(reader: asyncio.StreamReader) -> _Request | None:
    """The next request, None when the client has closed."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *rest = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    verb, target, _ = first.split(" ", 2)
    pairs = (line.partition(":") for line in rest)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    path, _, query = target.partition("?")
    return _Request(verb, path, query, headers, await _body(reader, headers))


async def _body(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    if headers.get("transfer-encoding", "").lower() != "chunked":
        return await reader.readexactly(int(headers.get("content-length", "0")))
    parts = []
    while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
        parts.append(await reader.readexactly(size))
        await reader.readexactly(2)
    await reader.readexactly(2)
    return b"".join(parts)


async def _until_done_or_gone(
    work: asyncio.Task[None], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> bool:
    """True when the work is done; when the client goes away first, the work is cancelled."""
    while not work.done():
        await asyncio.wait({work}, timeout=0.05)
        if not work.done() and (reader.at_eof() or writer.is_closing()):
            work.cancel()
            await asyncio.wait({work})
            return False
    await work
    return not writer.is_closing()


async def _serve(app: App, port: int, modern: bool) -> None:
    parent = os.getppid()
    site = _Site(app, modern)
    server = await asyncio.start_server(site.connection, "127.0.0.1", port, limit=BODY_LIMIT)
    listening = server.sockets[0].getsockname()[1]
    os.write(1, f"ready http://127.0.0.1:{listening}/mcp\n".encode())
    while os.getppid() == parent:
        await asyncio.sleep(PARENT_CHECK_SECONDS)


def serve_http(app: App, port: int, *, modern: bool = False) -> int:
    """Serve 127.0.0.1 (port 0 takes a free one) until left alone; the exit status."""
    try:
        asyncio.run(_serve(app, port, modern))
    except KeyboardInterrupt:
        return 1
    return 0
