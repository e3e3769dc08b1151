"""In-memory pair of connected pipes, for tests and for servers and clients in the same process.

They keep every rule of a real connection: messages arrive in a later turn of the loop and in order, a peer that
does not read is a slow reader, a message over the limit ends the connection, and what was sent before closing
still arrives. `pause_reading` makes one side the peer that does not read.
"""

from __future__ import annotations

import asyncio
from collections import deque

from gatewright.transport.base import FROM_CLIENTS, SLOW_READER, Limits, Receiver
from gatewright.transport.pipe_ends import Backlog, End

__all__ = ["MemoryPipe", "pair"]


def pair(
    left: Receiver,
    right: Receiver,
    limits: Limits = FROM_CLIENTS,
    right_limits: Limits | None = None,
) -> tuple[MemoryPipe, MemoryPipe]:
    """Two connected pipes. `left` receives what the second one sends, `right` what the first one sends; `limits` are
    those of what is received, by both where `right_limits` does not say otherwise."""
    first, second = MemoryPipe(left, limits), MemoryPipe(right, right_limits or limits)
    first._peer, second._peer = second, first
    return first, second


class MemoryPipe:
    """One side of a pair; a `Pipe`. Made by `pair`."""

    _peer: MemoryPipe

    def __init__(self, receiver: Receiver, limits: Limits) -> None:
        self._loop = asyncio.get_running_loop()
        self._limits = limits
        self._end = End(receiver)
        self._closing: str | None = None
        self._inbox: deque[bytes] = deque()
        self._size = 0
        self._turning = False
        self._reading = True
        self._backlog = Backlog(limits, lambda: self._peer._size, self._slow)

    @property
    def waiting(self) -> int:
        """See `Pipe.waiting`."""
        return self._peer._size

    def send(self, message: bytes) -> None:
        """Give one message to the peer; see `Pipe.send`."""
        self._backlog.take(len(message), self._closing)
        self._peer._take(message)

    def close(self) -> None:
        """Close both sides; the peer still gets what was sent."""
        self._shut("closed")

    async def wait_closed(self) -> str:
        """Wait for the end and return its reason."""
        return await self._end.wait()

    def pause_reading(self) -> None:
        """Stop taking messages: what the peer sends waits, and counts against it."""
        self._reading = False

    def resume_reading(self) -> None:
        """Take messages again."""
        self._reading = True
        self._schedule()

    def _shut(self, reason: str) -> None:
        if self._closing is None:
            self._closing = reason
            self._backlog.stop()
            self._end.finish(reason)
            self._drop()
            self._peer._hung_up("closed by the peer")

    def _hung_up(self, reason: str) -> None:
        if self._closing is None:
            self._closing = reason
            self._backlog.stop()
            self._schedule()

    def _slow(self) -> None:
        self._peer._drop()
        self._shut(SLOW_READER)

    def _drop(self) -> None:
        self._inbox.clear()
        self._size = 0

    def _take(self, message: bytes) -> None:
        self._inbox.append(message)
        self._size += len(message)
        self._schedule()

    def _schedule(self) -> None:
        if not self._turning:
            self._turning = True
            self._loop.call_soon(self._hand_on)

    def _hand_on(self) -> None:
        self._turning = False
        for _ in range(min(len(self._inbox), self._limits.turn_messages)):
            # A receiver may pause or close while it takes a message.
            if not self._reading or not self._inbox:
                break
            message = self._inbox.popleft()
            self._size -= len(message)
            if len(message) > self._limits.frame_bytes:
                self._shut(f"a message longer than {self._limits.frame_bytes} bytes")
            else:
                self._end.deliver(message)
        if self._inbox and self._reading:
            self._schedule()
        elif self._closing is not None and not self._inbox:
            self._end.finish(self._closing)
