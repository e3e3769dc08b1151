"""Clients for the tests of doors: messages, ASGI requests without a socket, and what comes back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.headers_and_meta import (
    META_CLIENT_CAPABILITIES,
    META_CLIENT_INFO,
    META_VERSION,
    request_headers,
)
from gatewright.web.sse import SseEvent, SseParser

__all__ = ["MODERN", "SECONDS", "Answered", "Asgi", "Sent", "Wire", "modern", "rpc", "within"]

T = TypeVar("T")

SECONDS = 10.0
MODERN = "2026-07-28"

Asgi = Callable[..., Coroutine[Any, Any, None]]


async def within(work: Awaitable[T], seconds: float = SECONDS) -> T:
    """The result of something that has to come soon."""
    return await asyncio.wait_for(work, seconds)


def rpc(method: str, params: Any = None, ident: Any = None) -> bytes:
    """A request, or a notification where there is no id."""
    message = {"jsonrpc": "2.0", "method": method}
    message |= {} if ident is None else {"id": ident}
    return jsonrpc.encode(message | ({} if params is None else {"params": params}))


class Sent(NamedTuple):
    """What a client posts."""

    body: bytes
    headers: dict[str, str]


def modern(
    method: str,
    params: Mapping[str, Any] | None = None,
    *,
    ident: Any = 1,
    capabilities: Mapping[str, Any] | None = None,
    meta: Mapping[str, Any] | None = None,
    annotations: Mapping[tuple[str, ...], str] | None = None,
) -> Sent:
    """A complete modern request."""
    own = {
        META_VERSION: MODERN,
        META_CLIENT_INFO: {"name": "test", "version": "1"},
        META_CLIENT_CAPABILITIES: dict(capabilities or {}),
    }
    full = {**(params or {}), "_meta": {**own, **(meta or {})}}
    headers = request_headers(method, full, annotations or {}, MODERN)
    return Sent(rpc(method, full, ident), headers)


class Answered(NamedTuple):
    """A whole HTTP response."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def kind(self) -> str:
        """The media type."""
        return self.headers.get("content-type", "").partition(";")[0]

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return jsonrpc.decode(self.body)

    @property
    def events(self) -> list[SseEvent]:
        """The events of an event stream."""
        return SseParser(1 << 24).feed(self.body)

    @property
    def messages(self) -> list[Any]:
        """The messages in the body, whatever its form; empty events are none."""
        if self.kind == "text/event-stream":
            return [jsonrpc.decode(one.data) for one in self.events if one.data]
        return [self.json]


class Wire:
    """One HTTP request on its way, and its response as it comes."""

    def __init__(
        self,
        app: Asgi,
        method: str,
        path: str,
        headers: Sequence[tuple[bytes, bytes]],
        body: bytes,
        held: asyncio.Event | None = None,
    ) -> None:
        """The last byte of the body waits for `held`, if there is one."""
        path, _, query = path.partition("?")
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "query_string": query.encode(),
            "headers": list(headers),
        }
        self._body: bytes | None = body
        self._held = held
        self.received = asyncio.Event()
        """Set when all of the body was read but the byte that is `held`."""
        self._last: tuple[asyncio.Event, bytes] | None = None
        self._gone = asyncio.Event()
        self._pieces: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._head: asyncio.Future[tuple[int, dict[str, str]]] = (
            asyncio.get_running_loop().create_future()
        )
        self.parser = SseParser(1 << 26)
        self._events: list[SseEvent] = []
        self.reading = asyncio.Event()
        self.reading.set()
        self.task = asyncio.create_task(app(scope, self._receive, self._send))

    async def _receive(self) -> dict[str, Any]:
        if self._body is not None and self._held is not None:
            held, self._held = self._held, None
            self._last = held, self._body[-1:]
            self.received.set()
            body, self._body = self._body[:-1], None
            return {"type": "http.request", "body": body, "more_body": True}
        if self._last is not None:
            (held, body), self._last = self._last, None
            await held.wait()
            return {"type": "http.request", "body": body}
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: dict[str, Any]) -> None:
        await self.reading.wait()
        if self._gone.is_set():
            return
        if message["type"] == "http.response.start":
            headers = {name.decode(): value.decode() for name, value in message["headers"]}
            self._head.set_result((message["status"], headers))
            return
        if message.get("body"):
            self._pieces.put_nowait(message["body"])
        if not message.get("more_body"):
            self._gone.set()
            self._pieces.put_nowait(None)

    async def head(self) -> tuple[int, dict[str, str]]:
        """Status and headers."""
        return await within(asyncio.shield(self._head))

    async def whole(self) -> Answered:
        """The response, once it is complete."""
        status, headers = await self.head()
        pieces = []
        while (piece := await within(self._pieces.get())) is not None:
            pieces.append(piece)
        return Answered(status, headers, b"".join(pieces))

    async def event(self) -> SseEvent:
        """The next event of the stream. Raises `EOFError` at its end."""
        while not self._events:
            piece = await within(self._pieces.get())
            if piece is None:
                raise EOFError
            self._events += self.parser.feed(piece)
        return self._events.pop(0)

    async def message(self) -> Any:
        """The next message of the stream."""
        return jsonrpc.decode((await self.event()).data)

    def leave(self) -> None:
        """Close the connection, as a client that goes away does."""
        self._gone.set()
        self.reading.set()
        self._pieces.put_nowait(None)
