"""Clients of the doors at which callers are only answered: one frame in, what comes back, and nothing else."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

import aiohttp

from tests.behaviour.gateway import Gateway
from tests.behaviour.wires import DEADLINE

__all__ = ["ANSWERED", "Answered", "answered"]

ANSWERED = {
    "rpc": "ggen",
    "rpc profile": "ggen",
    "rpc batch": "ggen",
    "rpc socket": "ggen",
    "mcp auth": "ggen",
    "rest": "rest",
    "groundhog": "groundhog",
}
"""Way in → the door that it leads to."""
_NONE = frozenset({"method_not_found", "invalid_method", "unknown_method", "invalid_request"})
"""What refusals call a message that is none here."""


class Answered:
    """See the module's text. `frames` are all that came, in order."""

    def __init__(self, http: aiohttp.ClientSession, way: str, gateway: Gateway, key: str) -> None:
        self.way = way
        self.door = ANSWERED[way]
        self.frames: list[dict[str, Any]] = []
        self.statuses: list[int] = []
        self._http = http
        self._urls = gateway.urls
        self._key = key
        self._socket: aiohttp.ClientWebSocketResponse | None = None

    async def open(self) -> None:
        """Connect, where there is something to connect."""
        places = {"rpc socket": "rpc", "groundhog": "groundhog"}
        if self.way in places:
            url = self._urls[places[self.way]].replace("http", "ws", 1)
            self._socket = await self._http.ws_connect(url, headers=self._head(), max_msg_size=0)
            await self.send(
                {"id": 0, "method": "tools/list", "params": {}}
            )  # the first says which dialect it is

    def _head(self) -> dict[str, str]:
        return {} if self.way == "mcp auth" else {"authorization": f"Bearer {self._key}"}

    async def send(self, message: dict[str, Any]) -> list[dict[str, Any]]:
        """What comes back for one message; over a socket of a request alone."""
        frame: Any = {"jsonrpc": "2.0", **message}
        if self.way == "mcp auth":
            frame["auth"] = {"type": "bearer", "token": self._key}
        if self._socket is not None:
            return await self._exchanged(self._socket, frame)
        if self.way == "rest":
            return await self._rest(frame)
        url = self._urls["mcp" if self.way == "mcp auth" else "rpc"]
        url += "/small" if self.way == "rpc profile" else ""
        body = [frame] if self.way == "rpc batch" else frame
        async with self._http.post(url, json=body, headers=self._head()) as answer:
            text = await answer.text()
        self.statuses.append(answer.status)
        said = json.loads(text) if text else []
        found = said if isinstance(said, list) else [said]
        self.frames += found
        return found

    async def _exchanged(self, socket: Any, frame: dict[str, Any]) -> list[dict[str, Any]]:
        await socket.send_str(json.dumps(frame))
        if "method" not in frame or "id" not in frame:
            return []
        found: list[dict[str, Any]] = []
        while not found or found[-1].get("id") != frame["id"]:
            found.append(await asyncio.wait_for(socket.receive_json(), DEADLINE))
        self.frames += found
        return found

    async def _rest(self, frame: dict[str, Any]) -> list[dict[str, Any]]:
        """As a path of its own, below the tools, and as a body where a list is."""
        base, method = self._urls["rest"].removesuffix("/tools"), str(frame.get("method", "none"))
        asked = {
            "tools/list": ("GET", "/tools"),
            "tools/call": ("POST", f"/tools/{frame.get('params', {}).get('name')}"),
        }.get(method)
        plain = [("POST", "/tools"), ("POST", f"/{method}")]
        if not method.startswith("mgp/"):  # which are names of tools of the gateway
            plain.append(("POST", f"/tools/{quote(method, safe='')}"))
        found = []
        for verb, path in [asked] if asked and "id" in frame else plain:
            told = frame["params"].get("arguments") if asked and "id" in frame else frame
            body: dict[str, Any] = {"json": told} if verb == "POST" else {}
            async with self._http.request(
                verb, base + path, headers=self._head(), **body
            ) as answer:
                text = await answer.text()
            self.statuses.append(answer.status)
            result = {"result": text} if answer.status == 200 else {"error": {"data": text}}
            found.append(result)
        self.frames += found
        return found

    async def becomes(self, message: dict[str, Any]) -> str:
        """`answered`, or `refused` as something that is none here."""
        replies = await self.send(message)
        (reply,) = [one for one in replies if "id" not in one or one["id"] == message["id"]][:1]
        if "result" in reply:
            return "answered"
        return "refused" if self._is_none(reply["error"]) else "answered"

    def _is_none(self, error: dict[str, Any]) -> bool:
        data = error.get("data")
        if self.way == "rest":
            return any(
                one in str(data) for one in ("method_not_found", "tool_not_found", "nothing")
            )
        assert isinstance(data, dict), error
        return data.get("kind", data.get("error_code")) in _NONE


@asynccontextmanager
async def answered(gateway: Gateway, way: str, key: str) -> AsyncIterator[Answered]:
    """A client that came in by one way."""
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=DEADLINE)) as http:
        one = Answered(http, way, gateway, key)
        await one.open()
        yield one
