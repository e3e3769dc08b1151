"""Replaces an answer above 1 MiB by an error, for clients that fail on such SSE events; recognises notification frames.

As long as nothing was streamed, the answer of a POST is plain JSON, which they read at any size. So what is only told goes another
way where there is one. Where there is none, an answer that they could not read becomes an error that says so.
"""

from __future__ import annotations

from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.codes import reason_of

__all__ = ["SMALL_EVENT", "fitting", "is_told"]

SMALL_EVENT = 1 << 20
"""The largest event that every client reads."""

# What every notification of ours begins with up to the name of its method, and no request, whose id stands before that.
_TOLD = jsonrpc.notification("")[:-3]
_UNREADABLE = (
    "the call was carried out, and its answer of {} bytes cannot be read by this client: after something was streamed it takes "
    "events of {} bytes at most. Call without a progress callback, in the handshake era, or for a smaller answer"
)


def is_told(frame: bytes) -> bool:
    """Whether a frame of ours is a notification."""
    return frame.startswith(_TOLD)


def fitting(ident: bytes, frame: bytes) -> bytes:
    """The answer to request `ident`, or an error in place of one that is too large for an event."""
    if len(frame) <= SMALL_EVENT:
        return frame
    row = reason_of("too_large")
    data = {"reason": row.name, "details": {"sent": True, "bytes": len(frame)}}
    return jsonrpc.error(ident, (row.mcp_code, _UNREADABLE.format(len(frame), SMALL_EVENT), data))
