"""`GroundhogEndpoint`: WebSocket and POST; a socket's first message selects Groundhog or MCP and may authenticate; audits refusals.

A WebSocket that offers the subprotocol `mcp` never gets here. One that offers none is decided by its first
message: MCP's handshake makes it MCP, everything else Groundhog (decision C-48). A client without a
credential may connect and send one in its first message; a wrong one is refused before the upgrade.
"""

from __future__ import annotations

from typing import Any

from gatewright.call import Caller, Refusal, Unrecorded
from gatewright.command_text import to_type
from gatewright.dialects.groundhog.client import GroundhogPeer, moment
from gatewright.dialects.groundhog.outcomes import Written
from gatewright.dialects.groundhog.types import Parts, Refused
from gatewright.dialects.one_shot import unless_gone
from gatewright.mcp.protocol.mcp_server import is_modern_params
from gatewright.mcp.server.duplex import Duplex
from gatewright.mcp.server.http_headers import HttpHeaders
from gatewright.mcp.server.http_request import Connection, HttpRequest, Receive
from gatewright.mcp.server.http_responses import Send, challenge, send_json, send_plain
from gatewright.mcp.server.routes import Routes
from gatewright.mcp.server.server_context import Presented
from gatewright.mcp.server.websocket import Sockets
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.codes import reason_of
from gatewright.transport.base import Pipe, Receiver
from gatewright.transport.websocket import refuse

__all__ = ["SUBPROTOCOL", "GroundhogEndpoint"]

SUBPROTOCOL = "groundhog"
_ALLOW = ((b"allow", b"POST"),)
_HANDSHAKES = frozenset({"initialize", "server/discover"})


class GroundhogEndpoint:
    """Serves WebSockets that do not offer MCP's subprotocol, and POSTs where they are Groundhog's."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self._sockets = Sockets(parts.front)
        self.routes = Routes(plain_socket=self, close=self.close)

    async def __call__(
        self,
        scope: dict[str, Any],
        receive: Receive,
        send: Send,
        *,
        caller: Caller | Refusal,
        credential: str | None,
        profile: str,
    ) -> None:
        """Serve one client, or refuse it before the upgrade."""
        known = self._admit(caller, credential)
        if isinstance(known, Refusal):
            await refuse(receive, send, *self._turned_away(known))
            return
        peer = GroundhogPeer(
            self.parts, known, door="groundhog", credential=credential, profile=profile
        )
        receiver = _ByFirstMessage(self.parts, peer, known, credential, profile)
        await self._sockets.serve(scope, receive, send, receiver, SUBPROTOCOL)

    async def post(
        self,
        connection: Connection,
        headers: HttpHeaders,
        caller: Caller | Refusal,
        credential: str | None,
    ) -> None:
        """One message, or an array of them, in the body of a POST."""
        if connection.scope["method"] != "POST":
            await send_plain(connection.send, 405, b"send a JSON-RPC message with POST\n", _ALLOW)
            return
        known = self._admit(caller, credential)
        if not isinstance(known, Caller):
            made = to_type("key create NAME", known=False)
            wanted = f"send the header Authorization: Bearer KEY; `{made}` makes a key"
            known = known or Refusal("auth_required", wanted)
            status, said, more = self._turned_away(known)
            await send_json(connection.send, said, status, more)
            return
        http = HttpRequest(
            *connection,
            headers,
            known,
            "",
            self.parts.front.refused,
        )
        body = await http.body(self.parts.front.frame_bytes)
        if body is None:
            return
        peer = GroundhogPeer(self.parts, known, door="groundhog", credential=credential, profile="")
        try:
            answer = await unless_gone(http, peer.answer(body))
        finally:  # a session that the request did not ask for ends with it
            peer.closed("answered")
        if answer is None:
            return  # its client is gone, and so is what it asked for
        await send_json(connection.send, answer, 200 if answer else 202)

    def _admit(self, caller: Caller | Refusal, credential: str | None) -> Caller | Refusal | None:
        """Who asks; None where nobody says yet, and may still say."""
        terms = self.parts.terms
        if isinstance(caller, Caller):
            nobody = caller.kind == "anonymous" and terms.require_authentication
            if not nobody:
                return caller
        # A wrong credential is refused at once; who has none may still send one in the first message.
        elif credential is not None or caller.reason != "auth_required":
            return caller
        if self.parts.waiting >= terms.waiting_most:
            return Refusal("resource_exhausted", "too many connections wait for a credential")
        return None

    def _turned_away(self, refusal: Refusal) -> tuple[int, bytes, tuple[tuple[bytes, bytes], ...]]:
        """Status, body and headers for somebody who is not let in, which is recorded as far as there is room
        for what nobody sent: beyond it the answer stays the same, and says nothing of how much there was."""
        parts = self.parts
        trace = parts.front.random(16).hex()
        try:
            parts.note(Refused(None, "groundhog", "", trace, refusal))
        except Unrecorded as problem:
            refusal = Refusal("audit_unavailable", str(problem))
        row = reason_of(refusal.reason)
        written = Written(trace, moment(parts.now()))
        error = parts.spell(refusal, "community", written, strict=parts.terms.strict_codes)
        more = challenge(refusal.reason) if row.http == 401 else ()
        return row.http, jsonrpc.error(b"null", error), more

    async def close(self) -> None:
        """End every connection and session."""
        self._sockets.close()
        self.parts.sessions.close_all()


class _ByFirstMessage:
    """Hands a connection to whoever speaks the dialect of its first message."""

    def __init__(
        self,
        parts: Parts,
        peer: GroundhogPeer,
        caller: Caller | None,
        credential: str | None,
        profile: str,
    ) -> None:
        self._parts = parts
        self._groundhog = peer
        self._caller = caller
        self._credential = credential
        self._profile = profile
        self._to: Receiver | None = None
        self._host: Duplex | None = None
        self._pipe: Pipe | None = None

    @property
    def presented(self) -> Presented | None:
        return self._groundhog.presented

    @property
    def busy(self) -> bool:
        return self._groundhog.busy or (self._host is not None and self._host.busy)

    def attach(self, pipe: Pipe) -> None:
        self._pipe = pipe
        self._groundhog.attach(pipe)

    def message(self, data: bytes) -> None:
        if self._to is None:
            self._to = self._decide(data)
        self._to.message(data)

    def closed(self, reason: str) -> None:
        self._groundhog.closed(reason)
        if self._to is not None and self._to is not self._groundhog:
            self._to.closed(reason)

    def _decide(self, data: bytes) -> Receiver:
        if self._caller is None or self._pipe is None or not _is_mcp(data, self._parts):
            return self._groundhog
        self._host = host = Duplex(
            self._parts.front,
            self._caller,
            door="websocket",
            credential=self._credential,
            profile=self._profile,
        )
        host.attach(self._pipe)
        return host


def _is_mcp(data: bytes, parts: Parts) -> bool:
    message = jsonrpc.parse(data, parts.front.limits)
    return isinstance(message, jsonrpc.Request) and (
        message.method in _HANDSHAKES or is_modern_params(message.params)
    )
