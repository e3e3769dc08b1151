"""`InFlight`: rejects a request whose id is still unanswered on its connection, or one over the limit; for ggen and Groundhog, not for MCP.

A client that says a request again under its id, because it lost the answer or its patience, would have it carried out twice.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

from gatewright.call import Refusal
from gatewright.mcp.protocol.mcp_server import request_key

__all__ = ["InFlight"]

_T = TypeVar("_T")
_BUSY = "requests of one connection run already; wait for an answer"
_RUNS = "a request of this id runs already: wait for its answer"


class InFlight:
    """Of one connection, or of one batch."""

    def __init__(self) -> None:
        self._running: set[bytes] = set()

    def taken(self, ident: bytes, most: int = 0) -> Refusal | None:
        """Why a request of this id (JSON text) cannot begin; `most` where so many run as there may be."""
        if most:
            return Refusal("resource_exhausted", f"{most} {_BUSY}")
        return Refusal("invalid_request", _RUNS) if _key(ident) in self._running else None

    async def through(self, ident: bytes, work: Coroutine[Any, Any, _T]) -> _T:
        """What comes of a request, whose id is taken meanwhile."""
        key = _key(ident)
        self._running.add(key)
        try:
            return await work
        finally:
            self._running.discard(key)


def _key(ident: bytes) -> bytes:
    try:
        return request_key(ident)
    except ValueError:  # half of a surrogate pair: one spelling, which is its own
        return ident
