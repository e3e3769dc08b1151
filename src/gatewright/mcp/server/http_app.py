"""ASGI app of the gateway: checks Host and Origin, authenticates, routes HTTP and WebSocket, serves RFC 9728 metadata; ends all at shutdown.

Host and Origin are checked first (a web page must not reach a local port through its visitor's
browser), then the caller is authenticated; an endpoint sees only requests that passed both.
"""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from functools import partial
from typing import Any

from gatewright.call import Caller, Refusal
from gatewright.mcp.server.guard import Guard
from gatewright.mcp.server.http_auth import bearer, refuse_caller, refuse_place
from gatewright.mcp.server.http_headers import HttpHeaders
from gatewright.mcp.server.http_request import Connection, HttpRequest, Receive
from gatewright.mcp.server.http_responses import Send, Whole, send_json, send_plain
from gatewright.mcp.server.legacy_sse import LegacySse
from gatewright.mcp.server.locality import is_near, is_passed_on, told
from gatewright.mcp.server.protected_resource import WELL_KNOWN, Protected
from gatewright.mcp.server.routes import Door, Handler, PlainSocket, Profiles, Routes, Upgrade
from gatewright.mcp.server.server_context import ServerContext
from gatewright.mcp.server.straight import StraightWay
from gatewright.mcp.server.streamable_http import StreamableHttp
from gatewright.mcp.server.websocket import SUBPROTOCOL, WebSocketEndpoint
from gatewright.prepared import PreparedCalls

__all__ = ["App"]

Answering = Coroutine[Any, Any, None]


class _Way:
    """Where a request with these headers leads, whether its Host and Origin are ours (`flaw`) and whether who sends it is
    `near`: what follows from its head and its connection alone, as long as the names and profiles that are `ours` are the same."""

    __slots__ = ("_app", "door", "flaw", "headers", "near", "ours", "profile")

    def __init__(
        self,
        app: App,
        ours: _Ours,
        headers: HttpHeaders,
        flaw: str,
        door: Door | None,
        profile: str,
        *,
        near: bool,
    ) -> None:
        self._app = app
        self.ours = ours
        self.headers = headers
        self.flaw = flaw
        self.door = door
        self.profile = profile
        self.near = near

    @property
    def short(self) -> bool:
        """Whether it leads to MCP's endpoint for a client nearby, as nearly all that come again and again do: then `serve` goes it."""
        said = self.headers
        return (
            self.near
            and self.door is self._app.streamable
            and (said.in_session or said.in_no_session)
        )

    def serve(self, whole: Whole) -> Answering:
        """Go the way again that `App.__call__` found."""
        app, headers = self._app, self.headers
        if self.ours is app.ours and app.front.protected is None:
            # Who it is may be another one with every request.
            caller = app.front.identify("http", headers.credential)
            if type(caller) is Caller:
                return app.streamable.again(whole, headers, caller, self.profile)
        return app(whole.scope, whole.receive, whole.send, whole)


_Ours = tuple[Guard, Profiles]


