"""Audit sink to an MGP audit server: sends records as `notifications/mgp.audit` in paced batches; fails while it is not connected.

A notification has no receipt: what a server was told before it died may be lost to it, and everything
after that waits here until it is back. A few are told at a time, so that a server that is slower
than the gateway is not taken for one that does not read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from gatewright.audit.records import to_mgp
from gatewright.audit.sinks.follow import SinkFailed

__all__ = ["MgpSink", "Tell"]

Tell = Callable[[str, Sequence[dict[str, Any]]], Awaitable[bool]]
"""`tell(server, params)`: one notification each; False where the server is not there, or did not
negotiate `audit`."""

_AT_ONCE = 20
_PAUSE_S = 0.02


class MgpSink:
    """Tells one server."""

    def __init__(self, server: str, tell: Tell) -> None:
        self._server = server
        self._tell = tell

    async def deliver(self, lines: Sequence[bytes]) -> None:
        """Raises `SinkFailed`."""
        events = [
            event for line in lines if (event := to_mgp(msgspec.json.decode(line))) is not None
        ]
        for first in range(0, len(events), _AT_ONCE):
            if not await self._tell(self._server, events[first : first + _AT_ONCE]):
                raise SinkFailed(f"{self._server} is not connected, or did not negotiate `audit`")
            await asyncio.sleep(_PAUSE_S)

    async def close(self) -> None:
        """Nothing is open."""
