"""`RoomsEndpoint`: WebSocket `/ws?topic=NAME` (MCPx §6.2): authenticates, joins rooms, disconnects lapsed tokens; routes to the admin API.

Whoever does not get in is answered before the upgrade, with a status that every client understands (decision C-27).
The token comes in `Authorization`. A browser cannot set that header on a WebSocket; it may offer the subprotocols
`mcpx` and `mcpx.bearer.TOKEN`, of which the answer names the first, so that the token stays out of addresses and logs.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal
from urllib.parse import parse_qsl

from msgspec.structs import replace

from gatewright.call import Refusal
from gatewright.mcp.server.http_auth import bearer
from gatewright.mcp.server.http_headers import HttpHeaders
from gatewright.mcp.server.http_request import Connection, Receive
from gatewright.mcp.server.http_responses import Send, challenge, send_json
from gatewright.mcp.server.routes import Handler, Profiles, Routes, Socket, Upgrade
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.codes import reason_of
from gatewright.mcpx.batches import Batch
from gatewright.rooms.admin_endpoint import ADMIN, RoomsAdmin
from gatewright.rooms.hub import Hub, NoPlace, Place
from gatewright.rooms.identities import Identities
from gatewright.rooms.policy import Identity
from gatewright.transport.slices import by_and_by
from gatewright.transport.websocket import POLICY_VIOLATION, closing_reason, refuse
from gatewright.transport.websocket_connection import DIRECT, Direct, text_frame

__all__ = ["PATHS", "SUBPROTOCOL", "RoomsEndpoint"]

PATHS = frozenset({"/ws", "/v0/ws"})
"""The second is what clients of MCPx drafts ask for."""
SUBPROTOCOL = "mcpx"
_TOKEN = "mcpx.bearer."  # noqa: S105 - a prefix, no token
TRY_AGAIN_LATER = 1013
_FIELDS = 32
RECHECK_S = 0.5
"""How soon the connection of an expired token is closed; that of one that was taken back is at once."""
_OPEN_A_WEBSOCKET = b'{"error":"upgrade_required","message":"a room is a WebSocket: ws://\xe2\x80\xa6/ws?topic=NAME"}'
BURST_BYTES = 4 * 1024 * 1024
"""What may wait for one reader that does not keep up. The frames of a room are the same bytes for all its readers, so
this bounds how far one is behind rather than what it costs."""


class RoomsEndpoint:
    """See the module's text."""

    def __init__(self, hub: Hub, identities: Identities, admin: RoomsAdmin) -> None:
        self.hub = hub
        self.identities = identities
        self.admin = admin
        self.routes = Routes(find=self._find, socket=self._socket, close=self._close)
        self._keys_seen = -1
        self._next = 0.0

    def _find(self, path: str, profiles: Profiles) -> Handler | None:
        if path == ADMIN or path.startswith(f"{ADMIN}/"):
            return self._admin
        return _upgrade if path in PATHS else None

    async def _admin(self, connection: Connection, headers: HttpHeaders) -> None:
        await self.admin(connection, headers.credential)

    def _socket(self, path: str, profiles: Profiles) -> Socket | None:
        return self._seated if path in PATHS else None

    async def _seated(self, asked: Upgrade) -> bool:
        # No page has a participant's token unless it was given one; who comes in without may be any page.
        ways = asked.scope, asked.receive, asked.send
        await self(*ways, flaw=asked.flaw, of_page=asked.of_page)
        return True

    async def _close(self) -> None:
        self.hub.close()

    def look(self, keys_seen: int, now: float) -> None:
        """Close the places of those whose token has expired or was taken back since they came. `keys_seen` grows
        whenever keys may have changed, `now` is Unix seconds; called several times a second."""
        if keys_seen == self._keys_seen and now < self._next:
            return
        self._keys_seen, self._next = keys_seen, now + RECHECK_S
        # A few in each turn of the loop: a key is verified anew for each of thousands of places.
        by_and_by([partial(self._look_at, place, now) for place in self.hub.places()])

    def _look_at(self, place: Place, now: float) -> None:
        if not isinstance(place.member.seat, _Chair) or not place.member.is_here:
            return  # it is of this process, or gone meanwhile
        if not self._is_good(place.identity, place.token, now):
            self.hub.end(place, POLICY_VIOLATION, "its token is not good any more")

    def _is_good(self, identity: Identity, token: str, now: float) -> bool:
        if identity.expires_at is not None and identity.expires_at <= now:
            return False
        if identity.way != "key":
            return True  # what the configuration says stays until a restart
        found = self.identities.of(token)
        return isinstance(found, Identity) and found.id == identity.id

    async def __call__(
        self, scope: dict[str, Any], receive: Receive, send: Send, *, flaw: str, of_page: str = ""
    ) -> None:
        """Seat one client, or refuse it. `flaw` is what is wrong with its Host or Origin, `of_page` the same for a page of another
        origin, which may come in with a token alone."""
        headers = dict(scope["headers"])
        asked = _asked(scope, headers, token_in_query=self.hub.policy.token_in_query)
        flaw = flaw or (of_page if isinstance(asked, _Asked) and asked.token is None else "")
        if flaw:  # DNS rebinding, or a page of another origin (Cross-Site WebSocket Hijacking)
            asked = Refusal(flaw, "this Host or Origin is not served; see allowed_hosts")
        if isinstance(asked, Refusal):
            await self._refuse(scope, receive, send, asked)
            return
        identity = self._admitted(asked)
        if isinstance(identity, Refusal):
            await self._refuse(scope, receive, send, identity)
            return
        await receive()
        offered = scope.get("subprotocols", ())
        chosen = SUBPROTOCOL if SUBPROTOCOL in offered else None  # never the one that has the token
        connection: Direct = scope["extensions"].pop(DIRECT)
        await send({"type": "websocket.accept", "subprotocol": chosen})
        _Chair(connection).sit(self.hub, identity, asked.topic, asked.token or "")

    def _admitted(self, asked: _Asked) -> Identity | Refusal:
        identity = self.identities.of(asked.token)
        if isinstance(identity, Refusal):
            return identity
        if asked.mode == "directed":  # who may not hear everything does not by asking for it
            identity = replace(identity, mode=asked.mode)
        return self.hub.admits(identity, asked.topic) or identity

    async def _refuse(
        self, scope: dict[str, Any], receive: Receive, send: Send, refusal: Refusal
    ) -> None:
        if self.hub.policy.refusal == "close" and refusal.reason.startswith("auth"):
            await receive()
            offered = scope.get("subprotocols", ())
            chosen = SUBPROTOCOL if SUBPROTOCOL in offered else None
            await send({"type": "websocket.accept", "subprotocol": chosen})
            said = {"code": POLICY_VIOLATION, "reason": closing_reason(refusal.message)}
            await send({"type": "websocket.close", **said})
            return
        row = reason_of(refusal.reason)
        body = jsonrpc.encode({"error": row.name, "message": refusal.message})
        await refuse(receive, send, row.http, body, challenge(row.name) if row.http == 401 else ())


