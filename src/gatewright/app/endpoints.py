"""ASGI application of the gateway: checks Host and Origin, authenticates, routes HTTP and WebSocket paths to endpoints, ends sessions.

Host and Origin are checked first (a web page must not reach a local port through its visitor's
browser), then the caller is authenticated; an endpoint sees only requests that passed both.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from gatewright.approvals.endpoint import PATH, ApprovalPage
from gatewright.call import Caller, Refusal
from gatewright.dialects.ggen.endpoint import Ggen
from gatewright.dialects.groundhog.endpoint import GroundhogDoor
from gatewright.dialects.one_shot import Shown
from gatewright.dialects.rest.endpoint import Rest
from gatewright.mcp.server.context import ServerContext
from gatewright.mcp.server.guard import Guard, bearer, refuse_caller, refuse_place
from gatewright.mcp.server.http_headers import HttpHeaders
from gatewright.mcp.server.http_reply import Send, Whole, send_json, send_plain
from gatewright.mcp.server.http_request import Connection, HttpRequest, Receive
from gatewright.mcp.server.legacy_sse import LegacySse
from gatewright.mcp.server.locality import is_near, is_passed_on, told
from gatewright.mcp.server.protected_resource import WELL_KNOWN, Protected
from gatewright.mcp.server.streamable_http import StreamableHttp
from gatewright.mcp.server.websocket import SUBPROTOCOL, WebSocketDoor
from gatewright.rooms.admin_endpoint import ADMIN
from gatewright.rooms.endpoint import PATHS, RoomsDoor
from gatewright.telemetry.endpoint import Health

__all__ = ["App"]

_OPEN_A_WEBSOCKET = b'{"error":"upgrade_required","message":"a room is a WebSocket: ws://\xe2\x80\xa6/ws?topic=NAME"}'

Answering = Coroutine[Any, Any, None]
Door = Callable[[HttpRequest], Answering]


class _Way:
    """Where a request with these headers leads, whether its Host and Origin are ours (`flaw`) and whether who sends it is
    `near`: what follows from its head and its connection alone, as long as the names and profiles that are `ours` are the same."""

    __slots__ = ("door", "flaw", "headers", "near", "ours", "profile")

    def __init__(
        self,
        ours: _Ours,
        headers: HttpHeaders,
        flaw: str,
        door: Door | None,
        profile: str,
        *,
        near: bool,
    ) -> None:
        self.ours = ours
        self.headers = headers
        self.flaw = flaw
        self.door = door
        self.profile = profile
        self.near = near


_Ours = tuple[Guard, frozenset[str]]


class App:
    """Routes; see the module's text."""

    def __init__(
        self,
        front: ServerContext,
        guard: Guard,
        profiles: frozenset[str],
        health: Health,
        shown: Shown,
        groundhog: GroundhogDoor | None = None,
    ) -> None:
        self._front = front
        self._ours: _Ours = guard, profiles
        self._health = health
        self.ggen = Ggen(front, shown)
        self.rest = Rest(front, shown)
        self.streamable = StreamableHttp(front, self.ggen.serve)
        self.legacy_sse = LegacySse(front)
        self.websocket = WebSocketDoor(front)
        self.approvals: ApprovalPage | None = None
        """Where an operator may decide on a page."""
        self.rooms: RoomsDoor | None = None
        """Where there are rooms."""
        self.groundhog = groundhog

    takes_exchange = True

    def __call__(
        self, scope: dict[str, Any], receive: Receive, send: Send, whole: Whole | None = None
    ) -> Answering:
        """One ASGI connection; `whole` is there where our own server makes the call."""
        if scope["type"] != "http":
            return self._upgrade(scope, receive, send)
        head = None if whole is None else whole.head
        way: _Way | None = None if head is None else head.notes
        if way is None or way.ours is not self._ours:
            way = self._way(scope)
            if head is not None:
                head.notes = way
        if way.near:
            return self._led(way, scope, receive, send, whole)
        caller = self._front.identify("http", way.headers.credential)
        elsewhere = way
        return told(lambda: self._led(elsewhere, scope, receive, send, whole), caller)

    def _led(
        self, way: _Way, scope: dict[str, Any], receive: Receive, send: Send, whole: Whole | None
    ) -> Answering:
        """Through the door that the head names."""
        front, door, headers = self._front, way.door, way.headers
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
        flaw = self._ours[0].refuses(headers.values)
        door, profile = (None, "") if flaw else self._route(scope["path"])
        near = is_near(scope, passed_on=is_passed_on(headers.values))
        return _Way(self._ours, headers, flaw, door, profile, near=near)

    async def _http(self, connection: Connection, way: _Way) -> None:
        scope, send, headers = connection.scope, connection.send, way.headers
        path = scope["path"]
        if way.flaw:
            await refuse_place(send, way.flaw)
            return
        credential = headers.credential
        if path in ("/livez", "/readyz"):
            known = self._front.identify("http", credential)
            await self._health(path, send, known if isinstance(known, Caller) else None)
            return
        if self._front.protected is not None:
            if path.startswith(WELL_KNOWN):
                await self._published(self._front.protected, scope["method"], path, send)
                return
            send = self._front.protected.telling(send, self._resource(path))
            connection = connection._replace(send=send)
        if way.door is None:
            await self._by_itself(connection, headers, credential)
            return
        caller = await self._front.admit("http", credential, path)
        if isinstance(caller, Refusal):
            await self._nobody(connection, way, caller)
            return
        request = HttpRequest(
            *connection,
            headers,
            caller,
            way.profile,
            self._front.refused,
        )
        await way.door(request)

    async def _nobody(self, connection: Connection, way: _Way, refusal: Refusal) -> None:
        """Nobody is known for the request, unless its body says who sends it."""
        if (
            way.headers.credential is not None
            or way.door is not self.streamable
            or not await self.ggen.instead(connection, way.headers, way.profile)
        ):
            await refuse_caller(connection.send, refusal)

    async def _by_itself(
        self, connection: Connection, headers: HttpHeaders, credential: str | None
    ) -> None:
        """Doors that find out themselves who asks, and say it in their own words where nobody does."""
        path = connection.scope["path"]
        if self.rooms is not None and (path == ADMIN or path.startswith(f"{ADMIN}/")):
            await self.rooms.admin(connection, credential)
            return
        if self.rooms is not None and path in PATHS:
            upgrade = (b"upgrade", b"websocket"), (b"connection", b"upgrade")
            await send_json(connection.send, _OPEN_A_WEBSOCKET, 426, upgrade)
            return
        if self.approvals is not None and path.startswith(PATH):
            await self.approvals(connection)
            return
        profile = self._profile(path, "/rpc")
        if profile is not None:
            await self.ggen(connection, headers, credential, profile)
            return
        profile, inner = self._within(path)
        if profile is not None and self.rest.serves(inner):
            await self.rest(connection, headers, credential, inner, profile)
            return
        await send_plain(connection.send, 404, b"nothing is here; the MCP endpoint is /mcp\n")

    async def _published(self, protected: Protected, method: str, path: str, send: Send) -> None:
        """What is published about one of our endpoints, whoever asks."""
        about = path.removeprefix(WELL_KNOWN)
        known = about == "" or self._route(about)[0] is not None
        known = known or self._profile(about, "/rpc") is not None
        if not known and not (about.endswith("/tools") and self._resource(about) == about):
            await send_plain(send, 404, b"no such resource is here\n")
        elif method not in ("GET", "HEAD"):
            await send_plain(send, 405, headers=((b"allow", b"GET, HEAD"),))
        else:
            await send_json(send, b"" if method == "HEAD" else protected.document(about))

    def _resource(self, path: str) -> str:
        """What a token has to be for that is shown at a path: mostly that path."""
        profile, inner = self._within(path)
        served = profile is not None and self.rest.serves(inner)
        return self.rest.resource(profile or "") if served else path

    def _profile(self, path: str, root: str) -> str | None:
        """The profile that a path below `root` names; None where it leads nowhere."""
        if path == root:
            return ""
        name = path.removeprefix(root + "/")
        return name if name != path and name in self._ours[1] else None

    def _within(self, path: str) -> tuple[str | None, str]:
        """The profile whose paths begin with `/profiles/NAME`, and the path there."""
        if not path.startswith("/profiles/"):
            return "", path
        name, _, rest = path[10:].partition("/")
        return (name if name in self._ours[1] else None), "/" + rest

    def _route(self, path: str) -> tuple[Door | None, str]:
        if path == "/mcp":
            return self.streamable, ""
        if path == "/sse":
            return self.legacy_sse.open, ""
        if path == "/messages":
            return self.legacy_sse.post, ""
        if path == "/metrics":
            return self._health.metrics, ""
        if path.startswith("/mcp/") and path[5:] in self._ours[1]:
            return self.streamable, path[5:]
        return None, ""

    def _upgrade(self, scope: dict[str, Any], receive: Receive, send: Send) -> Answering:
        headers = dict(scope.get("headers", ()))
        if is_near(scope, passed_on=is_passed_on(headers)):
            return self._websocket(scope, receive, send)
        caller = self._front.identify("websocket", bearer(headers))
        return told(lambda: self._websocket(scope, receive, send), caller)

    async def _websocket(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "websocket":
            return
        headers = dict(scope["headers"])
        if self.rooms is not None and scope["path"] in PATHS:
            # No page has a participant's token unless it was given one; who comes in without may be any page.
            guard = self._ours[0]
            flaw, of_page = guard.refuses(headers), guard.refuses_page(headers)
            await self.rooms(scope, receive, send, flaw=flaw, of_page=of_page)
            return
        flaw = self._ours[0].refuses_page(headers)
        credential = bearer(headers)
        dialect = self._profile(scope["path"], "/rpc")
        if dialect is not None and not flaw:
            await self.ggen.socket(scope, receive, send, credential, dialect)
            return
        path = scope["path"]
        door, profile = self._route(path)
        if self._front.protected is not None:
            send = self._front.protected.telling(send, path)
        caller: Caller | Refusal = (
            Refusal(flaw, "this Host or Origin is not served; see allowed_hosts")
            if flaw
            else await self._front.admit("websocket", credential, path)
        )
        if door is not self.streamable and not flaw:
            caller = Refusal("not_found", "MCP over WebSocket is at /mcp")
        serve: WebSocketDoor | GroundhogDoor = self.websocket
        offered = scope.get("subprotocols", ())
        if self.groundhog is not None and door is self.streamable and SUBPROTOCOL not in offered:
            serve = self.groundhog
        await serve(scope, receive, send, caller=caller, credential=credential, profile=profile)

    async def groundhog_post(self, connection: Connection) -> None:
        """A POST that is Groundhog's whatever its path."""
        headers = HttpHeaders(connection.scope["headers"])
        if is_near(connection.scope, passed_on=is_passed_on(headers.values)):
            await self._groundhog_post(connection, headers)
        else:
            caller = self._front.identify("groundhog", headers.credential)
            await told(lambda: self._groundhog_post(connection, headers), caller)

    async def _groundhog_post(self, connection: Connection, headers: HttpHeaders) -> None:
        flaw = self._ours[0].refuses(headers.values)
        if flaw or self.groundhog is None:
            await refuse_place(connection.send, flaw or "host_refused")
            return
        credential = headers.credential
        path = connection.scope["path"]
        caller = await self._front.admit("groundhog", credential, path)
        await self.groundhog.post(connection, headers, caller, credential)

    def adopt(self, guard: Guard, profiles: frozenset[str]) -> None:
        """Go on with other names of ours, and other profiles."""
        self._ours = guard, profiles

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
        await self.ggen.close()
        if self.rooms is not None:
            self.rooms.hub.close()
        if self.groundhog is not None:
            await self.groundhog.close()
