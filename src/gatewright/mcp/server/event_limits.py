"""Replaces an answer that is too large for one server-sent event (1 MiB) by an error, for clients that give up on larger ones.

As long as nothing was streamed, the answer of a POST is plain JSON, which they read at any size. So what is only told goes another
way where there is one. Where there is none, an answer that they could not read becomes an error that says so.
"""

from __future__ import annotations

from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.codes import reason_of

__all__ = ["SMALL_EVENT", "fitting"]

SMALL_EVENT = 1 << 20
"""The largest event that every client reads."""

_UNREADABLE = (
    "the call was carried out, and its answer of {} bytes cannot be read by this client: after something was streamed it takes "
    "events of {} bytes at most. Call without a progress callback, in the handshake era, or for a smaller answer"
)


def fitting(ident: bytes, frame: bytes) -> bytes:
    """The answer to request `ident`, or an error in place of one that is too large for an event."""
    if len(frame) <= SMALL_EVENT:
        return frame
    row = reason_of("too_large")
    data = {"reason": row.name, "details": {"sent": True, "bytes": len(frame)}}
    return jsonrpc.error(ident, (row.mcp_code, _UNREADABLE.format(len(frame), SMALL_EVENT), data))
