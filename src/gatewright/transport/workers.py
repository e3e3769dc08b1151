"""`Workers`: pool of worker processes for CPU-heavy jobs: bounded queue, time limits, kill and replace, fairness by caller.

Each is a child of ours that answers one order after the other on its pipes; it is started when it is needed first, and one that takes
too long is killed and replaced, because nothing else stops C code. A child whose gateway is gone reads the end of its input, and
one that is busy then ends by its own alarm. No caller has more than all but one of them, so that whoever sends the costliest
texts waits for himself.
"""

from __future__ import annotations

import asyncio
import logging
import os
import select
import struct
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import IO

from gatewright.transport.launch import child_environment

__all__ = ["ANSWER_BYTES", "HEAD", "Busy", "Overtime", "Workers", "read_frame", "write_frame"]

log = logging.getLogger("gatewright.workers")

HEAD = struct.Struct(">IIB")
"""Before each order and answer: the bytes of its head, the bytes of its load, and for how many seconds it may be worked on."""

_WAITING_OF_ONE = 16
_WAITING_BYTES = 128 * 1024 * 1024
_BYTES_OF_ONE = _WAITING_BYTES // 4
"""How much of one caller may wait; one load of his may wait however large it is."""
ANSWER_BYTES = 512 * 1024 * 1024
"""The longest answer that is read: what a process says is made of a stranger's text, and may be longer than that."""
_GRACE_S = 1.0
_START_S = 60.0
"""How long a process may take to say that it is there."""


class Busy(Exception):  # noqa: N818 - a verdict, not a malfunction
    """Too much waits for the workers already, of this caller or of all together."""


class Overtime(Exception):  # noqa: N818 - a verdict, not a malfunction
    """The work took longer than it may, or its process ended."""


class _Order:
    __slots__ = ("answer", "head", "load", "seconds", "who")

    def __init__(self, who: Hashable, head: bytes, load: bytes, seconds: int) -> None:
        self.who = who
        self.head = head
        self.load = load
        self.seconds = seconds
        self.answer: asyncio.Future[tuple[bytes, bytes]] = (
            asyncio.get_running_loop().create_future()
        )


