"""`ThreadTurns`: runs blocking work in threads, one after another; work that has begun is finished first, even if its caller was cancelled.

A thread goes on when whoever wanted its work is cancelled, so a lock that is held while it is awaited would be free too early.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

__all__ = ["ThreadTurns"]

T = TypeVar("T")


class ThreadTurns:
    """One at a time, in the order in which they were asked for."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._over = False

    async def run(self, work: Callable[[], T]) -> T:
        """What the work returns or raises. Work of somebody who is cancelled before its turn is not begun; work that has begun ends.
        Raises `RuntimeError` after `end`."""
        if self._over:
            raise RuntimeError("no work is begun any more")
        await self._turn.acquire()
        try:
            going = asyncio.get_running_loop().run_in_executor(None, work)
        except BaseException:
            self._turn.release()
            raise
        going.add_done_callback(self._ended)
        return await asyncio.shield(going)

    async def end(self) -> None:
        """Take no more work, and return once all that was asked for has ended, whoever still waits for it."""
        self._over = True
        async with self._turn:
            pass

    def _ended(self, going: asyncio.Future[T]) -> None:
        with suppress(asyncio.CancelledError):
            going.exception()  # looked at: where nobody waits any more, nobody else does
        self._turn.release()
