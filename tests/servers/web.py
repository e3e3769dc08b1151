"""Tool servers over HTTP for tests: the test servers as child processes, and one that the test writes itself."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from gatewright.servers.spec import ServerSpec
from tests.servers.rig import DEADLINE, SERVERS, within

__all__ = ["Asked", "Site", "http", "site", "web"]


def http(ident: str, url: str, **more: Any) -> ServerSpec:
    """A server over HTTP."""
    more.setdefault("restart_wait_s", DEADLINE)
    return ServerSpec(id=ident, transport=more.pop("transport", "http"), url=url, **more)


@asynccontextmanager
async def web(name: str, *args: str, port: int = 0) -> AsyncIterator[str]:
    """A test server over HTTP; the result is its URL. It is gone afterwards."""
    command = [sys.executable, str(SERVERS / f"{name}.py"), *args, "--http", str(port)]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    try:
        assert process.stdout is not None
        line = (await within(process.stdout.readline())).decode().split()
        assert line[0] == "ready", line
        yield line[1]
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await within(process.wait())


class Asked:
    """One request that arrived, and the pen for its answer."""

    def __init__(
        self, verb: str, headers: dict[str, str], body: bytes, writer: asyncio.StreamWriter
    ) -> None:
        self.verb = verb
        self.headers = headers
        self.body: dict[str, Any] = json.loads(body) if body else {}
        self.answered = asyncio.Event()
        self._writer = writer

    @property
    def method(self) -> str:
        """The JSON-RPC method."""
        return str(self.body.get("method", ""))

    def say(self, status: int, body: Any = None, **headers: str) -> None:
        """Answer as a whole; a dict becomes JSON."""
        data = (
            body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        )
        kind = "text/plain" if isinstance(body, bytes) else "application/json"
        lines = [f"HTTP/1.1 {status} X", f"Content-Type: {kind}", f"Content-Length: {len(data)}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self._writer.write(("\r\n".join(lines) + "\r\n\r\n").encode() + data)
        self.answered.set()

    def result(self, result: Any, **headers: str) -> None:
        """Answer with a JSON-RPC result."""
        self.say(200, {"jsonrpc": "2.0", "id": self.body["id"], "result": result}, **headers)

    def error(self, status: int, code: int, message: str = "no", **headers: str) -> None:
        """Answer with a JSON-RPC error."""
        error = {"code": code, "message": message}
        body = {"jsonrpc": "2.0", "id": self.body.get("id"), "error": error}
        self.say(status, body, **headers)

    def stream(self, **headers: str) -> None:
        """Begin a stream of events."""
        lines = ["HTTP/1.1 200 OK", "Content-Type: text/event-stream", "Transfer-Encoding: chunked"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self._writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())

    def event(self, message: Any = None, *, ident: str = "", retry: int | None = None) -> None:
        """Send one event; without a message, the empty one that primes a stream."""
        text = f"id: {ident}\n" if ident else ""
        text += f"retry: {retry}\n" if retry is not None else ""
        body = "" if message is None else json.dumps({"jsonrpc": "2.0", **message})
        data = f"{text}data: {body}\n\n".encode()
        self._writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def end(self) -> None:
        """End the stream in an orderly way."""
        self._writer.write(b"0\r\n\r\n")
        self.answered.set()

    def drop(self) -> None:
        """Break the connection."""
        self._writer.transport.abort()
        self.answered.set()

    async def gone(self) -> None:
        """Wait until the client has closed the connection."""
        async with asyncio.timeout(DEADLINE):
            while not self._writer.transport.is_closing():
                await asyncio.sleep(0.01)


class Site:
    """An HTTP server whose every answer the test writes."""

    def __init__(self) -> None:
        self.url = ""
        self.port = 0
        self._inbox: asyncio.Queue[Asked] = asyncio.Queue()
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    async def start(self) -> None:
        """Listen; again on the same port after `stop`."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/mcp"

    def refuse(self) -> None:
        """Take no more connections; those that there are go on."""
        assert self._server is not None
        self._server.close()

    async def stop(self) -> None:
        """Stop listening, and break every connection."""
        assert self._server is not None
        self._server.close()
        for writer in list(self._writers):
            writer.transport.abort()
        await within(self._server.wait_closed())

    async def next(self, method: str | None = None) -> Asked:
        """The next request; with `method`, the next of that JSON-RPC method (or HTTP verb)."""
        async with asyncio.timeout(DEADLINE):
            while True:
                asked = await self._inbox.get()
                if method in (None, asked.method, asked.verb):
                    return asked
                self._inbox.put_nowait(asked)
                await asyncio.sleep(0.001)

    def idle(self) -> bool:
        """Whether nothing unread has arrived."""
        return self._inbox.empty()

    async def hello(self, revision: str = "2025-11-25", **headers: str) -> None:
        """Take a client in as a legacy server does."""
        (await self.next("server/discover")).error(400, -32000, "Server not initialized")
        await self.initialize(revision, **headers)

    async def initialize(self, revision: str = "2025-11-25", **headers: str) -> None:
        """Answer the handshake itself, refuse the stream for unsolicited messages."""
        self.welcome(await self.next("initialize"), revision, **headers)
        (await self.next("notifications/initialized")).say(202)
        (await self.next("GET")).say(405)

    def welcome(self, hello: Asked, revision: str = "2025-11-25", **headers: str) -> None:
        """Answer `initialize`."""
        found = {"protocolVersion": revision, "capabilities": {"tools": {}}, "serverInfo": {}}
        hello.result(found, **headers)

    async def list_tools(self, *names: str, read_only: bool = False) -> None:
        """Answer `tools/list`."""
        hints = {"annotations": {"readOnlyHint": read_only}}
        tools = [{"name": name, "inputSchema": {"type": "object"}, **hints} for name in names]
        (await self.next("tools/list")).result({"tools": tools})

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
                pairs = (line.partition(":") for line in head[1:] if line)
                headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                asked = Asked(head[0].split(" ")[0], headers, body, writer)
                self._inbox.put_nowait(asked)
                watch = asyncio.ensure_future(asked.answered.wait())
                while not watch.done():
                    await asyncio.wait([watch], timeout=0.02)
                    if reader.at_eof():
                        watch.cancel()
                        return
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            self._writers.discard(writer)
            writer.close()


@asynccontextmanager
async def site() -> AsyncIterator[Site]:
    """A server that the test writes."""
    found = Site()
    await found.start()
    try:
        yield found
    finally:
        await found.stop()
