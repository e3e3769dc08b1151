"""MCP hosts written from the specification's text, sharing no code with the gateway.

A `Host` speaks one revision over one wire. Frames are kept as the bytes they were (`Host.frames`), so
that a test can compare what arrived with what was sent.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from tests.behaviour.gateway import Gateway, Pipes
from tests.behaviour.wires import (
    DEADLINE,
    MODERN,
    HttpWire,
    SseWire,
    StdioWire,
    WebSocketWire,
    Wire,
)

__all__ = ["DOORS", "EVERY_DOOR", "META", "Host", "RpcError", "behind", "host"]

META = "io.modelcontextprotocol/"

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

Answerer = Callable[[str, dict[str, Any]], dict[str, Any] | None]


class RpcError(Exception):
    """An error that came back."""

    def __init__(self, error: dict[str, Any], status: int | None = None) -> None:
        super().__init__(json.dumps(error))
        self.code: int = error.get("code", 0)
        self.message: str = error.get("message", "")
        self.data: Any = error.get("data")
        self.status = status


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
        self.gone = asyncio.Event()
        """The connection was lost."""
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
        self.gone.set()
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(ConnectionError(reason))
                waiting.exception()  # nobody may have asked for the result, as of a request that lasts

    def spawn(self, job: Any) -> asyncio.Task[Any]:
        """Run something beside."""
        task: asyncio.Task[Any] = asyncio.ensure_future(job)
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


def _wire(kind: str, gateway: Gateway, profile: str) -> Wire:
    name = f"mcp/{profile}" if profile else "mcp"
    if kind == "stdio":
        return StdioWire(gateway)
    if kind == "websocket":
        return WebSocketWire(gateway.urls[name])
    if kind == "sse":
        return SseWire(gateway.urls["sse"])
    return HttpWire(gateway.urls[name])


def behind(client: Host, gateway: Gateway) -> Gateway:
    """The gateway that a host speaks to: on pipes it is one of the host's own, with the same configuration."""
    return Pipes(client.wire.folder) if isinstance(client.wire, StdioWire) else gateway


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
