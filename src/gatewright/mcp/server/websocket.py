"""MCP over WebSocket, all revisions: accepts subprotocol `mcp` or refuses, tracks open sockets, closes them when credentials lapse."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from gatewright.call import Caller, Refusal
from gatewright.mcp.server.duplex import Duplex
from gatewright.mcp.server.http_request import Receive
from gatewright.mcp.server.http_responses import Send, challenge
from gatewright.mcp.server.long_lived import lasting
from gatewright.mcp.server.server_context import Presented, ServerContext
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.codes import reason_of
from gatewright.transport.base import Limits, Pipe, Receiver
from gatewright.transport.websocket import POLICY_VIOLATION, Accepted, refuse

__all__ = ["SUBPROTOCOL", "Sockets", "WebSocketEndpoint"]

SUBPROTOCOL = "mcp"


class _Speaker(Receiver, Protocol):
    """Who hears a client, and answers it."""

    def attach(self, pipe: Pipe) -> None:
        """From now on answers go to this pipe."""

    @property
    def presented(self) -> Presented | None:
        """Who it is; None as long as nobody is known."""

    @property
    def busy(self) -> bool:
        """Whether something runs for it."""


class Sockets:
    """The open WebSockets of one endpoint."""

    def __init__(self, front: ServerContext) -> None:
        self._front = front
        self._open: set[Accepted] = set()

    async def serve(
        self,
        scope: Mapping[str, Any],
        receive: Receive,
        send: Send,
        speaker: _Speaker,
        subprotocol: str,
    ) -> None:
        """Accept one and serve it until it closes; under the subprotocol if it was offered."""
        limits = Limits(frame_bytes=self._front.frame_bytes, queue_bytes=self._front.queue_bytes)
        pipe = Accepted(receive, send, speaker, limits)
        speaker.attach(pipe)
        self._open.add(pipe)

        def end(why: Refusal) -> None:
            pipe.leave(POLICY_VIOLATION, why.message)

        try:
            with lasting(self._front, lambda: speaker.presented, end, lambda: speaker.busy):
                # A client that offered none must not be answered with one (RFC 6455 §4.1).
                offered = subprotocol in scope.get("subprotocols", ())
                await pipe.serve(subprotocol if offered else None)
        finally:
            self._open.discard(pipe)

    def close(self) -> None:
        """Close every one."""
        for pipe in list(self._open):
            pipe.close()


class WebSocketEndpoint:
    """The endpoint `/mcp` for an Upgrade to WebSocket."""

    def __init__(self, front: ServerContext) -> None:
        self._front = front
        self._sockets = Sockets(front)

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
        """Serve one host, or refuse it before the upgrade."""
        # After who it is: a stranger learns nothing of what would have been wrong besides.
        if SUBPROTOCOL not in scope.get("subprotocols", ()) and isinstance(caller, Caller):
            caller = Refusal("invalid_request", "offer the WebSocket subprotocol mcp")
        if isinstance(caller, Refusal):
            row = reason_of(caller.reason)
            error = {"code": row.mcp_code, "message": caller.message, "data": {"reason": row.name}}
            body = jsonrpc.encode({"jsonrpc": "2.0", "error": error})
            lacking = str(caller.details.get("scope", ""))
            more = challenge(caller.reason, lacking) if row.http == 401 or lacking else ()
            await refuse(receive, send, row.http, body, more)
            return
        host = Duplex(self._front, caller, door="websocket", credential=credential, profile=profile)
        await self._sockets.serve(scope, receive, send, host, SUBPROTOCOL)

    async def close(self) -> None:
        """Close every connection."""
        self._sockets.close()
