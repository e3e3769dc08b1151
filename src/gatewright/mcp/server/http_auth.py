"""Reads the bearer token of an HTTP request; sends 401, 403 with `WWW-Authenticate` to an unknown caller, 403 where `Guard` refuses."""

from __future__ import annotations

from collections.abc import Mapping

from gatewright.call import Refusal
from gatewright.mcp.server.http_responses import Send, challenge, send_json
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.codes import reason_of

__all__ = ["bearer", "refuse_caller", "refuse_place"]


def bearer(headers: Mapping[bytes, bytes]) -> str | None:
    """The bearer token of a request, or None."""
    value = headers.get(b"authorization", b"")
    if value[:7].lower() != b"bearer ":
        return None
    return value[7:].strip().decode("latin-1")


async def refuse_place(
    send: Send, reason: str, message: str = "this Host or Origin is not served; see allowed_hosts"
) -> None:
    """Answer a request whose Host or Origin is not ours."""
    row = reason_of(reason)
    body = jsonrpc.encode(
        {"jsonrpc": "2.0", "error": {"code": jsonrpc.INVALID_REQUEST, "message": message}}
    )
    await send_json(send, body, row.http)


async def refuse_caller(send: Send, refusal: Refusal) -> None:
    """Answer a request of nobody we know."""
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
    more = challenge(refusal.reason, str(refusal.details.get("scope", "")))
    await send_json(send, body, row.http, more)
