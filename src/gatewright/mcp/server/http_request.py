"""`HttpRequest`: authenticated request at an MCP endpoint: reads its body, compares MCP headers with it, sends errors; one-request sessions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from gatewright.call import Caller
from gatewright.mcp.protocol import mcp_server as mcp
from gatewright.mcp.protocol.client_params import Rejected
from gatewright.mcp.server.client_session import ClientSession
from gatewright.mcp.server.http_headers import HttpHeaders
from gatewright.mcp.server.http_responses import Send, Whole, send_json
from gatewright.mcp.server.kept_answers import About
from gatewright.mcp.server.pending_input import PendingInputs
from gatewright.mcp.server.served_request import ServedRequest
from gatewright.mcp.server.server_context import Refused, ServerContext
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.headers_and_meta import META_VERSION, check_headers
from gatewright.transport.http_server import BodyTimeout, BodyTooLarge, ClientGone, read_body

__all__ = ["Connection", "HttpRequest", "Receive", "alone", "nowhere", "says_modern"]

Receive = Callable[[], Awaitable[dict[str, Any]]]

_MODERN_MARK = META_VERSION.encode()
_NO_ANNOTATIONS: Mapping[tuple[str, ...], str] = {}


class Connection(NamedTuple):
    """What ASGI calls an application with, and what our own server offers besides."""

    scope: dict[str, Any]
    receive: Receive
    send: Send
    whole: Whole | None = None


class HttpRequest(msgspec.Struct, eq=False):
    """A request whose caller, origin and host were found good. The first four are a `Connection`."""

    scope: dict[str, Any]
    receive: Receive
    send: Send
    whole: Whole | None
    headers: HttpHeaders
    caller: Caller
    profile: str
    _refused: Refused

    @staticmethod
    def of(
        whole: Whole, said: HttpHeaders, caller: Caller, profile: str, refused: Refused
    ) -> HttpRequest:
        """That of our own server."""
        asgi = whole.scope, whole.receive, whole.send
        return HttpRequest(*asgi, whole, said, caller, profile, refused)

    @property
    def credential(self) -> str | None:
        """What the request brought to say who asks."""
        return self.headers.credential

    def ready(self, limit: int) -> bytes | None:
        """The body, where there is nothing to wait for and nothing to refuse; else ask for the `body`."""
        # Nothing is awaited: most bodies came in one piece with their heads (decision 0036).
        if self.whole is None or self.headers.flaw is not None:
            return None
        return self.whole.take_whole(limit)

    async def body(self, limit: int) -> bytes | None:
        """The body; None where the request was refused or its client left."""
        ready = self.ready(limit)
        if ready is not None:
            return ready
        flaw = self.headers.flaw
        if flaw is None:
            try:
                return await read_body(self.receive, limit)
            except BodyTooLarge:
                flaw = 413, f"a message has at most {limit} bytes"
            except BodyTimeout:
                flaw = 408, "the body did not arrive in time"
            except ClientGone:
                return None
        await self.refuse(*flaw)
        return None

    async def refuse(
        self,
        status: int,
        message: str,
        code: int = jsonrpc.INVALID_REQUEST,
        *,
        ident: bytes = b"null",
        data: Any = None,
    ) -> None:
        """Answer with an error. Where the request has no id that could be read, neither has the error
        in the modern revision, whose schema knows no null there."""
        self._refused(self.caller, "http", code, message)
        error = {"code": code, "message": message} | ({} if data is None else {"data": data})
        body = jsonrpc.error(ident, jsonrpc.encode(error))
        if ident == b"null" and self.headers.modern:
            body = jsonrpc.encode({"jsonrpc": "2.0", "error": error})
        await send_json(self.send, body, status)

    def disagreement(
        self, front: ServerContext, effect: mcp.Effect, method: str
    ) -> Rejected | None:
        """A rejection where headers and body disagree; comes after missing metadata, before the rest."""
        said, annotations = self.headers, _NO_ANNOTATIONS
        if type(effect) is mcp.Inbound:
            if method == "tools/call":
                name = str(effect.params.get("name"))
                annotations = front.upstream.annotations(self.profile, name, self.caller)
            flaw = said.duplicated() or check_headers(
                said.routing(), method, effect.params, annotations
            )
        elif isinstance(effect, (mcp.Hello, mcp.Listen)):
            flaw = said.duplicated() or check_headers(said.routing(), method, {}, {})
        elif isinstance(effect, Rejected):
            if effect.code in (jsonrpc.INVALID_PARAMS, -32020):
                return None
            flaw = check_headers(said.routing(), method, {}, {})
        else:
            return None
        return Rejected(effect.id, -32020, flaw, client=effect.client) if flaw else None

    def peer(self, front: ServerContext, parked: PendingInputs[ServedRequest]) -> ClientSession:
        """A session for this request alone: modern requests, and legacy ones that name no session."""
        return alone(front, parked, self.caller, self.credential, self.profile)

    async def gone(self) -> None:
        """Wait until the client closes the connection."""
        while (await self.receive()).get("type") != "http.disconnect":
            pass


def alone(
    front: ServerContext,
    parked: PendingInputs[ServedRequest],
    caller: Caller,
    credential: str | None,
    profile: str,
) -> ClientSession:
    """A session for one request."""
    return ClientSession(
        front,
        parked,
        caller,
        door="http",
        credential=credential,
        profile=profile,
        session=None,
        send=nowhere,
    )


def nowhere(message: bytes, about: About) -> None:
    """A request that stands alone has no channel besides its own answer."""


def says_modern(body: bytes) -> bool:
    """Whether a message carries the modern metadata; that its text contains the word is not enough."""
    if body.find(_MODERN_MARK) < 0:
        return False
    try:
        params = jsonrpc.members_named(body, "params").get("params")
    except ValueError:
        return False
    return params is not None and mcp.is_modern_params(bytes(params))
