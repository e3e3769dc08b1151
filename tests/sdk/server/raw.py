"""A client that is none: it writes messages and reads the answers, as they are."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from gatewright.sdk.server import Server
from tests.sdk.client.scripted import within

__all__ = ["Raw"]


class Raw:
    """One connection to a server in this process."""

    def __init__(self, server: Server) -> None:
        self._pipe = server.attach(self)
        self._count = 0
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}

    def message(self, data: bytes) -> None:
        """Take one message (`Receiver`)."""
        message = json.loads(data)
        waiting = self._answers.get(message.get("id", -1))
        if waiting is not None and "method" not in message:
            waiting.set_result(message)

    def closed(self, reason: str) -> None:
        """The server is gone (`Receiver`)."""

    async def send(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """The whole answer to one request."""
        self._count += 1
        found = self._answers[self._count] = asyncio.get_running_loop().create_future()
        body = {"jsonrpc": "2.0", "id": self._count, "method": method, "params": params or {}}
        self._pipe.send(json.dumps(body).encode())
        return dict(await within(found))

    async def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """The result of one request."""
        answer = await self.send(method, params)
        assert "result" in answer, answer
        return dict(answer["result"])

    async def initialize(
        self, capabilities: dict[str, Any], revision: str = "2025-11-25"
    ) -> dict[str, Any]:
        """Shake hands; what the server said of itself."""
        info = {"name": "raw", "version": "0"}
        params = {"protocolVersion": revision, "capabilities": capabilities, "clientInfo": info}
        found = await self.ask("initialize", params)
        self._pipe.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        return found
