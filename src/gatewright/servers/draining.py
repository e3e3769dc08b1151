"""`InFlight` counts a connection's calls; `Drain` waits for them and its tasks until a deadline, fails the rest (MGP 3003), closes it."""

from __future__ import annotations

import asyncio
import logging
from weakref import WeakSet

from gatewright.call import Failure
from gatewright.mcp.client.http_rules import gone
from gatewright.mcp.client.link import Link
from gatewright.servers.states import After, ShutdownReason

__all__ = ["GONE_S", "LOOK_S", "Drain", "InFlight", "leaving", "tasks_on"]

log = logging.getLogger("gatewright.servers")

GONE_S = 5.0
"""How long the process of a server has at each step of being ended; its successor waits for that."""
LOOK_S = 0.05
"""How often it is looked whether tasks still run."""


class InFlight:
    """The calls that run on one connection, or on those before it that have ended, and since when none does."""

    __slots__ = ("_empty", "_loop", "count", "last", "past")

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.count = 0
        self.past: WeakSet[Link] = WeakSet()
        """The connections before, of which calls may go on."""
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

    def bar(self, reason: str) -> None:
        """Nothing may go on any more on the connections before."""
        for link in list(self.past):
            link.give_up(gone(link.spec.id, reason, sent=True))

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
        self.link = link
        self._calls = calls
        self._timeout_s = timeout_s
        self._loop = asyncio.get_running_loop()
        self._deadline = self._loop.time() + timeout_s
        self._limit: asyncio.Timeout | None = None
        self.task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Close the connection when no call is in flight any more and no task runs that would end with it, at latest when the time
        is over."""
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
                while tasks_on(self.link):
                    await asyncio.sleep(LOOK_S)
                    await self._calls.emptied()
        except TimeoutError:
            for one in (self.link, *self._calls.past):
                one.give_up(self._late())
        self._limit = None
        if lost := tasks_on(self.link):
            log.warning("server %s is shut down while %d tasks of it run, which end with it", self.link.spec.id, lost)  # fmt: skip
        self.link.close(self.text)

    def _late(self) -> Failure:
        spec, limit_ms = self.link.spec, round(self._timeout_s * 1000)
        said = f"server {spec.id} did not answer before it was shut down ({self.reason}): calls had {limit_ms} ms to end"
        return Failure("timeout", said, {"sent": True, "timeout_ms": limit_ms})

    async def gone(self) -> None:
        """Return once its process has ended: two of one kind may want one file."""
        if self.link.spec.transport == "stdio":
            await self.link.stop(GONE_S)


def leaving(drain: Drain | None) -> Link | None:
    """The connection that is shut down, as long as it is there."""
    return drain.link if drain is not None and drain.link.open else None


def tasks_on(link: Link | None) -> int:
    """How many tasks run that end with a connection. A server that is reached over HTTP remembers them (`task_names`)."""
    return 0 if link is None or link.spec.transport == "http" else link.tasks.pending
