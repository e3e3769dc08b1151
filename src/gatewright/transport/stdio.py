"""Turns the process's own stdin and stdout into a pipe, sends stray output to standard error, and fills missing standard streams.

Standard output must carry messages and nothing else, so opening the pipe takes the real one away from everybody: the
pipe keeps a private duplicate, and descriptor 1 leads to standard error from then on. A stray `print`, here or in a C
library or a child, lands in the log and cannot corrupt the stream. Descriptor 0 leads to the null device likewise.

Pipes, sockets and terminals are read and written by the event loop. Regular files and the null device never make
anybody wait and cannot be watched by epoll: those are read a piece a turn and written at once. No threads.

The end of the input is the end of the pipe for the receiver. Answers may still be sent until `close` or `stop`,
so that `gatewright serve --stdio < requests` gets them.
"""

from __future__ import annotations

import asyncio
import os
import socket
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import cast

from gatewright.transport.base import FROM_CLIENTS, SLOW_READER, Closed, Limits, Receiver
from gatewright.transport.line_stream import HALF_A_FRAME, LineInbox, LineOutbox
from gatewright.transport.pipe_ends import End

__all__ = ["StdioPipe", "fill_missing_streams", "open_stdio"]

READ_BYTES = 1 << 16
CLOSE_GRACE_S = 5.0
"""How long `close` waits for the peer to take what was sent, before it is cut off."""


def fill_missing_streams() -> None:
    """Give the null device to each standard stream that we were started without.

    To be called before there is an event loop: otherwise its own descriptors get the numbers 0 to 2, and libuv
    aborts the process when it later closes one of them.
    """
    for descriptor in range(3):
        if _was_missing(descriptor):
            null = _null_device(os.O_RDWR)
            if null == descriptor:
                os.set_inheritable(null, True)
            else:
                os.dup2(null, descriptor)
                os.close(null)


async def open_stdio(
    receiver: Receiver, limits: Limits = FROM_CLIENTS, *, stdin: int = 0, stdout: int = 1
) -> StdioPipe:
    """Take over the descriptors `stdin` and `stdout`, for good."""
    source = _take_over(stdin, _null_device(os.O_RDONLY))
    sink = _take_over(stdout, _log_descriptor())
    pipe = StdioPipe(receiver, limits)
    if _is_same_socket(source, sink):
        os.close(sink)
        await pipe.connect_socket(source)
    else:
        # The sink first: a line that is read can end the pipe, and that closes the sink.
        await pipe.connect_sink(sink)
        await pipe.connect_source(source)
    pipe.start()
    return pipe


class StdioPipe:
    """A `Pipe` on descriptors. Made by `open_stdio`.

    Reasons of its end: `end of input`, `half a frame, then the end of input`, `closed`, `closed by the peer`,
    `slow reader`, `a message longer than N bytes`, `cannot write: …`.
    """

    def __init__(self, receiver: Receiver, limits: Limits) -> None:
        self._loop = asyncio.get_running_loop()
        self._limits = limits
        self._end = End(receiver)
        self._closing: str | None = None
        self._one_socket = False
        self._impatience: asyncio.TimerHandle | None = None
        self._written = asyncio.Event()

    async def connect_socket(self, descriptor: int) -> None:
        """Use one socket both ways. `open_stdio` calls this or the next two."""
        self._one_socket = True
        connection = socket.socket(fileno=descriptor)
        transport, _ = await self._loop.connect_accepted_socket(lambda: _Both(self), connection)
        self._use_sink(transport)

    async def connect_sink(self, descriptor: int) -> None:
        """Write to a descriptor, and own it."""
        if _is_watchable(descriptor):
            file = os.fdopen(descriptor, "wb", buffering=0)
            transport, _ = await self._loop.connect_write_pipe(lambda: _Output(self), file)
            self._use_sink(transport)
        else:
            self._use_sink(_FileSink(descriptor, self.output_lost))

    async def connect_source(self, descriptor: int) -> None:
        """Read from a descriptor, and own it."""
        if _is_watchable(descriptor):
            file = os.fdopen(descriptor, "rb", buffering=0)
            await self._loop.connect_read_pipe(lambda: _Input(self), file)
        else:
            source = _FileSource(descriptor)
            inbox = self.make_inbox(source)
            source.start(inbox.feed, lambda: inbox.end(self.input_ended))

    def start(self) -> None:
        """Begin to deliver."""
        self._inbox.start()

    @property
    def waiting(self) -> int:
        """See `Pipe.waiting`."""
        return self._outbox.waiting()

    def send(self, message: bytes) -> None:
        """Write one message; see `Pipe.send`. Works until `close`, also after the end of the input."""
        if self._closing is not None:
            raise Closed(self._closing)
        if not self._outbox.send(message):
            self.fail(SLOW_READER)
            raise Closed(SLOW_READER)

    def close(self) -> None:
        """Write out what was sent, and close. A peer that does not take it in time is cut off."""
        if self._closing is None:
            self._closing = "closed"
            self._outbox.flush()
            self._stop_reading("closed")
            self._impatience = self._loop.call_later(CLOSE_GRACE_S, self._cut)
            self._sink.close()

    async def stop(self, grace_s: float) -> None:
        """Close, and wait until the peer took what was sent to it, or `grace_s` seconds have passed."""
        self.close()
        try:
            async with asyncio.timeout(grace_s):
                await self._written.wait()
        except TimeoutError:
            self._cut()

    async def wait_closed(self) -> str:
        """Wait until the pipe has ended and, once `close` was called, its output is written; return the reason."""
        reason = await self._end.wait()
        if self._closing is not None:
            await self._written.wait()
        return reason

    def make_inbox(self, source: _FileSource | asyncio.ReadTransport) -> LineInbox:
        """Called when the source is there."""
        self._source = source
        self._inbox = LineInbox(source, self._end, self._limits, self.fail)
        return self._inbox

    def input_ended(self, half: bool) -> None:
        """The input is over and everything in it delivered."""
        self._end.finish(f"{HALF_A_FRAME}, then the end of input" if half else "end of input")

    def output_lost(self, reason: str) -> None:
        """Nothing can be written any more."""
        self._written.set()
        if self._impatience is not None:
            self._impatience.cancel()
        self.fail(reason)

    def fail(self, reason: str) -> None:
        """End at once."""
        if self._closing is None:
            self._closing = reason
            self._cut()
        self._stop_reading(reason)

    def _cut(self) -> None:
        if not self._written.is_set():
            self._sink.abort()

    def _use_sink(self, sink: _FileSink | asyncio.WriteTransport) -> None:
        self._sink = sink
        self._outbox = LineOutbox(sink, self._limits, lambda: self.fail(SLOW_READER))

    def _stop_reading(self, reason: str) -> None:
        self._outbox.stop()
        self._end.finish(reason)
        self._inbox.drop()
        if not self._one_socket:
            self._source.close()


