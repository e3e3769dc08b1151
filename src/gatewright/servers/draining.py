"""`InFlight` counts the calls on a connection; `Drain` waits for them to end, answers the rest with 3003, and closes the connection."""

from __future__ import annotations

import asyncio

from gatewright.call import Failure
from gatewright.mcp.client.link import Link
from gatewright.servers.states import After, ShutdownReason

__all__ = ["GONE_S", "Drain", "InFlight"]

GONE_S = 5.0
"""How long the process of a server has at each step of being ended; its successor waits for that."""


class InFlight:
    """The calls that run on one connection, and since when none does."""

    __slots__ = ("_empty", "_loop", "count", "last")

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.count = 0
        self.last = self._loop.time()
        """When a call began or ended last, in the loop's seconds."""
        self._empty: asyncio.Future[None] | None = None

    def begin(self) -> None:
        """One more."""
        self.count += 1

    def end(self) -> None:
        """One less."""
        self.count -= 1
        self.last = self._loop.time()
        if self._empty is not None and not self.count and not self._empty.done():
            self._empty.set_result(None)

    async def emptied(self) -> None:
        """Return once none is in flight. Of one waiter at a time."""
        while self.count:
            self._empty = self._loop.create_future()
            await self._empty


class Drain:
    """The end of one connection. `after` says what follows; `text` is why, as callers and operators read it."""

    def __init__(
        self,
        link: Link,
        calls: InFlight,
        *,
        reason: ShutdownReason,
        after: After,
        timeout_s: float,
    ) -> None:
        self.reason = reason
        self.after = after
        self.text = f"it was told to shut down ({reason})"
        self.counts = False
        """Whether a restart after it counts against the limit: the server began it, and could again as soon as it is back."""
        self._link = link
        self._calls = calls
        self._timeout_s = timeout_s
        self._loop = asyncio.get_running_loop()
        self._deadline = self._loop.time() + timeout_s
        self._limit: asyncio.Timeout | None = None
        self.task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Close the connection when no call is in flight any more, at latest when the time is over."""
        self.task = self._loop.create_task(self._run())

    def hurry(self, timeout_s: float, after: After) -> None:
        """Told once more: the nearer end counts, and the later word of what follows."""
        self.after = after
        due = self._loop.time() + timeout_s
        if due < self._deadline:
            self._deadline, self._timeout_s = due, timeout_s
            if self._limit is not None:
                self._limit.reschedule(due)

    async def _run(self) -> None:
        try:
            async with asyncio.timeout_at(self._deadline) as self._limit:
                await self._calls.emptied()
        except TimeoutError:
            self._link.give_up(self._late())
        self._limit = None
        self._link.close(self.text)

    def _late(self) -> Failure:
        spec, limit_ms = self._link.spec, round(self._timeout_s * 1000)
        said = f"server {spec.id} did not answer before it was shut down ({self.reason}): calls had {limit_ms} ms to end"
        return Failure("timeout", said, {"sent": True, "timeout_ms": limit_ms})

    async def gone(self) -> None:
        """Return once its process has ended: two of one kind may want one file."""
        if self._link.spec.transport == "stdio":
            await self._link.stop(GONE_S)
