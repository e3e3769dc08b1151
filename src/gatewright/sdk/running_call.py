"""`Running`: state of one call of a tool: cancelled or not, how long its questions wait; what threads say or ask, handed to the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

__all__ = ["AHEAD", "STUCK_S", "PendingAnswer", "Running"]

T = TypeVar("T")

AHEAD = 64
"""So much of what a thread says is on its way to the loop at once."""
STUCK_S = 1.0
"""Seconds after which a loop that takes nothing is not waited for: it may itself be waiting for the thread (`join`)."""


class Running:
    """The state of one running call: cancelled or not, and how long its questions wait. Made by the server of the tool."""

    __slots__ = (
        *("_asked_s", "_asking", "_room", "_since", "_stuck", "_waited"),
        *("cancelled", "loop", "unanswered"),
    )

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self.loop = loop
        self.cancelled = False
        """The caller gave up, or the time is over."""
        self.unanswered: Exception | None = None
        """Why a question could not be put, in the caller's own words (`call.CannotAsk`)."""
        self._asking = 0
        self._since = 0.0
        self._asked_s = 0.0
        self._waited: set[PendingAnswer[Any]] = set()
        self._room: SimpleQueue[None] | None = None
        self._stuck = False

    def tell(self, do: Callable[[Any], object], what: Any) -> None:
        """For a thread: have the loop do this, and wait where it has not come to what the `AHEAD` before were about. A loop
        that takes nothing for `STUCK_S` is waited for no more before it does."""
        loop, room = self.loop, self._room
        if loop is None:
            return
        if room is None:
            # A queue of C code: a thread that is stopped at its limit leaves no lock behind that others wait for.
            self._room = room = SimpleQueue()
            for _ in range(AHEAD):
                room.put(None)
        try:
            room.get(timeout=0.0 if self._stuck else STUCK_S)
        except Empty:
            self._stuck = True
            loop.call_soon_threadsafe(self._late, do, what)
            return
        loop.call_soon_threadsafe(self._done, room, do, what)

    @staticmethod
    def _done(room: SimpleQueue[None], do: Callable[[Any], object], what: Any) -> None:
        room.put(None)
        do(what)

    def _late(self, do: Callable[[Any], object], what: Any) -> None:
        self._stuck = False
        do(what)

    @contextmanager
    def answer(self) -> Iterator[PendingAnswer[Any]]:
        """For a thread: the answer to a question that it waits for as long as the call goes on."""
        answer: PendingAnswer[Any] = PendingAnswer()
        self._waited.add(answer)
        try:
            yield answer
        finally:
            self._waited.discard(answer)
            # Nobody waits any more, for whichever reason: the question is a task of its own.
            answer.cancel()

    def end(self) -> None:
        """The function is over, for its caller: threads that wait for answers are woken."""
        for answer in [*self._waited]:
            answer.cancel()

    def asks(self, now: float) -> None:
        """A question begins to wait for its answer; `now` is in the loop's seconds, as below."""
        # Several questions may wait at once; the seconds of each count once.
        if not self._asking:
            self._since = now
        self._asking += 1

    def asked(self, now: float) -> None:
        """It waits no longer."""
        self._asking -= 1
        if not self._asking:
            self._asked_s += now - self._since

    def asked_s(self, now: float) -> float:
        """Seconds that questions took until now: a person's time is not the tool's."""
        return self._asked_s + (now - self._since if self._asking else 0.0)


class PendingAnswer(Future[T]):
    """What a question comes to, for a thread."""

    def put(self, question: Coroutine[Any, Any, T]) -> None:
        """On the loop: put the question, unless nobody waits for its answer any more."""
        if self.cancelled():
            question.close()
            return
        loop = asyncio.get_running_loop()
        task = loop.create_task(question)
        task.add_done_callback(self._settle)
        self.add_done_callback(lambda _: _soon(loop, task.cancel))

    def _settle(self, task: asyncio.Task[T]) -> None:
        problem = None if task.cancelled() else task.exception()
        # From here on it cannot be cancelled by anybody.
        if not self.set_running_or_notify_cancel():
            return
        if task.cancelled():
            self.set_exception(CancelledError())
        elif problem is not None:
            self.set_exception(problem)
        else:
            self.set_result(task.result())


def _soon(loop: asyncio.AbstractEventLoop, do: Callable[[], Any]) -> None:
    with suppress(RuntimeError):  # the loop closed meanwhile
        loop.call_soon_threadsafe(do)
