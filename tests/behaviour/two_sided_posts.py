"""The HTTP requests of the two-sided model, made of the gateway's application without a socket."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Protocol

from gatewright.app.gateway import Gateway
from gatewright.web.sse import SseParser
from tests.behaviour.two_sided_facts import Hosted

__all__ = ["Ear", "Post", "Posting"]


class Site(Protocol):
    """Where requests go."""

    gateway: Gateway


class Posting(Protocol):
    """Who makes them."""

    key: str
    session: str
    host: Hosted
    posts: dict[Post, None]

    @property
    def house(self) -> Site:
        """Where it stands."""

    def take(self, said: Any, stream: int | None) -> None:
        """Take one message; `stream` is the request on whose own stream it came."""


class Post:
    """One HTTP request, made of the gateway's application without a socket."""

    def __init__(
        self, client: Posting, verb: str, body: bytes, headers: dict[str, str], stream: Any
    ) -> None:
        self.stream = stream
        self._client, self._body = client, body or None
        self._gone = asyncio.Event()
        self._parser: SseParser | None = None
        self._whole = b""
        sent = {
            "host": "127.0.0.1",
            "authorization": f"Bearer {client.key}",
            "content-type": "application/json",
            "accept": "application/json, text/event-stream"
            if verb == "POST"
            else "text/event-stream",
            **headers,
        }
        if client.session:
            sent["mcp-session-id"] = client.session
        profile = f"/{client.host.profile}" if client.host.profile else ""
        scope = {"type": "http", "method": verb, "path": f"/mcp{profile}", "query_string": b""}
        scope["headers"] = [(name.lower().encode(), one.encode()) for name, one in sent.items()]
        client.posts[self] = None
        app = client.house.gateway.app
        self.task = asyncio.get_running_loop().create_task(app(scope, self._receive, self._send))
        self.task.add_done_callback(lambda _: client.posts.pop(self, None))

    def leave(self) -> None:
        """Close the connection."""
        self._gone.set()

    async def _receive(self) -> dict[str, Any]:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: dict[str, Any]) -> None:
        if self._gone.is_set():
            return
        if message["type"] == "http.response.start":
            headers = dict(message["headers"])
            self._client.session = headers.get(b"mcp-session-id", b"").decode() or (
                self._client.session
            )
            if headers.get(b"content-type", b"").startswith(b"text/event-stream"):
                self._parser = SseParser(1 << 26)
            return
        data = message.get("body", b"")
        if self._parser is not None:
            for event in self._parser.feed(data):
                if event.data:
                    self._client.take(json.loads(event.data), self.stream)
            return
        self._whole += data
        if not message.get("more_body") and self._whole[:1] == b"{":
            self._client.take(json.loads(self._whole), self.stream)


class Ear:
    """The end of a client's pipe."""

    def __init__(self, client: Posting) -> None:
        self._client = client

    def message(self, data: bytes) -> None:
        """Take one message of the gateway (`Receiver`)."""
        self._client.take(json.loads(data), None)

    def closed(self, reason: str) -> None:
        """The gateway has gone (`Receiver`)."""
