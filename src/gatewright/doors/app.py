"""The one ASGI application: which path is which door, and what must hold before any door is opened.

Host and Origin are checked first (a web page must not reach a local port through its visitor's
browser), then who asks; a door sees only requests that passed both.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from gatewright.call import Caller, Refusal
from gatewright.doors.front import Front
from gatewright.doors.health import Health
from gatewright.doors.http_reply import Send, challenge, send_json, send_plain
from gatewright.doors.http_request import HttpRequest, Receive
from gatewright.doors.legacy_sse import LegacySse
from gatewright.doors.streamable_http import StreamableHttp
from gatewright.doors.websocket import WebSocketDoor
from gatewright.wire import jsonrpc
from gatewright.wire.codes import reason_of

__all__ = ["App", "Guard", "bearer"]

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]", "::1"})

_VERDICTS = 1000
_SHORT = 256

Door = Callable[[HttpRequest], Awaitable[None]]


class Guard:
    """Which Host and Origin headers are ours. Loopback names always are, at any port."""

    def __init__(self, hosts: tuple[str, ...] = (), origins: tuple[str, ...] = ()) -> None:
        self._hosts = frozenset(host.lower() for host in hosts)
        self._origins = frozenset(origin.lower().rstrip("/") for origin in origins)
        self._known: dict[tuple[bytes | None, bytes | None], str] = {}
        """Verdicts, for the few pairs that nearly all requests carry."""

    def refuses(self, headers: Mapping[bytes, bytes]) -> str:
        """The reason why a request is refused, or nothing."""
        key = headers.get(b"host"), headers.get(b"origin")
        known = self._known.get(key)
        if known is None:
            known = self._judge(*key)
            if len(self._known) < _VERDICTS and sum(len(one or b"") for one in key) < _SHORT:
                self._known[key] = known
        return known

    @property
    def remembered(self) -> int:
        """How many verdicts are kept."""
        return len(self._known)

    def _judge(self, host: bytes | None, origin: bytes | None) -> str:
        if host is None or not self._is_host(host.decode("latin-1").lower()):
            return "host_refused"
        if origin is not None and not self._is_origin(origin.decode("latin-1").lower()):
            return "origin_refused"
        return ""

    def _is_host(self, host: str) -> bool:
        if host in self._hosts:
            return True
        name = host if host.endswith("]") else host.rpartition(":")[0] or host
        return name in _LOOPBACK or name in self._hosts

    def _is_origin(self, origin: str) -> bool:
        if origin.rstrip("/") in self._origins:
            return True
        try:
            parts = urlsplit(origin)
            return parts.scheme in ("http", "https") and parts.hostname in _LOOPBACK
        except ValueError:
            return False


class App:
    """Routes; see the module's text."""

    def __init__(
        self, front: Front, guard: Guard, profiles: frozenset[str], health: Health
    ) -> None:
        self._front = front
        self._guard = guard
        self._profiles = profiles
        self._health = health
        self.streamable = StreamableHttp(front)
        self.legacy_sse = LegacySse(front)
        self.websocket = WebSocketDoor(front)

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """One ASGI connection."""
        kind = scope["type"]
        if kind == "http":
            await self._http(scope, receive, send)
        elif kind == "websocket":
            await self._websocket(scope, receive, send)

    async def _http(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        path = scope["path"]
        headers = dict(scope["headers"])
        flaw = self._guard.refuses(headers)
        if flaw:
            await _refuse(send, flaw, "this Host or Origin is not served; see allowed_hosts")
            return
        if path in ("/livez", "/readyz"):
            await self._health(path, send)
            return
        door, profile = self._route(path)
        if door is None:
            await send_plain(send, 404, b"nothing is here; the MCP endpoint is /mcp\n")
            return
        credential = bearer(headers)
        caller = self._front.identify("http", credential)
        if isinstance(caller, Refusal):
            await _challenge(send, caller)
            return
        request = HttpRequest(
            scope,
            receive,
            send,
            headers=headers,
            caller=caller,
            credential=credential,
            profile=profile,
            refused=self._front.refused,
        )
        await door(request)

    def _route(self, path: str) -> tuple[Door | None, str]:
        if path == "/mcp":
            return self.streamable, ""
        if path == "/sse":
            return self.legacy_sse.open, ""
        if path == "/messages":
            return self.legacy_sse.post, ""
        if path == "/metrics":
            return self._health.metrics, ""
        if path.startswith("/mcp/") and path[5:] in self._profiles:
            return self.streamable, path[5:]
        return None, ""

    async def _websocket(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        door, profile = self._route(scope["path"])
        flaw = self._guard.refuses(headers)
        credential = bearer(headers)
        caller: Caller | Refusal = (
            Refusal(flaw, "this Host or Origin is not served")
            if flaw
            else self._front.identify("websocket", credential)
        )
        if door is not self.streamable and not flaw:
            caller = Refusal("not_found", "MCP over WebSocket is at /mcp")
        await self.websocket(
            scope, receive, send, caller=caller, credential=credential, profile=profile
        )

    def farewell(self) -> None:
        """End what would not end by itself: who listens is told goodbye, streams of sessions end, and
        parked calls are given up. Calls that run go on, and are still answered."""
        for open_ in list(self._front.listening.values()):
            for one in list(open_):
                one.end()
        self.streamable.farewell()
        self.legacy_sse.farewell()

    async def close(self) -> None:
        """End every session and connection of every door, whatever runs."""
        self.farewell()
        self.streamable.sessions.close_all()
        await self.legacy_sse.close()
        await self.websocket.close()


def bearer(headers: Mapping[bytes, bytes]) -> str | None:
    """The bearer token of a request, or None."""
    value = headers.get(b"authorization", b"")
    if value[:7].lower() != b"bearer ":
        return None
    return value[7:].strip().decode("latin-1")


async def _refuse(send: Send, reason: str, message: str) -> None:
    row = reason_of(reason)
    body = jsonrpc.encode(
        {"jsonrpc": "2.0", "error": {"code": jsonrpc.INVALID_REQUEST, "message": message}}
    )
    await send_json(send, body, row.http)


async def _challenge(send: Send, refusal: Refusal) -> None:
    row = reason_of(refusal.reason)
    body = jsonrpc.encode(
        {
            "jsonrpc": "2.0",
            "error": {
                "code": row.mcp_code,
                "message": refusal.message,
                "data": {"reason": refusal.reason},
            },
        }
    )
    await send_json(send, body, row.http, challenge(refusal.reason))
