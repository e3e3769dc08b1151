"""Shared parts of pipe implementations: `End` (delivery to the receiver, one close) and `Backlog` (slow-reader check)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable

from gatewright.transport.base import SLOW_READER, Closed, Limits, Receiver

__all__ = ["Backlog", "End"]

log = logging.getLogger(__name__)


class End:
    """Stands between a pipe and its receiver: nothing after the end, the end once, and no exception out of it."""

    def __init__(self, receiver: Receiver) -> None:
        self.reason: str | None = None
        self._receiver: Receiver | None = receiver
        self._message: Callable[[bytes], None] = receiver.message
        self._over = asyncio.Event()

    def deliver(self, data: bytes) -> None:
        """Hand one message on, unless the pipe has ended."""
        self.deliver_all((data,))

    def deliver_all(self, messages: Iterable[bytes]) -> None:
        """Hand messages on, for as long as the pipe has not ended."""
        message = self._message
        for data in messages:
            if self.reason is not None:
                return
            try:
                message(data)
            except Exception:
                log.exception("a receiver raised on a message; the message is lost")

    def finish(self, reason: str) -> None:
        """End with `reason`. Only the first call counts.

        The receiver is told in the next turn of the loop: never from inside its own `send` or `close`.
        """
        if self.reason is not None:
            return
        self.reason = reason
        asyncio.get_running_loop().call_soon(self._tell, reason)

    def _tell(self, reason: str) -> None:
        # It has the pipe, which has this: neither would be freed before the collector comes.
        receiver, self._receiver, self._message = self._receiver, None, _forget
        try:
            if receiver is not None:
                receiver.closed(reason)
        except Exception:
            log.exception("a receiver raised on the end of its pipe")
        self._over.set()

    async def wait(self) -> str:
        """Wait until the receiver was told the end, and return its reason."""
        await self._over.wait()
        return self.reason or ""


def _forget(_: bytes) -> None:
    """After the end nothing is heard."""


def _nothing() -> int:
    """Of a pipe that has ended nothing waits, and nobody is told that its peer is slow."""
    return 0


class Backlog:
    """Judges whether a peer reads (see `transport.base`). Holds no message itself.

    `waiting` says how many bytes the peer has not taken yet; `slow` is called once, from a timer, when the peer
    ran out of patience. Call `stop` when the pipe ends.
    """

    def __init__(
        self, limits: Limits, waiting: Callable[[], int], slow: Callable[[], object]
    ) -> None:
        self._limits = limits
        self._waiting = waiting
        self._slow = slow
        self.sent = 0
        """All that was ever to be sent. Who knows that no more than `queue_bytes` wait may add here instead of asking."""
        self._taken = 0
        self._timer: asyncio.TimerHandle | None = None

    def admit(self, size: int) -> bool:
        """Count a message of `size` bytes, about to be queued. False: the peer is a slow reader; do not queue it."""
        before = self._waiting()
        limit = self._limits.queue_bytes
        if before > limit and before + size > self._limits.burst_bytes:
            return False
        self.sent += size
        if before + size > limit and self._timer is None:
            self._taken = self.sent - size - before
            self._arm()
        return True

    def take(self, size: int, closing: str | None) -> None:
        """What `Pipe.send` has to ask before it queues a message. Raises `Closed` where the pipe is `closing` for a
        reason, and where the peer is a slow reader, which then is told to `slow`."""
        if closing is not None:
            raise Closed(closing)
        if not self.admit(size):
            self._slow()
            raise Closed(SLOW_READER)

    def stop(self) -> None:
        """Judge no longer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        # They are the pipe's, which has this: neither would be freed before the collector comes.
        self._waiting = self._slow = _nothing

    def _arm(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self._limits.patience_s, self._look)

    def _look(self) -> None:
        self._timer = None
        waiting = self._waiting()
        limit = self._limits.queue_bytes
        if waiting <= limit:
            return
        taken = self.sent - waiting
        if taken - self._taken < limit:
            self._slow()
            return
        self._taken = taken
        self._arm()