class _Input(asyncio.Protocol):
    def __init__(self, pipe: StdioPipe) -> None:
        self._pipe = pipe

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._inbox = self._pipe.make_inbox(cast("asyncio.ReadTransport", transport))

    def data_received(self, data: bytes) -> None:
        self._inbox.feed(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._inbox.end(self._pipe.input_ended)


class _Output(asyncio.BaseProtocol):
    def __init__(self, pipe: StdioPipe) -> None:
        self._pipe = pipe

    def connection_lost(self, exc: Exception | None) -> None:
        self._pipe.output_lost("closed by the peer")


class _Both(_Input):
    """One socket both ways: its input may end while its output goes on."""

    def eof_received(self) -> bool:
        self._inbox.end(self._pipe.input_ended)
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        self._inbox.end(self._pipe.input_ended)
        self._pipe.output_lost("closed by the peer")


class _FileSource:
    """Reads a descriptor that is always ready, one piece a turn of the loop."""

    def __init__(self, descriptor: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._descriptor = descriptor
        self._closed = False
        self._reading = True

    def start(self, feed: Callable[[bytes], None], over: Callable[[], None]) -> None:
        self._feed = feed
        self._over = over
        self._loop.call_soon(self._turn)

    def pause_reading(self) -> None:
        self._reading = False

    def resume_reading(self) -> None:
        self._reading = True
        self._loop.call_soon(self._turn)

    def is_closing(self) -> bool:
        return self._closed

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            os.close(self._descriptor)

    def _turn(self) -> None:
        if self._closed or not self._reading:
            return
        try:
            data = os.read(self._descriptor, READ_BYTES)
        except OSError:
            data = b""
        if data:
            self._feed(data)
            if self._reading:
                self._loop.call_soon(self._turn)
        else:
            self.close()
            self._over()


class _FileSink:
    """Writes at once to a descriptor that makes nobody wait."""

    def __init__(self, descriptor: int, lost: Callable[[str], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._descriptor = descriptor
        self._lost = lost
        self._closed = False

    def write(self, data: bytes, /) -> None:
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError as error:
            self._close(f"cannot write: {error.strerror}")

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return self._closed

    def close(self) -> None:
        self._close("closed")

    def abort(self) -> None:
        self.close()

    def _close(self, reason: str) -> None:
        if not self._closed:
            self._closed = True
            os.close(self._descriptor)
            self._loop.call_soon(self._lost, reason)


def _take_over(descriptor: int, instead: int) -> int:
    """A private duplicate of `descriptor`, whose place `instead` takes; closes `instead`."""
    if _was_missing(descriptor):
        os.close(instead)
        return _null_device(os.O_RDWR)
    mine = os.dup(descriptor)
    if os.isatty(mine):
        # A terminal's other descriptors share its file status; non-blocking mode must stay ours alone.
        terminal = os.open(os.ttyname(mine), os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
        os.close(mine)
        mine = terminal
    os.dup2(instead, descriptor)
    os.close(instead)
    return mine


def _was_missing(descriptor: int) -> bool:
    """Whether we were started without this standard stream; its number then belongs to somebody else by now."""
    streams = (sys.__stdin__, sys.__stdout__, sys.__stderr__)
    return descriptor < len(streams) and streams[descriptor] is None


def _null_device(flags: int) -> int:
    return os.open(Path(os.devnull), flags | os.O_CLOEXEC)


def _log_descriptor() -> int:
    return _null_device(os.O_WRONLY) if _was_missing(2) else os.dup(2)


def _is_watchable(descriptor: int) -> bool:
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor)


def _is_same_socket(one: int, other: int) -> bool:
    first, second = os.fstat(one), os.fstat(other)
    return stat.S_ISSOCK(first.st_mode) and os.path.samestat(first, second)
