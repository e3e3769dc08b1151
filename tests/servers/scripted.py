"""A tool server whose every message the test writes, at the other end of a pipe in memory."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from gatewright.call import Call, Outcome
from gatewright.mcp.client.link import Link
from gatewright.mcp.client.pipe_link import PipeLink
from gatewright.mcp.protocol.mcp_client import Handshake
from gatewright.mcp.wire.versions import LATEST_LEGACY
from gatewright.servers.spec import ServerSpec
from gatewright.transport.memory import MemoryPipe, pair
from tests.servers.rig import DEADLINE, INFO, FakeBack, make_call

__all__ = ["Ear", "Scripted", "linked", "start"]


class Ear:
    """Takes what a server says outside any call."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, dict[str, Any]]] = []
        self.renewals = 0

    def said(self, link: Link, method: str, params: dict[str, Any]) -> None:
        """Record it."""
        self.heard.append((method, params))

    def renewed(self, link: Link) -> None:
        """Record it."""
        self.renewals += 1


class Scripted:
    """The server's end: what arrived, in order, and the pen."""

    pipe: MemoryPipe

    def __init__(self) -> None:
        self._inbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.ended = ""

    def message(self, data: bytes) -> None:
        """Take one message (`Receiver`)."""
        self._inbox.put_nowait(json.loads(data))

    def closed(self, reason: str) -> None:
        """Learn of the end (`Receiver`)."""
        self.ended = reason

    async def next(self) -> dict[str, Any]:
        """The next message of the gateway."""
        async with asyncio.timeout(DEADLINE):
            return await self._inbox.get()

    def idle(self) -> bool:
        """Whether nothing unread has arrived."""
        return self._inbox.empty()

    def say(self, **message: Any) -> None:
        """Send one JSON-RPC message."""
        self.write(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def write(self, data: bytes) -> None:
        """Send anything."""
        self.pipe.send(data)


@asynccontextmanager
async def linked(
    revision: str = LATEST_LEGACY, ear: Ear | None = None, **spec: Any
) -> AsyncIterator[tuple[PipeLink, Scripted]]:
    """A link that has said hello to a scripted server."""
    server = Scripted()
    capabilities = spec.pop("capabilities", {})
    known = ServerSpec(id="scripted", era="legacy", **spec)
    link = PipeLink(known, INFO, ear or Ear())
    pipe, server.pipe = pair(link, server)
    handshake = Handshake(info=INFO, era="legacy", face=known.face)
    greeting = asyncio.ensure_future(link.greet(pipe, handshake))
    hello = await server.next()
    found = {"protocolVersion": revision, "capabilities": capabilities, "serverInfo": {}}
    server.say(id=hello["id"], result=found)
    async with asyncio.timeout(DEADLINE):
        await greeting
    assert (await server.next())["method"] == "notifications/initialized"
    try:
        yield link, server
    finally:
        link.close("the test is over")


def start(
    link: Link,
    back: FakeBack | None = None,
    *,
    seconds: float = DEADLINE,
    call: Call | None = None,
    **more: Any,
) -> asyncio.Future[Outcome]:
    """Put a tool call to the server, without waiting for its answer."""
    params = more.pop("params", {"name": "tool", "arguments": {}})
    call = call or make_call("tool", "tools/call", params, **more)
    deadline = asyncio.get_running_loop().time() + seconds
    work = link.request(
        call.method, call.params, call=call, back=back or FakeBack(), deadline=deadline
    )
    return asyncio.ensure_future(work)
