"""`Patience` aborts a connection whose client does not read in time; `WriteQueue` holds back WebSocket frames for one that reads slowly.

`Patience` is for every connection: a client that does not take what is written to it loses its connection. `WriteQueue` is
the way out of a WebSocket, over which many clients may be written the same bytes.
"""

from __future__ import annotations

import asyncio
from collections import deque

from gatewright.transport.base import Limits

__all__ = ["Patience", "WriteQueue"]

PIECE_BYTES = 64 * 1024
"""How much is handed to a transport at once of what was held back: about what the system takes."""


class Patience:
    """Sees to it that a client takes what is written to it, or loses its connection."""

    __slots__ = ("_before", "_limits", "_loop", "_timer", "_transport")

    def __init__(self, transport: asyncio.Transport, limits: Limits) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport = transport
        self._limits = limits
        self._before = 0
        self._timer: asyncio.TimerHandle | None = None
        transport.set_write_buffer_limits(high=limits.queue_bytes, low=limits.queue_bytes)

    @property
    def waiting(self) -> int:
        """How many bytes wait for the client."""
        return self._transport.get_write_buffer_size()

    def paused(self) -> None:
        """More than `queue_bytes` are waiting."""
        self.stop()
        self._before = self.waiting
        self._timer = self._loop.call_later(self._limits.patience_s, self._look)

    def stop(self) -> None:
        """The client reads, or is gone."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        if self._before - self.waiting < self._limits.queue_bytes:
            self._transport.abort()
        else:
            self.paused()


class WriteQueue(Patience):
    """Frames on their way to a peer that may not read.

    They go to the transport as long as the peer takes them. From the first byte that it leaves they are held here,
    as the very objects that all readers of a room share: neither the transport nor the system is asked again for a
    peer that never reads, so it costs the others an `append` a message. Once the transport is empty they follow.
    """

    __slots__ = ("_behind", "_burst_bytes", "_closed", "_held", "_held_bytes", "_paused")

    def __init__(self, transport: asyncio.Transport, limits: Limits) -> None:
        super().__init__(transport, limits)
        self._burst_bytes = limits.burst_bytes
        self._closed = False
        self._paused = False
        self._held: deque[bytes] | None = None
        self._held_bytes = 0
        self._behind = 0
        """What the transport had when it paused: at least what it has now."""

    def hold(self, burst_bytes: int) -> None:
        """From now on hold frames back, at most `burst_bytes` of them with those in the transport."""
        self._burst_bytes = burst_bytes
        # So `pause` comes with the first byte that the peer leaves, and `resume` once it has taken all.
        self._transport.set_write_buffer_limits(high=1, low=0)

    @property
    def waiting(self) -> int:
        return self._transport.get_write_buffer_size() + self._held_bytes

    @property
    def is_stuck(self) -> bool:
        """Whether more than `queue_bytes` are waiting."""
        return self._over(self._limits.queue_bytes)

    def write(self, frames: bytes) -> None:
        """Write whole frames, one or many. Never blocks; a peer that leaves too much unread is cut off. Without effect
        on a connection that is closing."""
        if self._held is not None:
            self._hold(self._held, frames)
        elif not self._closed and not self._transport.is_closing():
            self._transport.write(frames)

    def _hold(self, held: deque[bytes], frames: bytes) -> None:
        self._held_bytes += len(frames)
        if self._timer is None:
            held.append(frames)
            if self.is_stuck:
                self.paused()
        elif self._over(self._burst_bytes):
            self.close()
            self._transport.abort()
        else:
            held.append(frames)

    def _over(self, limit: int) -> bool:
        # `_behind` is no less than what the transport has now: it is asked only where that would be too much.
        if self._behind + self._held_bytes <= limit:
            return False
        self._behind = self._transport.get_write_buffer_size()
        return self._behind + self._held_bytes > limit

    def pause(self) -> None:
        """The transport has something that the peer does not take."""
        self._paused = True
        self._behind = self._transport.get_write_buffer_size()
        if self._closed:
            return
        if self._held is None:
            self._held = deque()
        if self._timer is None and self.is_stuck:
            self.paused()

    def resume(self) -> None:
        """The peer took all that the transport had."""
        self._paused = False
        self._behind = 0
        while self._held and not self._paused:
            self._transport.write(self._piece(self._held))
        if not self._paused:
            self._held = None
        if self._timer is not None and not self.is_stuck:
            self.stop()

    def _piece(self, held: deque[bytes]) -> bytes:
        found = [held.popleft()]
        size = len(found[0])
        while held and size < PIECE_BYTES:
            found.append(held.popleft())
            size += len(found[-1])
        self._held_bytes -= size
        return b"".join(found)

    def finish(self) -> None:
        """Leave everything that waits to the transport: the connection is about to close, in an orderly way."""
        held = self._held
        self.close()
        if held and not self._transport.is_closing():
            self._transport.write(b"".join(held))

    def close(self) -> None:
        """Take nothing any more, and forget what waits."""
        self._closed = True
        self._held = None
        self._held_bytes = 0
