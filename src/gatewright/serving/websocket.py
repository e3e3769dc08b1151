"""MCP over WebSocket: subprotocol `mcp`, one message a text frame, both eras."""

from __future__ import annotations

from typing import Any

from gatewright.call import Caller, Refusal
from gatewright.serving.duplex import Duplex
from gatewright.serving.front import Front
from gatewright.serving.http_reply import Send, challenge
from gatewright.serving.http_request import Receive
from gatewright.transport.base import Limits
from gatewright.transport.websocket import Accepted, refuse
from gatewright.wire import jsonrpc
from gatewright.wire.codes import reason_of

__all__ = ["SUBPROTOCOL", "WebSocketDoor"]

SUBPROTOCOL = "mcp"


class WebSocketDoor:
    """The door at `/mcp` for an Upgrade."""

    def __init__(self, front: Front) -> None:
        self._front = front
        self._open: set[Accepted] = set()

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
        limits = Limits(frame_bytes=self._front.frame_bytes, queue_bytes=self._front.queue_bytes)
        pipe = Accepted(receive, send, host, limits)
        host.attach(pipe)
        self._open.add(pipe)
        try:
            await pipe.serve(SUBPROTOCOL)
        finally:
            self._open.discard(pipe)

    async def close(self) -> None:
        """Close every connection."""
        for pipe in list(self._open):
            pipe.close()
