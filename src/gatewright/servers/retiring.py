"""`Retiring`: servers that a reload replaced or removed, each stopped once no former call can need it and no task runs there."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator, Sequence
from typing import Any

from gatewright.servers.draining import LOOK_S
from gatewright.servers.server import Server

__all__ = ["COLLECT_EACH", "RETIRING_MOST", "Retiring"]

RETIRING_MOST = 4
"""Of one server so many may wait for the calls that could need them; then the oldest of them ends."""

COLLECT_EACH = 32
"""After so many have ended, what they and their configurations held is given back: each is some 60 KB in cycles of references,
which Python would look for only after millions of new objects (`app.run.collecting_rarely`)."""


class Retiring:
    """What has left the fleet and not yet ended."""

    def __init__(self) -> None:
        self._hurries: dict[Server, asyncio.Future[None]] = {}
        self._tasks: set[Server] = set()
        """Whose tasks are waited for."""
        self._departures: set[asyncio.Task[None]] = set()
        self._ended = 0

    def __iter__(self) -> Iterator[Server]:
        return iter(list(self._hurries))

    def add(
        self,
        server: Server,
        over: Sequence[asyncio.Future[None]],
        held_s: float,
        why: str,
        *,
        tasks: bool = True,
    ) -> None:
        """Stop a server when all of `over` are done and, with `tasks`, none runs that would end with it; or after the time limit
        of a call and `held_s`."""
        crowd = [one for one in self._hurries if one.id == server.id]
        # A file that is saved again and again must not leave a process behind each time.
        for one in crowd[: max(0, len(crowd) - RETIRING_MOST + 1)]:
            _hurry(self._hurries[one])
        self._hurries[server] = asyncio.get_running_loop().create_future()
        if tasks:
            self._tasks.add(server)
        # A call of the former configuration may still be on its way through the gates.
        most_s = server.spec.call_s + server.spec.restart_wait_s + held_s
        work = self._leave(server, asyncio.gather(*over), most_s, why)
        task = asyncio.get_running_loop().create_task(work)
        self._departures.add(task)
        task.add_done_callback(self._departures.discard)

    def tasks(self) -> int:
        """How many tasks run, or have a result that nobody has fetched, that would end with these servers, and are waited for."""
        return sum(one.life.tasks for one in self._tasks)

    async def hurried(self) -> None:
        """Wait for no call any more, and return once all have ended."""
        for hurry in self._hurries.values():
            _hurry(hurry)
        await asyncio.gather(*self._departures)

    async def _leave(
        self, server: Server, over: asyncio.Future[Any], most_s: float, why: str
    ) -> None:
        hurry, loop = self._hurries[server], asyncio.get_running_loop()
        due = loop.time() + most_s
        await asyncio.wait([over, hurry], timeout=most_s, return_when=asyncio.FIRST_COMPLETED)
        while (
            server in self._tasks and server.life.tasks and not hurry.done() and loop.time() < due
        ):
            await asyncio.wait([hurry], timeout=LOOK_S)
        self._tasks.discard(server)
        await server.close(5.0, why)
        del self._hurries[server]
        self._ended += 1
        if self._ended % COLLECT_EACH == 0:
            gc.collect()


def _hurry(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)