class App:
    """Routes; see the module's text."""

    def __init__(
        self,
        front: ServerContext,
        guard: Guard,
        profiles: Profiles,
        routes: Sequence[Routes] = (),
    ) -> None:
        """`routes` are those of endpoints besides MCP's own."""
        self.front = front
        self.ours: _Ours = guard, profiles
        self._routes = routes
        self._body = next((one.body for one in routes if one.body is not None), None)
        self._plain = next((one.plain_socket for one in routes if one.plain_socket), None)
        self._open = {path: door for one in routes for path, door in one.open.items()}
        self.streamable = StreamableHttp(front, self._body)
        kept: PreparedCalls | None = getattr(front.kernel, "prepared", None)
        ends = self.streamable.sessions, self.streamable.parked
        self.straight = None if kept is None else StraightWay(self, front, *ends, kept).serve
        self.legacy_sse = LegacySse(front)
        self.websocket = WebSocketEndpoint(front)
        self._doors: dict[str, Door] = {
            "/mcp": self.streamable,
            "/sse": self.legacy_sse.open,
            "/messages": self.legacy_sse.post,
            **{path: door for one in routes for path, door in one.doors.items()},
        }

    takes_exchange = True

    def __call__(
        self, scope: dict[str, Any], receive: Receive, send: Send, whole: Whole | None = None
    ) -> Answering:
        """One ASGI connection; `whole` is there where our own server makes the call."""
        if scope["type"] != "http":
            return self._upgrade(scope, receive, send)
        head = None if whole is None else whole.head
        way: _Way | None = None if head is None else head.notes
        if way is None or way.ours is not self.ours:
            way = self._way(scope)
            if head is not None:
                head.notes = way
                head.serve = way.serve if way.short else None
                straight = self.straight if way.short else None
                head.straight = straight and partial(straight, way.ours, way.headers, way.profile)
        if way.near:
            return self._led(way, scope, receive, send, whole)
        caller = self.front.identify("http", way.headers.credential)
        elsewhere = way
        return told(lambda: self._led(elsewhere, scope, receive, send, whole), caller)

    def _led(
        self, way: _Way, scope: dict[str, Any], receive: Receive, send: Send, whole: Whole | None
    ) -> Answering:
        """Through the door that the head names."""
        front, door, headers = self.front, way.door, way.headers
        if door is None or front.protected is not None:
            return self._http(Connection(scope, receive, send, whole), way)
        # Who it is may be another one with every request; all before follows from the head.
        caller = front.identify("http", headers.credential)
        if isinstance(caller, Refusal):
            return self._nobody(Connection(scope, receive, send, whole), way, caller)
        return door(
            HttpRequest(scope, receive, send, whole, headers, caller, way.profile, front.refused)
        )

    def _way(self, scope: dict[str, Any]) -> _Way:
        headers = HttpHeaders(scope["headers"])
        flaw = self.ours[0].refuses(headers.values)
        door, profile = (None, "") if flaw else self._route(scope["path"])
        near = is_near(scope, passed_on=is_passed_on(headers.values))
        return _Way(self, self.ours, headers, flaw, door, profile, near=near)

    async def _http(self, connection: Connection, way: _Way) -> None:
        scope, send, headers = connection.scope, connection.send, way.headers
        path = scope["path"]
        if way.flaw:
            await refuse_place(send, way.flaw)
            return
        credential = headers.credential
        if path in self._open:
            known = self.front.identify("http", credential)
            await self._open[path](path, send, known if isinstance(known, Caller) else None)
            return
        if self.front.protected is not None:
            if path.startswith(WELL_KNOWN):
                await self._published(self.front.protected, scope["method"], path, send)
                return
            send = self.front.protected.telling(send, self._resource(path))
            connection = connection._replace(send=send)
        if way.door is None:
            await self._by_itself(connection, headers)
            return
        caller = await self.front.admit("http", credential, path)
        if isinstance(caller, Refusal):
            await self._nobody(connection, way, caller)
            return
        request = HttpRequest(
            *connection,
            headers,
            caller,
            way.profile,
            self.front.refused,
        )
        await way.door(request)

    async def _nobody(self, connection: Connection, way: _Way, refusal: Refusal) -> None:
        """Nobody is known for the request, unless its body says who sends it."""
        if way.headers.credential is None and way.door is self.streamable:
            for one in self._routes:
                if one.unknown and await one.unknown(connection, way.headers, way.profile):
                    return
        await refuse_caller(connection.send, refusal)

    async def _by_itself(self, connection: Connection, headers: HttpHeaders) -> None:
        """Doors that find out themselves who asks, and say it in their own words where nobody does."""
        handler = self._found(connection.scope["path"])
        if handler is not None:
            await handler(connection, headers)
            return
        await send_plain(connection.send, 404, b"nothing is here; the MCP endpoint is /mcp\n")

    def _found(self, path: str) -> Handler | None:
        profiles = self.ours[1]
        found = (one.find(path, profiles) for one in self._routes)
        return next((one for one in found if one is not None), None)

    async def _published(self, protected: Protected, method: str, path: str, send: Send) -> None:
        """What is published about one of our endpoints, whoever asks."""
        about = path.removeprefix(WELL_KNOWN)
        known = about == "" or self._route(about)[0] is not None
        if not known and self._resource_of(about) != about:
            await send_plain(send, 404, b"no such resource is here\n")
        elif method not in ("GET", "HEAD"):
            await send_plain(send, 405, headers=((b"allow", b"GET, HEAD"),))
        else:
            await send_json(send, b"" if method == "HEAD" else protected.document(about))

    def _resource(self, path: str) -> str:
        """What a token has to be for that is shown at a path: mostly that path."""
        return self._resource_of(path) or path

    def _resource_of(self, path: str) -> str | None:
        profiles = self.ours[1]
        found = (one.resource(path, profiles) for one in self._routes)
        return next((one for one in found if one is not None), None)

    def _route(self, path: str) -> tuple[Door | None, str]:
        known = self._doors.get(path)
        if known is None and path.startswith("/mcp/") and path[5:] in self.ours[1]:
            return self.streamable, path[5:]
        return known, ""

    def _upgrade(self, scope: dict[str, Any], receive: Receive, send: Send) -> Answering:
        headers = dict(scope.get("headers", ()))
        if is_near(scope, passed_on=is_passed_on(headers)):
            return self._websocket(scope, receive, send)
        caller = self.front.identify("websocket", bearer(headers))
        return told(lambda: self._websocket(scope, receive, send), caller)

    async def _websocket(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "websocket":
            return
        headers = dict(scope["headers"])
        guard, profiles = self.ours
        flaw, credential = guard.refuses_page(headers), bearer(headers)
        asked = Upgrade(scope, receive, send, credential, guard.refuses(headers), flaw)
        for one in self._routes:
            serve = one.socket(scope["path"], profiles)
            if serve is not None and await serve(asked):
                return
        await self._mcp_socket(asked)

    async def _mcp_socket(self, asked: Upgrade) -> None:
        scope, receive, send, credential, _, flaw = asked
        path = scope["path"]
        door, profile = self._route(path)
        if self.front.protected is not None:
            send = self.front.protected.telling(send, path)
        caller: Caller | Refusal = (
            Refusal(flaw, "this Host or Origin is not served; see allowed_hosts")
            if flaw
            else await self.front.admit("websocket", credential, path)
        )
        if door is not self.streamable and not flaw:
            caller = Refusal("not_found", "MCP over WebSocket is at /mcp")
        serve: PlainSocket = self.websocket
        offered = scope.get("subprotocols", ())
        if self._plain is not None and door is self.streamable and SUBPROTOCOL not in offered:
            serve = self._plain
        await serve(scope, receive, send, caller=caller, credential=credential, profile=profile)

    def refuses(self, headers: HttpHeaders) -> str:
        """What is wrong with the Host or Origin of a request; empty where it is one of ours."""
        return self.ours[0].refuses(headers.values)

    def adopt(self, guard: Guard, profiles: Profiles) -> None:
        """Go on with other names of ours, and other profiles."""
        self.ours = guard, profiles

    def farewell(self) -> None:
        """End what would not end by itself: who listens is told goodbye, streams of sessions end, and
        parked calls are given up. Calls that run go on, and are still answered."""
        for open_ in list(self.front.listening.values()):
            for one in list(open_):
                one.end()
        self.streamable.farewell()
        self.legacy_sse.farewell()

    async def close(self) -> None:
        """End every session and connection of every door, whatever runs."""
        self.farewell()
        await self.streamable.sessions.close_all()
        await self.legacy_sse.close()
        await self.websocket.close()
        for one in self._routes:
            await one.close()
