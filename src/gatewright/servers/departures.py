"""`Departures`: closes connections to a server that were replaced; calls in flight on one that failed may finish until the server is closed."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from gatewright.mcp.client.http_rules import gone
from gatewright.mcp.client.link import Link

__all__ = ["GRACE_S", "Departures"]

GRACE_S = 5.0
"""How long a connection has at each step of being stopped, as long as nobody closes the server."""


class Departures:
    """Of one server."""

    def __init__(self) -> None:
        self.grace_s = GRACE_S
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._links: set[Link] = set()
        self._why: str | None = None

    def leave(self, link: Link) -> None:
        """Stop a connection; `over` waits for it."""
        self._links.add(link)
        link.patient = True
        if self._why is not None:
            self._bound(link, self._why)
        self.depart(self._stop(link))

    def depart(self, work: Coroutine[Any, Any, None]) -> None:
        """Do what ends with a connection that leaves."""
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _stop(self, link: Link) -> None:
        try:
            await link.stop(self.grace_s)
        finally:
            self._links.discard(link)

    def _bound(self, link: Link, reason: str) -> None:
        self._loop.call_later(self.grace_s, link.give_up, gone(link.spec.id, reason, sent=True))

    async def over(self, reason: str) -> None:
        """Wait until all have left. Calls that go on have their grace, and then are told why."""
        self._why = reason
        for link in self._links:
            self._bound(link, reason)
        # Each that ends may add one: a reconnector that is closed leaves its connection to be stopped.
        while self._tasks:
            await asyncio.wait(list(self._tasks))