class Workers:
    """At most so many processes of one module. Belongs to the loop on which it is used."""

    def __init__(self, module: str, most: int = 2, answer_bytes: int = ANSWER_BYTES) -> None:
        """`module` is run as a program (`-m`) and calls `read_frame` and `write_frame`. One whose answer is longer than
        `answer_bytes` is ended."""
        self._answer_bytes = answer_bytes
        self._command = [sys.executable, "-I", "-m", module]
        self._most = most
        self._idle: list[subprocess.Popen[bytes]] = []
        self._alive: set[subprocess.Popen[bytes]] = set()
        self._busy: dict[Hashable, int] = {}
        self._running = 0
        self._waiting: deque[_Order] = deque()
        self._waiting_bytes = 0
        self._threads: ThreadPoolExecutor | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False
        self._lock = threading.Lock()
        """Held where a process is added, which a thread does, and where all are ended."""
        self.orders = 0
        """How much was done or tried."""
        self.killed = 0
        """How often a process was killed because it took too long, or had ended."""
        self.spent_s = 0.0

    async def run(
        self, who: Hashable, head: bytes, load: bytes, seconds: int = 5
    ) -> tuple[bytes, bytes]:
        """The answer to one order: head and load. Raises `Busy` or `Overtime`."""
        # One load may always wait, however large: else what is larger than a share could never be done.
        mine = [len(one.load) for one in self._waiting if one.who == who]
        much = mine and sum(mine) + len(load) > _BYTES_OF_ONE
        full = self._waiting_bytes + len(load) > _WAITING_BYTES and self._waiting
        if len(mine) >= _WAITING_OF_ONE or much or full or self._closed:
            raise Busy
        order = _Order(who, head, load, seconds)
        self._waiting.append(order)
        self._waiting_bytes += len(load)
        self._next()
        try:
            return await order.answer
        finally:
            if order in self._waiting:  # whoever wanted it is gone
                self._forget(order)

    @property
    def closed(self) -> bool:
        """Whether nothing is done any more, so that `Busy` will not pass."""
        return self._closed

    async def close(self) -> None:
        """Kill them all; what waits is not done, and whoever waits for it hears that with `Busy`."""
        with self._lock:
            self._closed = True
        for order in tuple(self._waiting):
            self._forget(order)
            if not order.answer.done():
                order.answer.set_exception(Busy())
                order.answer.exception()  # whoever waits may have been cancelled as well
        for process in self._living():  # what has not said yet that it is there as well
            process.kill()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for process in self._living():
            _reap(process)
        self._alive.clear()
        if self._threads is not None:
            self._threads.shutdown(wait=False)

    def _living(self) -> list[subprocess.Popen[bytes]]:
        with self._lock:
            return list(self._alive)

    # -- whose turn it is

    def _forget(self, order: _Order) -> None:
        self._waiting.remove(order)
        self._waiting_bytes -= len(order.load)

    def _next(self) -> None:
        while self._running < self._most:
            order = self._chosen()
            if order is None:
                return
            self._forget(order)
            self._running += 1
            self._busy[order.who] = self._busy.get(order.who, 0) + 1
            task = asyncio.create_task(self._served(order))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _chosen(self) -> _Order | None:
        """The first one whose caller leaves a worker to others; of callers who have none before those who have."""
        share = max(1, self._most - 1)
        allowed = [one for one in self._waiting if self._busy.get(one.who, 0) < share]
        return min(allowed, key=lambda one: self._busy.get(one.who, 0), default=None)

    async def _served(self, order: _Order) -> None:
        began = time.monotonic()
        try:
            answer = await self._done(order)
            if not order.answer.done():
                order.answer.set_result(answer)
        except Exception as problem:  # noqa: BLE001 - whatever it is, nobody waits for an answer that will not come
            if not self._closed:
                self.killed += 1
                log.warning("a worker process was ended after %.1f s: %s", time.monotonic() - began, problem)  # fmt: skip
            if not order.answer.done():
                order.answer.set_exception(Overtime())
        finally:
            self.orders += 1
            self.spent_s += time.monotonic() - began
            self._running -= 1
            self._busy[order.who] -= 1
            if not self._busy[order.who]:
                del self._busy[order.who]
            if not self._closed:
                self._next()

    async def _done(self, order: _Order) -> tuple[bytes, bytes]:
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self._most, "gatewright-worker")
        loop = asyncio.get_running_loop()
        process = self._idle.pop() if self._idle else None
        if process is None or process.poll() is not None:
            process = await loop.run_in_executor(self._threads, self._started)
        # The worker's own alarm comes first; this one is for a worker that hangs outside of its work.
        late = loop.call_later(order.seconds + _GRACE_S, process.kill)
        try:
            most = self._answer_bytes
            answer = await loop.run_in_executor(self._threads, _asked, process, order, most)
        except Exception:
            self._alive.discard(process)
            process.kill()
            try:
                await loop.run_in_executor(self._threads, _reap, process)
            except RuntimeError:
                _reap(process)  # no thread is left to wait for what is killed already
            raise
        finally:
            late.cancel()
        self._idle.append(process)
        return answer

    def _started(self) -> subprocess.Popen[bytes]:
        """In a thread: whoever waits for it may be cancelled meanwhile, and the process has to be known all the same to be ended."""
        process = _launched(self._command)
        with self._lock:
            closed = self._closed
            if not closed:
                self._alive.add(process)
        if closed or not _is_there(process):
            with self._lock:
                self._alive.discard(process)
            _reap(process)
            raise EOFError(
                "nobody needs it any more" if self._closed else "it could not be started"
            )
        return process


def _launched(command: Sequence[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - a module of ours
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        env=child_environment({}),
        close_fds=True,
        start_new_session=True,
    )


def _is_there(process: subprocess.Popen[bytes]) -> bool:
    """Whether a process says in time that it is there, so that the time of an order does not begin while it loads."""
    pipe = process.stdout
    if pipe is None:
        return False
    waits = select.poll()
    waits.register(pipe, select.POLLIN)
    return bool(waits.poll(_START_S * 1000)) and pipe.read(1) == b"!"


def _reap(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()


def _asked(process: subprocess.Popen[bytes], order: _Order, most: int) -> tuple[bytes, bytes]:
    if process.stdin is None or process.stdout is None:
        raise EOFError("it has no pipes")
    write_frame(process.stdin.fileno(), order.head, order.load, order.seconds)
    head, load, _ = read_frame(process.stdout, most)
    return head, load


def write_frame(descriptor: int, head: bytes, load: bytes, seconds: int = 0) -> None:
    """Write one order or answer."""
    for part in (HEAD.pack(len(head), len(load), seconds) + head, load):
        rest = memoryview(part)
        while rest:
            rest = rest[os.write(descriptor, rest) :]


def read_frame(pipe: IO[bytes], most: int | None = None) -> tuple[bytes, bytes, int]:
    """Head, load and seconds of one order or answer. Raises `EOFError` where none comes any more, or one of more than `most`
    bytes."""
    heads, loads, seconds = HEAD.unpack(_exactly(pipe, HEAD.size))
    if most is not None and heads + loads > most:
        raise EOFError(f"its answer has {heads + loads} bytes, more than {most}")
    return _exactly(pipe, heads), _exactly(pipe, loads), seconds


def _exactly(pipe: IO[bytes], size: int) -> bytes:
    found = bytearray(size)
    rest = memoryview(found)
    while rest:
        count = os.readv(pipe.fileno(), [rest])
        if not count:
            raise EOFError("it ended")
        rest = rest[count:]
    return bytes(found)
