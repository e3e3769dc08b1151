"""`Sink` interface; `Follower` delivers records to one, in order, at least once: saves position, backs off, shrinks refused batches.

What it has is one number (`positions`), written after a batch has arrived. A crash in
between sends the batch once more: at least once, and the `id` of a record tells who has it already.
A sink that fails is tried again with the first half of the batch, later each time; nobody else notices. One that refuses a
batch for its size is given half of it at once, and again half of that after a moment, which becomes longer.

How long records are is decided by callers, who choose names; how much a sink takes at once, by whoever runs it. So a batch has a
bound in bytes, becomes smaller where it is refused, and a single record that is refused comes shortened: no record can
hold up those behind it. None is left out; where the shortened one is refused too, the sink is wrong and not the record.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol

from gatewright.audit.records import shortened
from gatewright.audit.sinks.positions import Position

__all__ = ["BATCH_BYTES", "Follower", "Read", "Sink", "SinkFailed", "SinkRefused"]

log = logging.getLogger("gatewright.audit")

Read = Callable[[int, int], Sequence[tuple[int, bytes]]]
"""`read(after, most)`: numbers and lines of the records behind `after`. Raises `OSError`, `StoreError`."""

_BATCH = 500
BATCH_BYTES = 256 * 1024
"""So long are the lines of a batch, unless it is one; envelopes may double that. Common bounds of collectors are 1 MB."""
_PAUSE_S = 0.5
_MOST_PAUSE_S = 10.0
_HALVED_S = 0.05
"""After the second refusal in a row; doubled with each more, up to `_PAUSE_S`. Whoever stops waits for none."""


class SinkFailed(Exception):  # noqa: N818 - what happened, not what is wrong with us
    """A batch was not taken. The text says why, without secrets."""


class SinkRefused(SinkFailed):
    """What was sent was refused for what it is, or for its size: the same once more would be, fewer lines may be taken."""


class Sink(Protocol):
    """Takes records somewhere else."""

    async def deliver(self, lines: Sequence[bytes]) -> None:
        """Take all of these lines, in order. Raises `SinkFailed`, `SinkRefused` or `OSError` where it cannot."""

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
        self.shortened = 0
        """How many it took only in their shortened form."""
        self._sink = sink
        self._position = position
        self._most = _BATCH

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
                pause = (
                    _PAUSE_S if await self._drain(read, stopping) else min(_MOST_PAUSE_S, pause * 2)
                )
                if last:
                    return
                with suppress(TimeoutError):
                    await asyncio.wait_for(stopping.wait(), pause)
        finally:
            with suppress(SinkFailed, OSError):
                await self._sink.close()

    async def _drain(self, read: Read, stopping: asyncio.Event) -> bool:
        lines: Sequence[tuple[int, bytes]] = ()
        rest = 0.0
        try:
            while lines := _within(read(self.taken, self._most)):
                if await self._delivered(lines):
                    # After the delivery: a crash repeats a batch and loses none.
                    self._move(lines[-1][0], len(lines))
                    self._most = min(_BATCH, self._most + self._most // 8 + 1)
                    rest = 0.0
                    await asyncio.sleep(0)
                    continue
                with suppress(TimeoutError):
                    await asyncio.wait_for(stopping.wait(), rest)
                rest = min(_PAUSE_S, max(_HALVED_S, rest * 2))
        except Exception as problem:  # noqa: BLE001 - whatever it is: it is tried again
            if lines:
                self._most = max(1, len(lines) // 2)
            if self.problem is None:  # once, not at every try
                log.warning("audit sink %s takes nothing for now: %s", self.name, problem)
            self.problem = str(problem) or type(problem).__name__
            return False
        if self.problem is not None:
            log.warning("audit sink %s takes records again", self.name)
            self.problem = None
        return True

    async def _delivered(self, lines: Sequence[tuple[int, bytes]]) -> bool:
        """Whether these were taken; else fewer are to be tried."""
        try:
            await self._sink.deliver([line for _, line in lines])
        except SinkRefused as problem:
            self._most = len(lines) // 2
            if self._most:
                return False
            self._most = 1
            number, line = lines[0]
            await self._sink.deliver([shortened(line)])
            self.shortened += 1
            if not self.shortened & (self.shortened - 1):  # of many records not a line each
                log.warning(
                    "audit sink %s takes records only shortened, %d so far, the last of them %d: %s",
                    *(self.name, self.shortened, number, problem),
                )
        return True

    def _move(self, taken: int, count: int) -> None:
        self._position.move(taken)
        self.delivered += count


def _within(lines: Sequence[tuple[int, bytes]]) -> Sequence[tuple[int, bytes]]:
    """As many of the lines as make one batch: the first, and what fits beside it."""
    size = 0
    for count, (_, line) in enumerate(lines):
        size += len(line)
        if count and size > BATCH_BYTES:
            return lines[:count]
    return lines
