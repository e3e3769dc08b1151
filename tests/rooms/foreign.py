"""A client of MCPx written from the text alone, in the manner of the TypeScript ones: it shares no code with the gateway.

It connects to `GATEWAY/ws?topic=TOPIC` with a bearer header, resolves once the welcome is there, keeps a list of
participants by presence, and hands everything to whoever listens.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable
from datetime import datetime
from typing import Any
from urllib.parse import quote

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

__all__ = ["Guest"]

SECONDS = 20.0


def _check(envelope: dict[str, Any]) -> None:
    """What the gateway says itself has every member that the TypeScript clients' schema wants, and of that type: `ts` always, `to` and
    `correlation_id` only where there is something in them."""
    shown = dict(envelope)
    assert shown.pop("protocol") == "mcpx/v0.1"
    body = shown.pop("payload")
    to = shown.pop("to", ["x"])
    about = shown.pop("correlation_id", "x")
    assert set(shown) == {"id", "ts", "from", "kind"}, envelope
    assert all(isinstance(one, str) and one for one in (*shown.values(), *to, about)), envelope
    assert isinstance(to, list)
    assert to, envelope
    datetime.fromisoformat(shown["ts"])
    people: list[dict[str, Any]] = []
    if shown["kind"] == "system/welcome":
        people = [body["you"], *body["participants"]]
    elif shown["kind"] == "system/presence":
        # Who leaves is named, and nothing more is said of them.
        people = [{"capabilities": [], **body["participant"]}]
    for one in people:
        assert isinstance(one["id"], str), envelope
        assert all(isinstance(pattern, str) for pattern in one["capabilities"]), envelope
    if shown["kind"] == "system/presence":
        assert body["event"] in {"join", "leave"}, envelope
    if shown["kind"] == "system/error":
        assert isinstance(body["error"], str), envelope
        assert isinstance(body["message"], str), envelope


class Guest:
    """One participant. `heard` has everything that came, as text; `next` reads on from there."""

    def __init__(self, gateway: str, topic: str, token: str | None) -> None:
        self._url = f"{gateway}?topic={quote(topic, safe='')}"
        self._token = token
        self._numbers = itertools.count(1)
        self._new = asyncio.Condition()
        self._read = 0
        self.heard: list[str] = []
        self.participants: dict[str, list[str]] = {}
        self.id = ""
        self.capabilities: list[str] = []
        self.closed: tuple[int, str] | None = None
        self.listeners: list[Callable[[dict[str, Any]], None]] = []

    async def connect(self, more: str = "", **options: Any) -> Guest:
        """Open the connection and wait for the welcome. Raises what the library raises where that is refused."""
        headers = dict(options.pop("headers", {}))
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        self.socket: ClientConnection = await connect(
            self._url + more,
            additional_headers=headers,
            proxy=None,
            open_timeout=SECONDS,
            **options,
        )
        self._pump = asyncio.create_task(self._run())
        welcome = await self.next("system/welcome")
        assert welcome["to"] == [self.id]
        return self

    async def _run(self) -> None:
        try:
            async for frame in self.socket:
                assert isinstance(frame, str)
                self._take(frame)
                async with self._new:
                    self._new.notify_all()
        except ConnectionClosed:
            pass
        self.closed = (self.socket.close_code or 0, self.socket.close_reason or "")
        async with self._new:
            self._new.notify_all()

    def _take(self, frame: str) -> None:
        self.heard.append(frame)
        envelope = json.loads(frame)
        body = envelope["payload"]
        if envelope["from"] == "system:gateway":
            _check(envelope)
        if envelope["kind"] == "system/welcome":
            self.id = body["you"]["id"]
            self.capabilities = body["you"]["capabilities"]
            self.participants = {one["id"]: one["capabilities"] for one in body["participants"]}
        elif envelope["kind"] == "system/presence" and body["event"] == "join":
            self.participants[body["participant"]["id"]] = body["participant"]["capabilities"]
        elif envelope["kind"] == "system/presence":
            self.participants.pop(body["participant"]["id"], None)
        for listener in self.listeners:
            listener(envelope)

    # -- speaking

    def envelope(self, kind: str, payload: Any, /, **more: Any) -> dict[str, Any]:
        """A complete envelope, as `JSON.stringify` of an object would have it."""
        number = next(self._numbers)
        body = {
            "protocol": "mcpx/v0.1",
            "id": f"{self.id}-{number}",
            "ts": "2025-08-26T14:00:00.000Z",
            "from": self.id,
            "kind": kind,
            "payload": payload,
        }
        return {name: value for name, value in {**body, **more}.items() if value is not ...}

    async def post(self, kind: str, payload: Any = None, /, **more: Any) -> str:
        """Send an envelope; its id. A member that is `...` is left out."""
        envelope = self.envelope(kind, {} if payload is None else payload, **more)
        await self.raw(json.dumps(envelope))
        return str(envelope.get("id"))

    async def chat(self, text: str, **more: Any) -> str:
        """Say something to everybody."""
        return await self.post("chat", {"text": text, "format": "plain"}, **more)

    async def raw(self, text: str | bytes) -> None:
        """Send a frame."""
        await self.socket.send(text)

    # -- listening

    async def next(self, kind: str | None = None) -> dict[str, Any]:
        """The next message, or the next of a kind: what comes before it is passed over."""
        async with asyncio.timeout(SECONDS), self._new:
            while True:
                while self._read < len(self.heard):
                    found: dict[str, Any] = json.loads(self.heard[self._read])
                    self._read += 1
                    if kind is None or found["kind"] == kind:
                        return found
                assert self.closed is None, f"closed: {self.closed}"
                await self._new.wait()

    async def error(self) -> dict[str, Any]:
        """The next `system/error`."""
        return await self.next("system/error")

    async def fence(self) -> list[dict[str, Any]]:
        """Everything that came and was not read yet. By an echo of our own, so that nothing is under way that was
        sent before; needs the capability `chat`, and echo."""
        mark = await self.chat("fence")
        found = []
        while (one := await self.next())["id"] != mark:
            found.append(one)
        return found

    async def over(self) -> tuple[int, str]:
        """Wait for the end: close code and reason."""
        async with asyncio.timeout(SECONDS), self._new:
            while self.closed is None:
                await self._new.wait()
        return self.closed

    async def leave(self) -> None:
        """Close in an orderly way."""
        await self.socket.close()
        await self._pump

    async def crash(self) -> None:
        """Be gone without a goodbye."""
        self.socket.transport.abort()
        await self._pump
