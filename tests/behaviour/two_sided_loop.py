"""A loop whose clock stands still until a test moves it, and that says when everybody has come to rest. However slow the machine is, what
happens in the two-sided model is the same.

Nothing that runs in a thread takes time either: it is waited for, and the clock does not see it. Only where a test waits for something and
neither moves the clock nor asks for rest does it follow the machine's own, for as long as nobody has anything to do.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, TypeVar, TypeVarTuple, Unpack

from gatewright.audit.flusher import Flusher

__all__ = ["Loop", "Waited"]

_Words = TypeVarTuple("_Words")
_Found = TypeVar("_Found")

_LOOK_S = 0.05
"""How long threads are waited for before they are looked at again."""


class Loop(asyncio.SelectorEventLoop):
    """See the module's text."""

    def __init__(self) -> None:
        self._now = 1000.0
        self.outside = 0
        """What threads do that somebody in the loop waits for."""
        self._resting: list[asyncio.Future[None]] = []
        super().__init__(_Selector(self))

    def time(self) -> float:
        return self._now

    def run_in_executor(
        self,
        executor: Executor | None,
        func: Callable[[Unpack[_Words]], _Found],
        *args: *_Words,
    ) -> asyncio.Future[_Found]:
        self.outside += 1
        found = super().run_in_executor(executor, func, *args)
        found.add_done_callback(self._came)
        return found

    def _came(self, _: object) -> None:
        self.outside -= 1

    async def rest(self) -> None:
        """Return when nobody has anything to do before the clock goes on."""
        waits = self.create_future()
        self._resting.append(waits)
        await waits

    def put_forward(self, seconds: float) -> None:
        """Let time go by at once."""
        self._now += seconds

    def idle(self, poll: Any, timeout: float | None) -> Any:
        """Nobody has anything to do: wait for threads, say so to who waits for that, or wait as any loop does."""
        found = poll(0)
        if found:
            return found
        if self.outside:
            return poll(_LOOK_S)
        if self._resting:
            resting, self._resting = self._resting, []
            for one in resting:
                if not one.done():
                    one.set_result(None)
            return found
        begun = time.monotonic()
        found = poll(timeout)
        self._now += time.monotonic() - begun
        return found


class _Selector(selectors.DefaultSelector):
    """Tells its loop when that would wait."""

    def __init__(self, loop: Loop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Any:
        if timeout is not None and timeout <= 0:
            return super().select(timeout)
        return self._loop.idle(super().select, timeout)


class Waited(Flusher):
    """A flusher whose loop knows who waits for it."""

    async def wait_for(self, seq: int) -> None:
        loop = asyncio.get_running_loop()
        if not isinstance(loop, Loop):
            await super().wait_for(seq)
            return
        loop.outside += 1
        try:
            await super().wait_for(seq)
        finally:
            loop.outside -= 1
