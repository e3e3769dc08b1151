"""MCP hosts written from the specification's text, sharing no code with the gateway.

A `Host` speaks one revision over one wire. Frames are kept as the bytes they were (`Host.frames`), so
that a test can compare what arrived with what was sent.
"""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Protocol

import aiohttp

from tests.behaviour.gateway import COMMAND, Gateway

__all__ = ["DOORS", "EVERY_DOOR", "Host", "RpcError", "host"]

DEADLINE = 20.0
MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

DOORS = ("http 2025-11-25", "http 2026-07-28", "stdio 2025-11-25", "websocket 2025-11-25")
"""One of each kind."""
EVERY_DOOR = (
    *(
        f"{wire} {revision}"
        for wire in ("http", "stdio", "websocket")
        for revision in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", MODERN)
    ),
    "sse 2024-11-05",
    "sse 2025-11-25",
)

_FOLDERS = itertools.count()

Answerer = Callable[[str, dict[str, Any]], dict[str, Any] | None]


class RpcError(Exception):
    """An error that came back."""

    def __init__(self, error: dict[str, Any], status: int | None = None) -> None:
        super().__init__(json.dumps(error))
        self.code: int = error.get("code", 0)
        self.message: str = error.get("message", "")
        self.data: Any = error.get("data")
        self.status = status


class Wire(Protocol):
    """Carries frames."""

    async def send(self, frame: bytes, host: Host) -> None: ...

    async def open(self, host: Host) -> None: ...

    async def close(self) -> None: ...


