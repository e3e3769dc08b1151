"""`StreamCancels`: cancels a call at an MGP server by `mgp/stream/cancel` (§12.7); falls back to `notifications/cancelled`."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Protocol

from gatewright.mcp.client.outgoing import Outgoing
from gatewright.mcp.client.pending_requests import PendingRequest
from gatewright.mcp.client.short_answers import fetch_short

__all__ = ["CANCEL_S", "StreamCancels"]

CANCEL_S = 2.0
"""How long a server has to say that it cancelled a call, before it is told in MCP's words as well."""
_CANCEL = "mgp/stream/cancel"


class _Asked(Protocol):
    """The connection (`mcp.client.link`)."""

    def fetch(
        self, method: str, params: dict[str, Any], timeout_s: float, whose: str = "", *, most: int
    ) -> Coroutine[Any, Any, bytes]:
        """Ask for something on the gateway's own behalf. Raises an exception where no result comes that has at most so many bytes."""

    def notify(self, method: str, params: dict[str, Any]) -> None:
        """Tell the server something."""


class StreamCancels:
    """Of one connection. Nobody waits for what comes of them: what was made until then has been passed on already."""

    def __init__(self, link: _Asked, outgoing: Outgoing) -> None:
        self._link = link
        self._outgoing = outgoing
        self._running: set[asyncio.Task[None]] = set()

    def call_off(self, exchange: PendingRequest, reason: str) -> None:
        """Tell the server that nobody waits for an answer any more."""
        if exchange.call is None or not self._outgoing.streams:
            self._tell(exchange.ident, reason)
            return
        task = asyncio.get_running_loop().create_task(self._stop(exchange.ident, reason))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _stop(self, ident: int, reason: str) -> None:
        try:
            params = {"request_id": ident, "reason": reason}
            found = await fetch_short(self._link, _CANCEL, params, CANCEL_S)
            if found.get("cancelled") is True:
                return
        except Exception:  # noqa: BLE001, S110 - a server that does not say so is told once more
            pass
        self._tell(ident, reason)

    def _tell(self, ident: int, reason: str) -> None:
        self._link.notify("notifications/cancelled", {"requestId": ident, "reason": reason})
