"""Runs all audit sinks in one thread with its own event loop, and reports each sink's position, count and error.

They follow the rows of the record, which know only what is on the disk: no sink ever has a record that
a power cut took from the journal. Reading, changing the form and sending happen in this thread, so
that neither the loop of the calls nor the thread that feeds the rows waits for any of it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from gatewright.audit.rows import Rows, open_rows_to_read
from gatewright.audit.sinks.follow import Follower, Sink
from gatewright.audit.sinks.positions import SinkPositions
from gatewright.storage.sqlite import Database

__all__ = ["Sinks", "State"]

_LAST_S = 3.0
"""How long a stop waits for sinks."""


class State(msgspec.Struct, frozen=True):
    """How one sink is: how far, how many since the start, and why it takes nothing at present."""

    taken: int
    delivered: int
    problem: str | None = None


class Sinks:
    """The sinks of one state folder, by name. None is fine."""

    def __init__(self, folder: Path, sinks: Mapping[str, Sink], positions: SinkPositions) -> None:
        """`positions` has one for each."""
        self._folder = folder
        self._followers = [Follower(name, sink, positions.of(name)) for name, sink in sinks.items()]
        self._database: Database | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="audit-sinks", daemon=True)

    def states(self) -> dict[str, State]:
        """How each is."""
        return {one.name: State(one.taken, one.delivered, one.problem) for one in self._followers}

    def start(self) -> None:
        """Begin to follow. The rows must be there."""
        if self._followers:
            self._loop = asyncio.new_event_loop()
            self._thread.start()

    async def close(self) -> None:
        """Deliver what is in the rows, as far as the sinks take it, and end."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._stopping.set)
            await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        assert self._loop is not None  # noqa: S101 - `start` made it
        try:
            self._loop.run_until_complete(self._follow())
        finally:
            self._loop.close()
            self._forget()

    async def _follow(self) -> None:
        tasks = [
            asyncio.create_task(one.follow(self._read, self._stopping)) for one in self._followers
        ]
        await self._stopping.wait()
        # A sink that is down must not hold up the end of the gateway.
        _, late = await asyncio.wait(tasks, timeout=_LAST_S)
        for task in late:  # its place is remembered: the next start goes on there
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _read(self, after: int, most: int) -> Sequence[tuple[int, bytes]]:
        if self._database is None:
            self._database = open_rows_to_read(self._folder)
        try:
            return list(Rows(self._database).lines(after, most=most))
        except Exception:
            self._forget()  # the next look opens it anew
            raise

    def _forget(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None
