"""How hosts are connected: pipes, Streamable HTTP, WebSocket, HTTP+SSE; written from the specification's text."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
from contextlib import suppress
from typing import Any, Protocol

import aiohttp

from tests import fork_streams
from tests.behaviour.gateway import COMMAND, Gateway

__all__ = [
    "DEADLINE",
    "MODERN",
    "Ear",
    "HttpWire",
    "SseWire",
    "StdioWire",
    "WebSocketWire",
    "Wire",
]

DEADLINE = 20.0
MODERN = "2026-07-28"
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_FOLDERS = itertools.count()


class Ear(Protocol):
    """Who hears what a wire brings: a `Host`."""

    revision: str
    modern: bool
    session: str | None
    headers: dict[str, str]
    gone: asyncio.Event

    def received(self, frame: bytes, status: int | None = None) -> None: ...

    def lost(self, reason: str) -> None: ...

    def spawn(self, job: Any) -> asyncio.Task[Any]: ...


class Wire(Protocol):
    """Carries frames."""

    async def send(self, frame: bytes, host: Ear) -> None: ...

    async def open(self, host: Ear) -> None: ...

    async def close(self) -> None: ...


class StdioWire:
    """A gateway of its own behind pipes."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def open(self, host: Ear) -> None:
        text = self._gateway.file.read_text()
        alone = self._gateway.folder / f"stdio-{next(_FOLDERS)}"
        alone.mkdir()
        path = alone / "mgp.toml"
        path.write_text(text.replace(str(self._gateway.folder / "state"), str(alone / "state")))
        self.folder = alone
        self.log = (alone / "gateway.log").open("wb")
        command = [*COMMAND, "serve", "--stdio", "--config", str(path)]
        self.process = await fork_streams.started(command, self.log, limit=256 * 1024 * 1024)
        host.spawn(self._read(host))

    async def _read(self, host: Ear) -> None:
        while line := await self.process.stdout.readline():
            host.received(line.rstrip(b"\n"))
        host.lost("the gateway closed its output")

    async def send(self, frame: bytes, host: Ear) -> None:
        self.process.stdin.write(frame + b"\n")
        await asyncio.wait_for(self.process.stdin.drain(), DEADLINE)

    async def close(self) -> None:
        self.process.stdin.close()
        try:
            await asyncio.wait_for(self.process.wait(), DEADLINE)
        except TimeoutError:
            self.process.kill()
            await self.process.wait()
        self.log.close()


