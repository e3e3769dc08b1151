"""A gateway in this process with an obedient server, and raw HTTP clients that keep their connection and send equal heads, so that their calls are prepared."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from gatewright.app.announce import Ready
from gatewright.app.gateway import Gateway
from gatewright.config import load, override
from tests.behaviour.gateway import config, server, write

__all__ = ["PreparedHouse", "RawClient", "prepared_house", "settings_of"]


class RawClient:
    """One connection of one session."""

    def __init__(self, port: int, key: str = "", revision: str = "2025-06-18") -> None:
        self._port, self._key, self._revision = port, key, revision
        self._session = ""
        self._count = 100

    async def open(self, **capabilities: Any) -> RawClient:
        """Say hello."""
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self._port)
        info = {"name": "raw", "version": "1"}
        said = {"protocolVersion": self._revision, "capabilities": capabilities, "clientInfo": info}
        headers, _ = await self.post({"id": 1, "method": "initialize", "params": said})
        self._session = headers["mcp-session-id"]
        await self.post({"method": "notifications/initialized"})
        return self

    def close(self) -> None:
        """Leave."""
        self.writer.close()

    @property
    def session(self) -> str:
        return self._session

    async def call(self, name: str, text: str, how: str = "plain", **more: Any) -> dict[str, Any]:
        """The answer to one call of a tool; the message."""
        arguments = {"text": text, **({} if how == "plain" else {"how": how}), **more}
        self._count += 1
        return await self.ask("tools/call", {"name": name, "arguments": arguments}, self._count)

    async def text(self, name: str, text: str, how: str = "plain") -> str:
        """What a tool says, or the reason why it does not."""
        said = await self.call(name, text, how)
        return told(said)

    async def ask(self, method: str, params: dict[str, Any], ident: Any) -> dict[str, Any]:
        """The answer to one request."""
        _, body = await self.post({"id": ident, "method": method, "params": params})
        if body[:1] == b"{":
            found: dict[str, Any] = json.loads(body)
            return found
        events = [line[5:] for line in body.splitlines() if line.startswith(b"data:")]
        messages = [json.loads(one) for one in events if one.strip()]
        return next(one for one in messages if one.get("id") == ident and "method" not in one)

    async def post(self, message: dict[str, Any]) -> tuple[dict[str, str], bytes]:
        """Headers and body of the response."""
        self.send(message)
        return await self.receive()

    def send(self, message: dict[str, Any]) -> None:
        """Send a message, and wait for nothing."""
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        lines = [
            "POST /mcp HTTP/1.1",
            f"Host: 127.0.0.1:{self._port}",
            "Content-Type: application/json",
            "Accept: application/json, text/event-stream",
            *([f"Authorization: Bearer {self._key}"] if self._key else []),
            *([f"MCP-Session-Id: {self._session}"] if self._session else []),
            *([f"MCP-Protocol-Version: {self._revision}"] if self._session else []),
            f"Content-Length: {len(body)}",
        ]
        self.writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    async def receive(self) -> tuple[dict[str, str], bytes]:
        """The next response."""
        status = (await self.reader.readline()).decode()
        headers = {"status": status.split()[1] if status else ""}
        while (line := (await self.reader.readline()).strip()) != b"":
            name, _, value = line.decode().partition(":")
            headers[name.lower()] = value.strip()
        if headers.get("transfer-encoding") != "chunked":
            return headers, await self.reader.readexactly(int(headers.get("content-length", "0")))
        body = b""
        while size := int(await self.reader.readline(), 16):
            body += (await self.reader.readexactly(size + 2))[:-2]
        await self.reader.readline()
        return headers, body


def told(said: dict[str, Any]) -> str:
    """What a message says, or why it says nothing."""
    if "error" in said:
        return str(said["error"].get("data", {}).get("reason") or said["error"]["message"])
    result = said["result"]
    text: str = result["content"][0]["text"]
    if result.get("isError") and "\n{" in text:
        return str(json.loads(text.partition("\n")[2])["reason"])
    return text


class PreparedHouse:
    """The gateway, and what may be asked of it."""

    def __init__(self, gateway: Gateway, port: int) -> None:
        self.gateway, self.port = gateway, port

    @property
    def prepared(self) -> Any:
        """The kernel's prepared calls."""
        return self.gateway.kernel.prepared

    async def client(self, key: str = "", revision: str = "2025-06-18", **can: Any) -> RawClient:
        """One that has said hello."""
        return await RawClient(self.port, key, revision).open(**can)

    async def served(
        self, client: RawClient, name: str, text: str, how: str = "plain"
    ) -> tuple[str, bool]:
        """What a call says, and whether it was a prepared one."""
        before = self.prepared.served
        return await client.text(name, text, how), self.prepared.served > before

    async def warm(self, client: RawClient, name: str = "obedient__tell") -> None:
        """Call until calls are prepared. The third is the first that can be."""
        for at in range(8):
            if (await self.served(client, name, f"warm {at}"))[1]:
                return
        raise AssertionError("no call was prepared")


def settings_of(folder: Path, of_tools: Any = None, **tables: Any) -> Any:
    """The settings of a file in that folder; `of_tools` is what it says of the tools of its server."""
    of_server = {} if of_tools is None else {"tools": of_tools}
    content = config(server("obedient", **of_server), **tables)
    return override(load(write(folder, content)), port=0)


@asynccontextmanager
async def prepared_house(folder: Path, **tables: Any) -> AsyncIterator[PreparedHouse]:
    """A gateway that serves."""
    loop = asyncio.get_running_loop()
    port: asyncio.Future[int] = loop.create_future()

    def ready(said: Ready) -> None:
        port.set_result(int(said.url.split("/")[2].rpartition(":")[2]))

    async with Gateway(settings_of(folder, **tables)) as gateway:
        serving = asyncio.create_task(gateway.serve_http(ready))
        try:
            await gateway.supervisor.settled()
            yield PreparedHouse(gateway, await port)
        finally:
            serving.cancel()
            await asyncio.wait([serving])