class Host:
    """See the module's text. `answer` answers the server's questions; None refuses them."""

    def __init__(self, wire: Wire, revision: str, answer: Answerer | None = None) -> None:
        self.wire = wire
        self.revision = revision
        self.modern = revision == MODERN
        self.answer = answer
        self.capabilities: dict[str, Any] = {}
        self.frames: list[bytes] = []
        self.notes: list[dict[str, Any]] = []
        self.hello: dict[str, Any] = {}
        self.session: str | None = None
        self.status: dict[Any, int] = {}
        self.headers: dict[str, str] = {}
        self._ids = itertools.count(1)
        self._waiting: dict[Any, asyncio.Future[dict[str, Any]]] = {}
        self._noted = asyncio.Event()
        self._tasks: set[asyncio.Task[Any]] = set()

    # -- frames

    def received(self, frame: bytes, status: int | None = None) -> None:
        """Take one frame (or a batch)."""
        message = json.loads(frame)
        if isinstance(message, list):
            for one in message:
                self.received(json.dumps(one).encode())
            return
        self.frames.append(frame)
        if "method" in message and "id" in message:
            self.spawn(self._answer(message))
        elif "method" in message:
            self.notes.append(message)
            self._noted.set()
        else:
            if status is not None:
                self.status[message.get("id")] = status
            waiting = self._waiting.pop(message.get("id"), None)
            if waiting is not None and not waiting.done():
                waiting.set_result(message)

    def lost(self, reason: str) -> None:
        """The connection is gone: nobody will answer."""
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(ConnectionError(reason))

    def spawn(self, job: Any) -> asyncio.Task[Any]:
        """Run something beside."""
        task = asyncio.ensure_future(job)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _answer(self, question: dict[str, Any]) -> None:
        if question["method"] == "ping":
            await self.say({"id": question["id"], "result": {}})
            return
        result = self.answer and self.answer(question["method"], question.get("params") or {})
        if result is None:
            refusal = {"code": -1, "message": "the user declined"}
            await self.say({"id": question["id"], "error": refusal})
        else:
            await self.say({"id": question["id"], "result": result})

    async def say(self, message: dict[str, Any]) -> None:
        """Send one message."""
        await self.wire.send(json.dumps({"jsonrpc": "2.0", **message}).encode(), self)

    # -- requests

    async def start(self, method: str, params: dict[str, Any] | str | None = None) -> Any:
        """Send a request; its id. `params` as text goes out as it is."""
        ident = next(self._ids)
        self._waiting[ident] = asyncio.get_running_loop().create_future()
        text = params if isinstance(params, str) else json.dumps(self._with_meta(params or {}))
        frame = f'{{"jsonrpc":"2.0","id":{ident},"method":{json.dumps(method)},"params":{text}}}'
        await self.wire.send(frame.encode(), self)
        return ident

    async def start_raw(self, ident: Any, frame: str) -> Any:
        """Send a frame as it is, with this id in it; the id."""
        self._waiting[ident] = asyncio.get_running_loop().create_future()
        await self.wire.send(frame.encode(), self)
        return ident

    async def finish(self, ident: Any) -> dict[str, Any]:
        """The result of a request that was started. Raises `RpcError`."""
        waiting = self._waiting.get(ident)
        found = next((f for f in self.frames if _answers(f, ident)), None)
        if found is not None:
            message = json.loads(found)
        else:
            assert waiting is not None
            message = await asyncio.wait_for(waiting, DEADLINE)
        if "error" in message:
            raise RpcError(message["error"], self.status.get(ident))
        result: dict[str, Any] = message["result"]
        return result

    async def request(self, method: str, params: dict[str, Any] | str | None = None) -> Any:
        """The result of a request; a modern host answers what is asked and repeats it."""
        result = await self.finish(await self.start(method, params))
        while result.get("resultType") == "input_required" and self.answer is not None:
            assert not isinstance(params, str)
            answers = {
                key: self.answer(one["method"], one.get("params") or {}) or {"action": "decline"}
                for key, one in result.get("inputRequests", {}).items()
            }
            again = {**(params or {}), "inputResponses": answers}
            if "requestState" in result:
                again["requestState"] = result["requestState"]
            result = await self.finish(await self.start(method, again))
        return result

    async def call(self, tool: str, **arguments: Any) -> Any:
        """The result of a tool call."""
        return await self.request("tools/call", {"name": tool, "arguments": arguments})

    async def text(self, tool: str, **arguments: Any) -> str:
        """The first text of a tool's result."""
        result = await self.call(tool, **arguments)
        words: str = result["content"][0]["text"]
        return words

    async def tools(self) -> list[str]:
        """The names that are listed."""
        return [one["name"] for one in (await self.request("tools/list"))["tools"]]

    def frame_of(self, ident: Any) -> bytes:
        """The answer to a request as it arrived."""
        return next(frame for frame in self.frames if _answers(frame, ident))

    async def note(self, method: str, where: Callable[[dict[str, Any]], bool] = bool) -> Any:
        """The next notification of a method that fits."""
        async with asyncio.timeout(DEADLINE):
            while True:
                for note in self.notes:
                    if note["method"] == method and (where is bool or where(note)):
                        self.notes.remove(note)
                        return note
                self._noted.clear()
                await self._noted.wait()

    def _with_meta(self, params: dict[str, Any]) -> dict[str, Any]:
        if not self.modern:
            return params
        meta = {
            f"{META}protocolVersion": MODERN,
            f"{META}clientInfo": {"name": "host", "version": "1"},
            f"{META}clientCapabilities": self.capabilities,
        }
        return {**params, "_meta": {**meta, **params.get("_meta", {})}}

    async def open(self, capabilities: dict[str, Any]) -> None:
        """Shake hands, as the revision does it."""
        self.capabilities = capabilities
        await self.wire.open(self)
        if self.modern:
            self.hello = await self.request("server/discover")
            return
        who = {"name": "host", "version": "1"}
        self.hello = await self.request(
            "initialize",
            {"protocolVersion": self.revision, "capabilities": capabilities, "clientInfo": who},
        )
        await self.say({"method": "notifications/initialized"})
        if isinstance(self.wire, HttpWire) and self.session is not None:
            await self.wire.listen(self)

    async def close(self) -> None:
        """Leave."""
        if not isinstance(self.wire, StdioWire):
            for task in list(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.wire.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _answers(frame: bytes, ident: Any) -> bool:
    message = json.loads(frame)
    return "method" not in message and message.get("id") == ident


# -- wires ----------------------------------------------------------------------------------------


class StdioWire:
    """A gateway of its own behind pipes."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def open(self, host: Host) -> None:
        text = self._gateway.file.read_text()
        alone = self._gateway.folder / f"stdio-{next(_FOLDERS)}"
        alone.mkdir()
        path = alone / "mgp.toml"
        path.write_text(text.replace(str(self._gateway.folder / "state"), str(alone / "state")))
        self.folder = alone
        self.log = (alone / "gateway.log").open("wb")
        self.process = await asyncio.create_subprocess_exec(
            *COMMAND,
            "serve",
            "--stdio",
            "--config",
            str(path),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=self.log,
            limit=256 * 1024 * 1024,
        )
        host.spawn(self._read(host))

    async def _read(self, host: Host) -> None:
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            host.received(line.rstrip(b"\n"))
        host.lost("the gateway closed its output")

    async def send(self, frame: bytes, host: Host) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(frame + b"\n")
        await asyncio.wait_for(self.process.stdin.drain(), DEADLINE)

    async def close(self) -> None:
        assert self.process.stdin is not None
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

    async def open(self, host: Host) -> None:
        """Nothing is connected before the first request."""

    def head(self, host: Host, message: dict[str, Any]) -> dict[str, str]:
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
            headers["mcp-method"] = method
            name = (message.get("params") or {}).get(NAMED.get(method, ""))
            if isinstance(name, str):
                safe = name.isascii() and name.isprintable() and name == name.strip()
                wrapped = base64.b64encode(name.encode()).decode()
                headers["mcp-name"] = name if safe else f"=?base64?{wrapped}?="
        return headers

    async def send(self, frame: bytes, host: Host) -> None:
        message = json.loads(frame)
        task = host.spawn(self._post(frame, message, host))
        if "id" in message and "method" in message:
            self.posts[message["id"]] = task
        else:
            await asyncio.wait_for(task, DEADLINE)

    async def _post(self, frame: bytes, message: dict[str, Any], host: Host) -> None:
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
                elif answer.status >= 300:
                    host.lost(f"HTTP {answer.status}")
        except aiohttp.ClientError as problem:
            host.lost(str(problem))

    async def _events(self, answer: aiohttp.ClientResponse, host: Host) -> None:
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

    async def listen(self, host: Host) -> None:
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

        host.spawn(read())
        await asyncio.wait_for(opened, DEADLINE)

    async def close(self) -> None:
        await self.http.close()


class WebSocketWire:
    """Subprotocol `mcp`."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.http = aiohttp.ClientSession()

    async def open(self, host: Host) -> None:
        self.socket = await self.http.ws_connect(
            self.url, protocols=("mcp",), headers=host.headers, max_msg_size=0
        )
        host.spawn(self._read(host))

    async def _read(self, host: Host) -> None:
        async for message in self.socket:
            if message.type is aiohttp.WSMsgType.TEXT:
                host.received(message.data.encode())
        host.lost("the WebSocket closed")

    async def send(self, frame: bytes, host: Host) -> None:
        await self.socket.send_str(frame.decode())

    async def close(self) -> None:
        await self.socket.close()
        await self.http.close()


class SseWire(HttpWire):
    """HTTP+SSE of 2024-11-05."""

    async def open(self, host: Host) -> None:
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

    async def _stream(self, answer: aiohttp.ClientResponse, host: Host) -> None:
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

    async def _post(self, frame: bytes, message: dict[str, Any], host: Host) -> None:
        target = self.url.rsplit("/", 1)[0] + self.post_to.result()
        headers = {"content-type": "application/json", **host.headers}
        async with self.http.post(target, data=frame, headers=headers) as answer:
            assert answer.status == 202, await answer.text()


def _wire(kind: str, gateway: Gateway, profile: str) -> Wire:
    name = f"mcp/{profile}" if profile else "mcp"
    if kind == "stdio":
        return StdioWire(gateway)
    if kind == "websocket":
        return WebSocketWire(gateway.urls[name])
    if kind == "sse":
        return SseWire(gateway.urls["sse"])
    return HttpWire(gateway.urls[name])


@asynccontextmanager
async def host(
    gateway: Gateway,
    door: str = "http 2025-11-25",
    *,
    can: dict[str, Any] | None = None,
    answer: Answerer | None = None,
    headers: dict[str, str] | None = None,
    profile: str = "",
) -> AsyncIterator[Host]:
    """A host at one of the gateway's doors (`DOORS`), its handshake done."""
    kind, revision = door.split()
    one = Host(_wire(kind, gateway, profile), revision, answer)
    one.headers = dict(headers or {})
    try:
        await one.open(can or {})
        yield one
    finally:
        await one.close()
