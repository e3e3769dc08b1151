"""A host at the other end of a pipe, for the tests of duplex doors."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Mapping
from typing import Any

from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.headers_and_meta import META_CLIENT_CAPABILITIES, META_VERSION
from tests.dialects.client import MODERN, rpc, within

__all__ = ["META", "Host"]

META: dict[str, Any] = {META_VERSION: MODERN, META_CLIENT_CAPABILITIES: {}}


class Host:
    """Sends whole messages with `send`, once that is set, and keeps what comes, in order."""

    send: Callable[[bytes], None]
    reading: asyncio.Task[None]
    """Who reads for it, where that is a task."""

    def __init__(self) -> None:
        self.ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._came: asyncio.Queue[bytes] = asyncio.Queue()
        self._ids = itertools.count(1)

    # -- what a pipe calls

    def message(self, data: bytes) -> None:
        self._came.put_nowait(data)

    def closed(self, reason: str) -> None:
        if not self.ended.done():
            self.ended.set_result(reason)

    # -- what a test does

    async def next(self) -> Any:
        """The next message."""
        return jsonrpc.decode(await within(self._came.get()))

    def began(self, method: str, params: Mapping[str, Any] | None = None, ident: Any = None) -> Any:
        """Send a request; its id."""
        number = next(self._ids) if ident is None else ident
        self.send(rpc(method, params, number))
        return number

    async def ask(
        self, method: str, params: Mapping[str, Any] | None = None, ident: Any = None
    ) -> Any:
        """Send a request; the next message."""
        self.began(method, params, ident)
        return await self.next()

    def modern(self, method: str, params: Mapping[str, Any] | None = None, **more: Any) -> Any:
        """Send a modern request; its id."""
        ident = more.pop("ident", None)
        return self.began(method, {**(params or {}), "_meta": {**META, **more}}, ident)

    async def hello(self, revision: str = "2025-11-25", **capabilities: Any) -> Any:
        """The handshake; its result."""
        params = {"protocolVersion": revision, "capabilities": capabilities, "clientInfo": {}}
        answered = await self.ask("initialize", params, 0)
        self.send(rpc("notifications/initialized"))
        return answered["result"]

    def silent(self) -> bool:
        """Whether nothing has come that was not looked at."""
        return self._came.empty()