class HttpWire:
    """Streamable HTTP of any revision."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.http = aiohttp.ClientSession()
        self.posts: dict[Any, asyncio.Task[Any]] = {}

    async def open(self, host: Ear) -> None:
        """Nothing is connected before the first request."""

    def head(self, host: Ear, message: dict[str, Any]) -> dict[str, str]:
        """The headers of one POST."""
        headers = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            **host.headers,
        }
        method = message.get("method", "")
        if host.session is not None:
            headers["mcp-session-id"] = host.session
        if method != "initialize" and host.revision not in ("2024-11-05", "2025-03-26"):
            headers["mcp-protocol-version"] = host.revision
        if host.modern:
            # A header cannot carry what a body can: who lies in one place says something plain in the other.
            plain = method.isascii() and method.isprintable() and method == method.strip()
            headers["mcp-method"] = method if plain else "tools/call"
            name = (message.get("params") or {}).get(NAMED.get(method, ""))
            if isinstance(name, str):
                safe = name.isascii() and name.isprintable() and name == name.strip()
                wrapped = base64.b64encode(name.encode()).decode()
                headers["mcp-name"] = name if safe else f"=?base64?{wrapped}?="
        return headers

    async def send(self, frame: bytes, host: Ear) -> None:
        message = json.loads(frame)
        task = host.spawn(self._post(frame, message, host))
        if isinstance(message.get("id"), str | int) and "method" in message:
            self.posts[message["id"]] = task
        else:
            await asyncio.wait_for(task, DEADLINE)

    async def _post(self, frame: bytes, message: dict[str, Any], host: Ear) -> None:
        try:
            async with self.http.post(
                self.url, data=frame, headers=self.head(host, message)
            ) as answer:
                if message.get("method") == "initialize":
                    host.session = answer.headers.get("mcp-session-id")
                kind = answer.headers.get("content-type", "")
                if kind.startswith("text/event-stream"):
                    await self._events(answer, host)
                elif kind.startswith("application/json"):
                    host.received(await answer.read(), answer.status)
                if answer.status == 401 or (answer.status >= 300 and "json" not in kind):
                    host.lost(f"HTTP {answer.status}")  # whose request that was is not said
        except aiohttp.ClientError as problem:
            host.lost(str(problem))

    async def _events(self, answer: aiohttp.ClientResponse, host: Ear) -> None:
        data: list[bytes] = []
        pending = b""
        async for chunk in answer.content.iter_any():
            *lines, pending = (pending + chunk).split(b"\n")
            for line in lines:
                line = line.rstrip(b"\r")  # noqa: PLW2901
                if line.startswith(b"data:"):
                    data.append(line[5:].removeprefix(b" "))
                elif not line and data:
                    if any(data):
                        host.received(b"\n".join(data))
                    data = []

    async def listen(self, host: Ear) -> None:
        """Open the session's own stream."""
        headers = {"accept": "text/event-stream", "mcp-session-id": host.session or ""}
        headers |= {"mcp-protocol-version": host.revision, **host.headers}
        opened = asyncio.get_running_loop().create_future()

        async def read() -> None:
            async with self.http.get(
                self.url, headers=headers, timeout=aiohttp.ClientTimeout(None)
            ) as answer:
                opened.set_result(answer.status)
                with suppress(aiohttp.ClientError):
                    await self._events(answer, host)
                host.gone.set()

        host.spawn(read())
        await asyncio.wait_for(opened, DEADLINE)

    async def close(self) -> None:
        await self.http.close()


class WebSocketWire:
    """Subprotocol `mcp`."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.http = aiohttp.ClientSession()

    async def open(self, host: Ear) -> None:
        self.socket = await self.http.ws_connect(
            self.url, protocols=("mcp",), headers=host.headers, max_msg_size=0
        )
        host.spawn(self._read(host))

    async def _read(self, host: Ear) -> None:
        async for message in self.socket:
            if message.type is aiohttp.WSMsgType.TEXT:
                host.received(message.data.encode())
        host.lost("the WebSocket closed")

    async def send(self, frame: bytes, host: Ear) -> None:
        await self.socket.send_str(frame.decode())

    async def close(self) -> None:
        await self.socket.close()
        await self.http.close()


class SseWire(HttpWire):
    """HTTP+SSE of 2024-11-05."""

    async def open(self, host: Ear) -> None:
        answer = await self.http.get(
            self.url, headers=host.headers, timeout=aiohttp.ClientTimeout(None)
        )
        self.post_to: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.stream = answer
        host.spawn(self._stream(answer, host))
        await asyncio.wait_for(self.post_to, DEADLINE)

    async def close(self) -> None:
        self.stream.close()
        await super().close()

    async def _stream(self, answer: aiohttp.ClientResponse, host: Ear) -> None:
        event, pending = "", b""
        async for chunk in answer.content.iter_any():
            *lines, pending = (pending + chunk).split(b"\n")
            for line in lines:
                if line.startswith(b"event:"):
                    event = line[6:].strip().decode()
                elif line.startswith(b"data:"):
                    data = line[5:].removeprefix(b" ").rstrip(b"\r")
                    if event == "endpoint":
                        self.post_to.set_result(data.decode())
                    else:
                        host.received(data)
        host.lost("the stream ended")

    async def _post(self, frame: bytes, message: dict[str, Any], host: Ear) -> None:
        target = self.url.rsplit("/", 1)[0] + self.post_to.result()
        headers = {"content-type": "application/json", **host.headers}
        async with self.http.post(target, data=frame, headers=headers) as answer:
            if answer.status == 401:
                host.lost("HTTP 401")
                return
            assert answer.status == 202, await answer.text()
