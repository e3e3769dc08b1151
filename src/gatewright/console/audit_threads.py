"""`AuditThreads`: runs searches of the audit trail in threads, two at a time, so that other work of the console has threads left."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

__all__ = ["AuditThreads"]

_TWO = 2
P = ParamSpec("P")
T = TypeVar("T")


class AuditThreads:
    """Of one gateway, for all screens that search."""

    def __init__(self) -> None:
        self._free = asyncio.Semaphore(_TWO)

    async def run(self, work: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
        """What the work gives, once a thread is free for it."""
        await self._free.acquire()
        task = asyncio.create_task(asyncio.to_thread(work, *given, **named))
        task.add_done_callback(self._ended)
        # A thread goes on where whoever asked has gone: its place is free when it ends.
        return await asyncio.shield(task)

    def _ended(self, task: asyncio.Task[T]) -> None:
        self._free.release()
        if not task.cancelled():
            task.exception()  # whoever asked may have gone, and hears of it no more
