"""Thread pool for plain tool functions: an exception raised in the thread stops one at its time limit; threads waiting for a user are extra.

Theory: a thread cannot be killed, but CPython can raise an exception in it at its next instruction. A function that
waits inside C code is reached when it comes back from there, so nothing that it would have done afterwards
happens. The call ends for its caller at the limit, whatever the thread does. Threads are daemons and are kept for
the next call; a stuck one counts against `MOST`, so that a tool that never ends cannot take the process along. One that waits for a
person's answer (`beside_the_rest`) does not count, up to `MOST_WAITING`: nobody may stop all tools by not answering.

The exception may come at any instruction, so a function that is stopped while it takes a lock can leave it locked:
what shares state over calls belongs into a coroutine function, which is only ever stopped where it awaits.

CPython reports and drops an exception that comes up in a finaliser or in a callback of a weak reference, wherever the garbage
collector runs one: `Stopped` is sent once more then, or the function would run for ever. Where it comes up at the backward jump of
a loop, CPython 3.13.0 looks for no handler in that frame (seen; 3.11 does): the function ends, without its own `finally`.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import ctypes
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["MOST", "MOST_WAITING", "Expired", "Left", "Stopped", "beside_the_rest", "run_in_thread"]

MOST = 64
"""Threads at most. A call beyond waits for one, within its own time limit."""
MOST_WAITING = 1024
"""Threads besides, that wait for an answer."""

_AGAIN_S = 0.01
"""Before `Stopped` is sent again: the report of the one that was dropped has to be over, which would drop this one as well."""

Left = Callable[[], float]
"""How many seconds a function may still take; asked again whenever they would be over."""


class Expired(Exception):  # noqa: N818 - what happened
    """The time of the function is over. It was stopped."""


class Stopped(BaseException):
    """Raised inside a function whose time is up. Not an `Exception`, so that `except Exception` lets it pass."""


class _Job:
    """One function on its way through a thread."""

    __slots__ = ("_call", "_ended", "_future", "_lock", "_loop", "_stopped", "_thread")

    def __init__(self, call: Callable[[], Any], loop: asyncio.AbstractEventLoop) -> None:
        self._call = call
        self._loop = loop
        self._future: asyncio.Future[Any] = loop.create_future()
        self._lock = threading.Lock()
        self._thread = 0
        self._ended = False
        self._stopped = False

    @property
    def begun(self) -> bool:
        """Whether a thread has come to it."""
        return self._thread != 0

    async def wait(self, left: Left | None) -> Any:
        """What the function returns or raises. Cancelling this stops the function. Raises `Expired`."""
        timer = None
        if left is not None:
            clock = _Clock(self._loop, left, self._expire)
            timer = clock.start()
        try:
            # Settled by the thread, the clock, or the cancellation of this task, whichever comes first.
            return await self._future
        except asyncio.CancelledError:
            self._stop()
            raise
        finally:
            if timer is not None:
                timer.cancel()

    def _expire(self) -> None:
        self._stop()
        if not self._future.done():
            self._future.set_exception(Expired())

    def run(self) -> None:
        """In the thread: call the function and tell the loop."""
        outcome: tuple[Any, BaseException | None] = (None, Stopped())
        try:
            try:
                if self._begin():
                    outcome = (self._call(), None)
            except BaseException as problem:  # noqa: BLE001 - whatever it is belongs to the caller
                outcome = (None, problem)
            finally:
                self._end()
        except Stopped:
            self._end()
        if self._stopped:
            _take_pending()
        else:
            self._tell(*outcome)

    def _begin(self) -> bool:
        with self._lock:
            self._thread = threading.get_ident()
            return not self._stopped

    def _end(self) -> None:
        with self._lock:
            self._ended = True

    def dropped(self) -> None:
        """In the thread: `Stopped` came where it stops nothing."""
        with contextlib.suppress(RuntimeError):  # the loop closed meanwhile
            self._loop.call_soon_threadsafe(self._loop.call_later, _AGAIN_S, self._stop)

    def _stop(self) -> None:
        _hear_dropped()
        with self._lock:
            self._stopped = True
            # Under the lock: a thread that has gone on to another job must not be hit.
            if self._thread and not self._ended:
                _raise_in(self._thread, Stopped)

    def _tell(self, value: Any, problem: BaseException | None) -> None:
        try:
            self._loop.call_soon_threadsafe(self._settle, value, problem)
        except RuntimeError:
            return  # the loop closed meanwhile: nobody waits any more

    def _settle(self, value: Any, problem: BaseException | None) -> None:
        if self._future.done():
            return
        if problem is None:
            self._future.set_result(value)
        elif isinstance(problem, Exception) and not isinstance(problem, StopIteration):
            self._future.set_exception(problem)
        else:  # StopIteration cannot be set on a future, and SystemExit would end the loop
            self._future.set_exception(RuntimeError(f"the tool ended with {problem!r}"))


class _Clock:
    """A timer that asks how much time is left before it believes that there is none."""

    __slots__ = ("_handle", "_left", "_loop", "_over")

    def __init__(
        self, loop: asyncio.AbstractEventLoop, left: Left, over: Callable[[], None]
    ) -> None:
        self._loop = loop
        self._left = left
        self._over = over
        self._handle: asyncio.TimerHandle | None = None

    def start(self) -> _Clock:
        self._look()
        return self

    def cancel(self) -> None:
        if self._handle is not None:
            self._handle.cancel()

    def _look(self) -> None:
        left = self._left()
        if left > 0:
            self._handle = self._loop.call_later(left, self._look)
        else:
            self._over()


class _Worker:
    """One thread, and the lock that it waits at: open when there is a job for it."""

    __slots__ = ("gate", "job", "leaves")

    def __init__(self, job: _Job) -> None:
        self.job: _Job | None = job
        self.leaves = False
        self.gate = threading.Lock()


class _Threads:
    """The threads of this process, made when needed. Who went idle last works next: what it needs is still at hand."""

    def __init__(self) -> None:
        self._idle: list[_Worker] = []
        self._waiting: deque[_Job] = deque()
        self._lock = threading.Lock()
        self._count = 0
        self._asking: set[_Worker] = set()
        """Those that wait for an answer. Changed without the lock: a function that is stopped while it holds that would leave it
        locked."""
        self._own = threading.local()

    @contextlib.contextmanager
    def asking(self, loop: asyncio.AbstractEventLoop) -> Iterator[None]:
        """The thread that this is called in waits for an answer, and does not count meanwhile."""
        worker = getattr(self._own, "worker", None)
        if worker is None or len(self._asking) >= MOST_WAITING:
            yield
            return
        self._asking.add(worker)
        try:
            loop.call_soon_threadsafe(self._serve)
            yield
        finally:
            self._asking.discard(worker)

    def _serve(self) -> None:
        """Have threads made for the jobs that wait for one."""
        while True:
            with self._lock:
                if self._free <= 0 or not self._waiting:
                    return
                job = self._waiting.popleft()
            try:
                self.submit(job)
            except RuntimeError:  # its caller waits still, for the next thread that is done
                with self._lock:
                    if not self._given(job):
                        self._waiting.appendleft(job)
                return

    def dropped(self) -> bool:
        """Whether the thread that this is called in works for a job, which then hears that `Stopped` stopped nothing."""
        job: _Job | None = getattr(self._own, "job", None)
        if job is not None:
            job.dropped()
        return job is not None

    @property
    def _free(self) -> int:
        """How many threads may still be made, or less than 0."""
        return MOST + len(self._asking) - self._count

    def submit(self, job: _Job) -> None:
        """Have a job done by an idle thread, by a new one, or by the next that is done with its own."""
        with self._lock:
            if self._given(job):
                return
            if self._free <= 0:
                self._waiting.append(job)
                return
            self._count += 1
            name = f"gatewright-tool-{self._count}"
        worker = _Worker(job)
        try:
            threading.Thread(target=self._work, args=(worker,), name=name, daemon=True).start()
        except RuntimeError:  # the system gives none; another time it may
            with self._lock:
                self._count -= 1
            raise

    def _given(self, job: _Job) -> bool:
        """Whether an idle thread does it. Under the lock."""
        if not self._idle:
            return False
        worker = self._idle.pop()
        worker.job = job
        worker.gate.release()
        return True

    def withdraw(self, job: _Job) -> None:
        """Forget a job that nobody waits for any more: threads that are all stuck never come to it."""
        with self._lock, contextlib.suppress(ValueError):
            self._waiting.remove(job)

    def _work(self, worker: _Worker) -> None:
        self._own.worker = worker
        worker.gate.acquire()
        while not worker.leaves:
            job = worker.job
            while job is not None:
                self._own.job = job
                with contextlib.suppress(
                    Stopped
                ):  # it may come when the function has ended already
                    job.run()
                self._own.job = None
                job = self._next(worker)
            if not worker.leaves:
                worker.gate.acquire()

    def _next(self, worker: _Worker) -> _Job | None:
        # It may have been stopped on its way out of `asking`.
        self._asking.discard(worker)
        with self._lock:
            if self._free < 0:
                # Another was made while this one waited for an answer.
                self._count -= 1
                worker.job, worker.leaves = None, True
                return None
            if self._waiting:
                return self._waiting.popleft()
            worker.job = None  # before anybody can give it the next one
            self._idle.append(worker)
            return None


_threads = _Threads()

beside_the_rest = _threads.asking


async def run_in_thread(function: Callable[[], Any], left: Left | None = None) -> Any:
    """Call a function in a thread, with this task's context variables. Cancelling stops it (`Stopped`), and so does
    the end of its time, which raises `Expired` here; without `left` it has all the time there is."""
    # One for each job: a context cannot be entered twice at the same time.
    context = contextvars.copy_context()
    job = _Job(lambda: context.run(function), asyncio.get_running_loop())
    _threads.submit(job)
    try:
        return await job.wait(left)
    finally:
        # Otherwise it would wait for a thread, and keep what it holds, for as long as all are stuck.
        if not job.begun:
            _threads.withdraw(job)


def _raise_in(thread: int, problem: type[BaseException]) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(problem))


class _Hears:
    """What this process calls for an exception that nobody can be given; all but ours goes on to what was called before."""

    def __init__(self, others: Callable[[sys.UnraisableHookArgs], Any]) -> None:
        self._others = others

    def __call__(self, dropped: sys.UnraisableHookArgs) -> None:
        if not (issubclass(dropped.exc_type, Stopped) and _threads.dropped()):
            self._others(dropped)


def _hear_dropped() -> None:
    """Have this process say when `Stopped` was dropped. Not on import: the hook is the whole process's, and others put theirs there
    and take it away again. Each time another one: theirs may pass on to ours, which must not come back to itself."""
    standing = sys.unraisablehook
    if not isinstance(standing, _Hears):
        sys.unraisablehook = _Hears(standing)


def _take_pending() -> None:
    """Let `Stopped` come out, where it was sent to this thread and has not come yet. Taking it back by sending nothing
    would leave CPython 3.11 looking for it in every thread for ever, and without an end where a tracer is set."""
    for _ in range(3):
        _pass()


def _pass() -> None:
    """A call is a place at which the interpreter looks for what is pending."""
