"""A Groundhog client, written from the text of its specification alone: JSON-RPC over WebSocket, HTTP or TCP."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

__all__ = ["DEADLINE", "Groundhog", "RefusedError", "connected"]

DEADLINE = 30.0


class RefusedError(Exception):
    """The error of a response."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(json.dumps(error))
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: dict[str, Any] = error.get("data", {})


class Groundhog:
    """A connected client. `send` carries one frame; answers come in through `received`."""

    def __init__(self) -> None:
        self._count = itertools.count(1)
        self._waiting: dict[Any, asyncio.Future[dict[str, Any]]] = {}
        self.others: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        """Whatever is no answer to a request of this client."""
        self.over: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.serves: Callable[[dict[str, Any]], Any] | None = None
        """Answers requests of the other side with a result."""

    async def send(self, frame: bytes) -> None:
        raise NotImplementedError

    def received(self, frame: bytes | str) -> None:
        message = json.loads(frame)
        waiting = None
        if isinstance(message, dict) and "method" not in message:
            waiting = self._waiting.pop(message.get("id"), None)
        if waiting is not None:
            waiting.set_result(message)
        elif self.serves is not None and "method" in message:
            result = self.serves(message)
            answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
            asyncio.get_running_loop().create_task(self.send(json.dumps(answer).encode()))
        else:
            self.others.put_nowait(message)

    def lost_with(self, response: dict[str, Any]) -> None:
        """Every request that waits gets this response."""
        for ident in list(self._waiting):
            self._waiting.pop(ident).set_result({**response, "id": ident})

    def lost(self, reason: str) -> None:
        if not self.over.done():
            self.over.set_result(reason)
        for one in self._waiting.values():
            if not one.done():
                one.set_exception(ConnectionError(reason))
                one.exception()  # nobody waits for it where it could not be sent

    async def exchange(self, message: dict[str, Any]) -> dict[str, Any]:
        """Send a request as it is, and return the whole response."""
        waiting = asyncio.get_running_loop().create_future()
        self._waiting[message["id"]] = waiting
        await self.send(json.dumps(message).encode())
        return await asyncio.wait_for(waiting, DEADLINE)

    async def request(self, method: str, params: dict[str, Any] | None = None) -> Any:
        """The result of a request. Raises `RefusedError`."""
        ident = f"request-{next(self._count)}"
        response = await self.exchange(
            {"jsonrpc": "2.0", "id": ident, "method": method, "params": params or {}}
        )
        assert response["jsonrpc"] == "2.0"
        assert response["id"] == ident
        if "error" in response:
            raise RefusedError(response["error"])
        return response["result"]

    async def invoke(
        self, tool_id: str, parameters: dict[str, Any] | None = None, **more: Any
    ) -> Any:
        """The execution record of a tool."""
        return await self.request(
            "tools/invoke", {"tool_id": tool_id, "parameters": parameters or {}, **more}
        )

    async def refusal(self, method: str, params: dict[str, Any] | None = None) -> RefusedError:
        """How a request is refused, which it must be."""
        try:
            found = await self.request(method, params)
        except RefusedError as problem:
            return problem
        raise AssertionError(f"{method} was served: {found}")


class _Socket(Groundhog):
    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        super().__init__()
        self.socket = socket

    async def send(self, frame: bytes) -> None:
        await self.socket.send_str(frame.decode("utf-8", "replace"))

    async def read(self) -> None:
        async for message in self.socket:
            if message.type is aiohttp.WSMsgType.TEXT:
                self.received(message.data)
        self.lost(f"closed {self.socket.close_code}")


class _Post(Groundhog):
    def __init__(self, http: aiohttp.ClientSession, url: str, headers: dict[str, str]) -> None:
        super().__init__()
        self.http = http
        self.url = url
        self.headers = headers

    async def send(self, frame: bytes) -> None:
        head = {"content-type": "application/json", **self.headers}
        async with self.http.post(self.url, data=frame, headers=head) as answer:
            body = await answer.read()
            if answer.status == 401:  # refused before it was read, so without its id
                self.lost_with(json.loads(body))
            elif body:
                self.received(body)


class _Lines(Groundhog):
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        super().__init__()
        self.reader = reader
        self.writer = writer

    async def send(self, frame: bytes) -> None:
        self.writer.write(frame + b"\n")
        await self.writer.drain()

    async def read(self) -> None:
        with contextlib.suppress(ConnectionError):
            while line := await self.reader.readline():
                self.received(line)
        self.lost("closed")


@asynccontextmanager
async def connected(
    url: str, key: str | None = None, *, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Groundhog]:
    """A client of this address, by its scheme. A key goes into a header, or where there are no headers into
    the first message."""
    headers = {} if key is None else {"authorization": f"Bearer {key}"}
    if url.startswith(("tcp:", "tls:")):
        host, port = url.split("//")[1].rsplit(":", 1)
        reader, writer = await asyncio.open_connection(host, int(port), ssl=tls)
        lines = _Lines(reader, writer)
        reading = asyncio.create_task(lines.read())
        try:
            if key is not None:
                await lines.request("session/create", {"token": key})
            yield lines
        finally:
            writer.close()
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
        return
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=tls or True)) as http:
        if url.startswith("http"):
            yield _Post(http, url, headers)
            return
        socket = await http.ws_connect(url, headers=headers, max_msg_size=0)
        client = _Socket(socket)
        reading = asyncio.create_task(client.read())
        try:
            yield client
        finally:
            await socket.close()
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
