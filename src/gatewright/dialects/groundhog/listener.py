"""`Site`: ASGI application at Groundhog's own address (its path is `/mcp`, or POST is Groundhog); `line_door`: receivers of TCP lines.

At that path an Upgrade is decided as at `/mcp`: by subprotocol, then by the first message. A POST there is
Groundhog's where the transport is `http`, else MCP's (decision C-48). Everything else is as at the main address.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from gatewright.call import Caller
from gatewright.dialects.groundhog.client import GroundhogPeer
from gatewright.dialects.groundhog.endpoint import GroundhogEndpoint
from gatewright.dialects.groundhog.types import Parts
from gatewright.mcp.server.http_auth import refuse_place
from gatewright.mcp.server.http_headers import HttpHeaders
from gatewright.mcp.server.http_request import Connection, Receive
from gatewright.mcp.server.http_responses import Send, Whole
from gatewright.mcp.server.locality import is_near, is_passed_on, told
from gatewright.transport.base import Pipe

__all__ = ["Main", "Site", "line_door"]


class Main(Protocol):
    """The application of the main address."""

    async def __call__(
        self, scope: dict[str, Any], receive: Receive, send: Send, whole: Whole | None = None
    ) -> None: ...

    def refuses(self, headers: HttpHeaders) -> str:
        """What is wrong with the Host or Origin of a request; empty where it is one of ours."""


class Site:
    """The ASGI application at the protocol's own address."""

    takes_exchange = True

    def __init__(self, app: Main, door: GroundhogEndpoint, path: str, *, posts: bool) -> None:
        """`posts` says whether a POST at `path` is for `door`."""
        self._app = app
        self._door = door
        self._front = door.parts.front
        self._path = path
        self._posts = posts

    async def __call__(
        self, scope: dict[str, Any], receive: Receive, send: Send, whole: Whole | None = None
    ) -> None:
        """One ASGI connection."""
        if scope.get("path") == self._path:
            if self._posts and scope["type"] == "http":
                await self._post(Connection(scope, receive, send, whole))
                return
            scope = {**scope, "path": "/mcp"}
        await self._app(scope, receive, send, whole)

    async def _post(self, connection: Connection) -> None:
        """A POST that is Groundhog's whatever its path."""
        headers = HttpHeaders(connection.scope["headers"])
        if is_near(connection.scope, passed_on=is_passed_on(headers.values)):
            await self._posted(connection, headers)
        else:
            caller = self._front.identify("groundhog", headers.credential)
            await told(lambda: self._posted(connection, headers), caller)

    async def _posted(self, connection: Connection, headers: HttpHeaders) -> None:
        flaw = self._app.refuses(headers)
        if flaw:
            await refuse_place(connection.send, flaw)
            return
        credential = headers.credential
        path = connection.scope["path"]
        caller = await self._front.admit("groundhog", credential, path)
        await self._door.post(connection, headers, caller, credential)


def line_door(parts: Parts) -> Callable[[Pipe], GroundhogPeer]:
    """A function that makes the receiver of each TCP connection. Its client is unauthenticated until its first message, or
    anonymous where that is let in."""

    def accept(pipe: Pipe) -> GroundhogPeer:
        anonymous = parts.front.identify("groundhog", None)
        known = isinstance(anonymous, Caller) and not parts.terms.require_authentication
        peer = GroundhogPeer(
            parts,
            anonymous if known and isinstance(anonymous, Caller) else None,
            door="groundhog",
            credential=None,
            profile="",
        )
        if parts.waiting >= parts.terms.waiting_most and not known:
            pipe.close()
        peer.attach(pipe)
        parts.front.lasting.add(peer)
        return peer

    return accept
