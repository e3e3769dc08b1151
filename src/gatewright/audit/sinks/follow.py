"""Delivers the audit records to one sink at least once: batches in order, saved position, retries with backoff.

What it has is one number (`positions`), written after a batch has arrived. A crash in
between sends the batch once more: at least once, and the `id` of a record tells who has it already.
A sink that fails is tried again with the same batch, later each time; nobody else notices.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol

from gatewright.audit.sinks.positions import Position

__all__ = ["Follower", "Read", "Sink", "SinkFailed"]

log = logging.getLogger("gatewright.audit")

Read = Callable[[int, int], Sequence[tuple[int, bytes]]]
"""`read(after, most)`: numbers and lines of the records behind `after`. Raises `OSError`, `StoreError`."""

_BATCH = 500
_PAUSE_S = 0.5
_MOST_PAUSE_S = 10.0


class SinkFailed(Exception):  # noqa: N818 - what happened, not what is wrong with us
    """A batch was not taken. The text says why, without secrets."""


class Sink(Protocol):
    """Takes records somewhere else."""

    async def deliver(self, lines: Sequence[bytes]) -> None:
        """Take all of these lines, in order. Raises `SinkFailed` or `OSError` where it cannot."""

    async def close(self) -> None:
        """Let go of what is open."""


class Follower:
    """One sink with its position in the record. For one event loop."""

    def __init__(self, name: str, sink: Sink, position: Position) -> None:
        self.name = name
        self.delivered = 0
        """How many it took since the start."""
        self.problem: str | None = None
        """Why it takes nothing at present, None while it does."""
        self._sink = sink
        self._position = position

    @property
    def taken(self) -> int:
        """The number of the last record that the sink has."""
        return self._position.taken

    async def follow(self, read: Read, stopping: asyncio.Event) -> None:
        """Deliver what there is, and what comes; when stopping, what is there by then."""
        pause = _PAUSE_S
        try:
            while True:
                last = stopping.is_set()
                pause = _PAUSE_S if await self._drain(read) else min(_MOST_PAUSE_S, pause * 2)
                if last:
                    return
                with suppress(TimeoutError):
                    await asyncio.wait_for(stopping.wait(), pause)
        finally:
            with suppress(SinkFailed, OSError):
                await self._sink.close()

    async def _drain(self, read: Read) -> bool:
        try:
            while lines := read(self.taken, _BATCH):
                await self._sink.deliver([line for _, line in lines])
                # After the delivery: a crash repeats a batch and loses none.
                self._move(lines[-1][0], len(lines))
                await asyncio.sleep(0)
        except Exception as problem:  # noqa: BLE001 - whatever it is: the batch is tried again
            if self.problem is None:  # once, not at every try
                log.warning("audit sink %s takes nothing for now: %s", self.name, problem)
            self.problem = str(problem) or type(problem).__name__
            return False
        if self.problem is not None:
            log.warning("audit sink %s takes records again", self.name)
            self.problem = None
        return True

    def _move(self, taken: int, count: int) -> None:
        self._position.move(taken)
        self.delivered += count
