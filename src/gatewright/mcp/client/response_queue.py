"""`ResponseQueue`: POSTs answers to an HTTP server's own requests, eight at once; queues up to 1024 of them (8 MiB) and drops the rest.

A server that asks faster than it takes answers would otherwise have a connection opened for each of them.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

__all__ = ["AT_ONCE", "WAITING", "WAITING_BYTES", "ResponseQueue"]

log = logging.getLogger("gatewright.mcp.client")

AT_ONCE = 8
"""How many answers are on their way at once."""

WAITING = 1024
"""How many may wait for that: four times as many as a server may have questions open, which are pings and refusals besides."""

WAITING_BYTES = 8 * 1024 * 1024
"""How much of them may wait; one may be longer."""


class ResponseQueue:
    """`post` sends one frame in a session and never raises; `spawn` does what nobody waits for."""

    def __init__(
        self,
        server: str,
        post: Callable[[bytes, str | None], Awaitable[None]],
        spawn: Callable[[Coroutine[Any, Any, None]], object],
    ) -> None:
        self._server = server
        self._post = post
        self._spawn = spawn
        self._waiting: deque[tuple[bytes, str | None]] = deque()
        self._bytes = 0
        self._lanes = 0
        self._told = False

    def send(self, frame: bytes, session: str | None = None) -> None:
        """Send an answer when it is its turn. One too many is left out: the server asks faster than it listens."""
        much = self._waiting and self._bytes + len(frame) > WAITING_BYTES
        if much or len(self._waiting) >= WAITING:
            if not self._told:
                self._told = True
                log.warning(
                    "server %s asks faster than it takes answers: with %d waiting, the others are left out",
                    self._server,
                    len(self._waiting),
                )
            return
        self._waiting.append((frame, session))
        self._bytes += len(frame)
        if self._lanes < AT_ONCE:
            self._lanes += 1
            self._spawn(self._lane())

    def remark(self, frame: bytes, session: str | None = None) -> None:
        """Send what nobody waits for, where nothing else has to wait for it."""
        if not self._waiting:
            self.send(frame, session)

    def clear(self) -> None:
        """Nobody waits for answers any more."""
        self._waiting.clear()
        self._bytes = 0

    async def _lane(self) -> None:
        try:
            while self._waiting:
                frame, session = self._waiting.popleft()
                self._bytes -= len(frame)
                await self._post(frame, session)
        finally:
            self._lanes -= 1
            # Once a crowd, and again only after it has gone: a log line for each answer would be another flood.
            self._told = self._told and bool(self._waiting)