async def _upgrade(connection: Connection, headers: HttpHeaders) -> None:
    wanted = (b"upgrade", b"websocket"), (b"connection", b"upgrade")
    await send_json(connection.send, _OPEN_A_WEBSOCKET, 426, wanted)


class _Chair:
    """A client behind a WebSocket as a `Seat` of the hub, and as the receiver of its connection."""

    __slots__ = ("_connection", "_outlet", "_place")

    def __init__(self, connection: Direct) -> None:
        self._connection = connection
        self._outlet = connection.outlet
        self._place: Place | None = None

    def sit(self, hub: Hub, identity: Identity, topic: str, token: str) -> None:
        """Take the place that was found free."""
        try:
            self._place = hub.join(identity, topic, self, token=token)
        except NoPlace as taken:  # by somebody else, since it was found free
            self._connection.leave(TRY_AGAIN_LATER, taken.refusal.message)
            return
        self._connection.take_over(self, BURST_BYTES)

    def message(self, data: bytes) -> None:
        """A text frame came."""
        if self._place is not None:
            self._place.say(data)

    def closed(self, reason: str) -> None:
        """The connection is gone, in whatever way."""
        place, self._place = self._place, None
        if place is not None:
            place.leave(reason)

    def deliver(self, batch: Batch) -> None:
        """Write what the room says, in one piece that all readers share."""
        self._outlet.write(batch.frames(text_frame))

    def close(self, code: int, reason: str) -> None:
        """The place is gone."""
        self._place = None
        self._connection.leave(code, reason)


class _Asked:
    """What a client asks for."""

    __slots__ = ("mode", "token", "topic")

    def __init__(self, topic: str, token: str | None, mode: Literal["all", "directed"] | None):
        self.topic = topic
        self.token = token
        self.mode = mode


_MODES: Mapping[str, Literal["all", "directed"]] = {"all": "all", "directed": "directed"}


def _asked(
    scope: Mapping[str, Any], headers: Mapping[bytes, bytes], *, token_in_query: bool
) -> _Asked | Refusal:
    try:
        query = parse_qsl(
            scope["query_string"].decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=_FIELDS,
        )
    except ValueError:
        return Refusal("invalid_request", "the query cannot be read")
    topics = [value for name, value in query if name == "topic"]
    if len(topics) != 1:
        return Refusal("invalid_request", "name one topic: GET /ws?topic=NAME")
    modes = [value for name, value in query if name == "mode"]
    if any(one not in _MODES for one in modes) or len(modes) > 1:
        return Refusal("invalid_request", 'mode is "all" or "directed"')
    tokens = [
        one.removeprefix(_TOKEN) for one in scope.get("subprotocols", ()) if one.startswith(_TOKEN)
    ]
    if tokens and SUBPROTOCOL not in scope["subprotocols"]:
        return Refusal("invalid_request", f"offer the subprotocol {SUBPROTOCOL} beside the token")
    if token_in_query:
        tokens += [value for name, value in query if name in ("token", "access_token")]
    header = bearer(headers)
    found = set(tokens) if header is None else {header, *tokens}
    if len(found) > 1:
        return Refusal("invalid_request", "send one token, in one place")
    return _Asked(topics[0], found.pop() if found else None, _MODES[modes[0]] if modes else None)
