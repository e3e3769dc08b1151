"""`Flusher`: thread that flushes the journal to disk for all who wait (group commit), else each second; after faults it calls `on_fault`.

One flush at a time. Whoever waits gets the flush that began after its record was written: while
the disk works, waiters gather, and the next flush answers all of them. There is no lingering timer:
those who begin to wait in one turn of the loop go to the thread together, in the next turn. With
nobody waiting, the disk follows once a second.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue

from gatewright.audit.journal import Journal
from gatewright.call import Unrecorded

__all__ = ["Flusher"]

_RETRY_S = 0.25

_Waiter = asyncio.Future[None]


class Flusher:
    """The thread that calls `Journal.sync`, and `on_fault` while the journal cannot be written."""

    def __init__(
        self, journal: Journal, *, on_fault: Callable[[], None], interval_s: float = 1.0
    ) -> None:
        """`on_fault` runs in the flusher's thread, a few times a second; it may repair."""
        self._journal = journal
        self._on_fault = on_fault
        self._interval_s = interval_s
        self._queue: SimpleQueue[list[_Waiter] | None] = SimpleQueue()
        self._turn: list[_Waiter] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._run, name="audit-flusher", daemon=True)
        self._thread.start()

    async def wait_for(self, seq: int) -> None:
        """Return once record `seq`, already written, is on disk. Raises `Unrecorded`."""
        if self._journal.synced.seq >= seq:
            return
        if not self._thread.is_alive():
            raise Unrecorded("the audit trail is closed: the gateway is stopping")
        loop = asyncio.get_running_loop()
        waiter: _Waiter = loop.create_future()
        # All that wait in one turn of the loop cost one wake-up of the thread.
        if not self._turn or self._loop is not loop:
            self._turn, self._loop = [], loop
            loop.call_soon(self._hand_over, self._turn)
        self._turn.append(waiter)
        await waiter

    def _hand_over(self, turn: list[_Waiter]) -> None:
        if turn is self._turn:
            self._turn = []
        self._queue.put(turn)
        # It ended after `wait_for` looked: nobody else would answer.
        if not self._thread.is_alive():
            self._answer_late()

    def close(self) -> None:
        """Flush what is written and end the thread. The journal stays open."""
        self._queue.put(None)
        self._thread.join()
        self._answer_late()

    def _answer_late(self) -> None:
        """Answer those who came after the end of the thread."""
        late: list[_Waiter] = []
        while not self._queue.empty():
            late += self._queue.get() or []
        if late:
            self._flush(late)

    def _run(self) -> None:
        going = True
        while going:
            waiters, going = self._gather()
            if self._journal.fault is not None:
                self._on_fault()
            # Heads are never changed, only replaced: the same object means that nothing was written since.
            if waiters or self._journal.end is not self._journal.synced:
                self._flush(waiters)

    def _gather(self) -> tuple[list[_Waiter], bool]:
        """Everybody who waits now; someone, or an interval without anyone."""
        waiters: list[_Waiter] = []
        pause = self._interval_s if self._journal.fault is None else _RETRY_S
        try:
            item = self._queue.get(timeout=pause)
            while item is not None:
                waiters += item
                item = self._queue.get_nowait()
        except Empty:
            return waiters, True
        return waiters, False

    def _flush(self, waiters: list[_Waiter]) -> None:
        problem: Unrecorded | None = None
        try:
            self._journal.sync()
        except Unrecorded as unrecorded:
            problem = unrecorded
        loops: dict[asyncio.AbstractEventLoop, list[_Waiter]] = {}
        for waiter in waiters:
            loops.setdefault(waiter.get_loop(), []).append(waiter)
        for loop, group in loops.items():
            try:
                loop.call_soon_threadsafe(_answer, group, problem)
            except RuntimeError:  # that loop is closed, and nobody waits on it any more
                continue


def _answer(waiters: list[_Waiter], problem: Unrecorded | None) -> None:
    for waiter in waiters:
        if waiter.done():  # cancelled
            continue
        if problem is None:
            waiter.set_result(None)
        else:
            # One each: an exception raised twice joins tracebacks.
            waiter.set_exception(Unrecorded(*problem.args))
