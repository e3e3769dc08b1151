"""`Pipe`: duplex channel, pushes whole messages to its `Receiver` (protocols); `Closed`, `send_soon`; `Limits`; `Pace`: one peer's loop turn.

Both directions are push, without a queue in between: a pipe calls its receiver on the event loop as soon as a
message is whole, and `send` hands a message over without waiting. Waiting belongs to calls (they have deadlines),
not to pipes. What keeps memory bounded without waiting is the slow-reader rule: a peer that does not take what is
sent to it loses its connection, never the sender its turn.

A peer is slow when more than `queue_bytes` wait for it and it takes fewer than `queue_bytes` of them within
`patience_s`, or when `burst_bytes` would be exceeded at any moment. The two sizes exist because a burst is not
slowness: sixty-four answers that become ready in one turn of the loop are more than a pipe of the operating system
holds, however quick its reader. One message alone is always accepted while the backlog before it is within
`queue_bytes`, whatever its own size. Where even a burst is too much (many readers of one broadcast), set
`burst_bytes` equal to `queue_bytes`.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

__all__ = [
    "BURST_S",
    "FROM_CLIENTS",
    "FROM_SERVERS",
    "SLICE_S",
    "SLOW_READER",
    "Closed",
    "Limits",
    "Pace",
    "Pipe",
    "Receiver",
    "send_soon",
]

KIB = 1024
MIB = 1024 * KIB

SLOW_READER = "slow reader"
"""The reason of a pipe that closed itself because its peer did not read."""


class Closed(Exception):  # noqa: N818 - a state of the pipe, not a malfunction
    """`send` on a pipe that is closed or closing. `reason` says why, in words for a log."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the connection is closed: {reason}")
        self.reason = reason


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What one connection may cost. Sizes are bytes, times are seconds.

    The defaults are those for what clients send; `FROM_SERVERS` is for what tool servers send.
    """

    frame_bytes: int = MIB
    """The longest message, HTTP body or event accepted from the peer."""
    queue_bytes: int = 256 * KIB
    """How much may wait for a peer that does not read, and the least it must read in `patience_s`."""
    burst_bytes: int = 16 * MIB
    """What may wait for the peer at any one moment."""
    patience_s: float = 5.0
    """How long a peer that leaves more than `queue_bytes` waiting has to take as much."""
    turn_bytes: int = 64 * KIB
    """How much of one peer's input is looked at in one turn of the loop, so that a flood starves nobody."""
    turn_messages: int = 8
    """How many of one peer's messages are handed on in one turn of the loop, for the same reason."""
    stderr_line_bytes: int = 4 * KIB
    """A child's log line beyond this is cut."""
    stderr_lines_per_s: int = 100
    """A child's log lines beyond this are counted and dropped."""
    header_bytes: int = 32 * KIB
    """The longest HTTP header block accepted from a client."""
    header_timeout_s: float = 10.0
    """How long a client may take to send an HTTP header block."""
    body_timeout_s: float = 30.0
    """How long a client may take to send an HTTP body."""
    keep_alive_s: float = 75.0
    """How long an idle HTTP connection is kept."""
    connections_per_s: int = 500
    """How many connections one address may open a second, after a burst of four times as many."""
    connections: int = 0
    """How many may be open in all; 0 means as many as the process may open, less a reserve (`connection_limits`)."""
    connections_per_address: int = 0
    """How many one address may have open; 0 means half of all, and all for addresses of this machine."""
    ping_interval_s: float = 20.0
    """How often a WebSocket peer is asked whether it is alive; also how long it may take to answer."""


BURST_S = 4
"""So many seconds' worth of connections may come at once."""

SLICE_S = 0.001
"""How long the messages of one peer may take in one turn of the loop, whatever is done with them."""

FROM_CLIENTS = Limits()
FROM_SERVERS = Limits(frame_bytes=16 * MIB, turn_messages=64)
"""A thousand streams are many small messages: their time is what is bounded (`SLICE_S`), and what one turn brings leaves in one write."""


class Pace:
    """When one peer's messages have had their turn: after so many, or as soon as they took a millisecond together."""

    __slots__ = ("_most", "_spent", "_taken")

    def __init__(self, limits: Limits) -> None:
        self._most = limits.turn_messages
        self._taken = 0
        self._spent = 0.0

    def over(self, spent_s: float) -> bool:
        """Count one message that took so long; whether others are to have their turn now."""
        self._taken += 1
        self._spent += spent_s
        if self._taken < self._most and self._spent < SLICE_S:
            return False
        self._taken, self._spent = 0, 0.0
        return True


class Receiver(Protocol):
    """Who takes what a pipe brings. Both methods run on the event loop and must not block."""

    def message(self, data: bytes) -> None:
        """Take one whole message. Must not raise; a pipe whose receiver raises logs it and goes on."""

    def closed(self, reason: str) -> None:
        """Learn that no message will follow. Called exactly once, never from inside `send` or `close`."""


class Pipe(Protocol):
    """A duplex channel of whole messages: bytes, one JSON text each, without the newline that may frame it.

    Belongs to one event loop and is used on it only. Where newlines frame messages, a raw newline inside one is
    sent as a space: in JSON text it can only be white space, and so nobody can smuggle a second message in.
    """

    @property
    def waiting(self) -> int:
        """Bytes that the peer has not taken yet, as far as this side knows."""

    def send(self, message: bytes) -> None:
        """Hand over one message. Never blocks; everything sent in one turn of the loop leaves in one write.

        Raises `Closed` when the pipe is closed, also when this very message makes the peer a slow reader.
        """

    def close(self) -> None:
        """Close in an orderly way: what was sent before still leaves. Returns at once; idempotent."""

    async def wait_closed(self) -> str:
        """Wait until the pipe is closed, and return the reason."""


def send_soon(pipe: Pipe, message: bytes, most: int) -> bool:
    """Hand over one message where the pipe is open and no more than so many bytes wait with it; else False, and nothing was sent."""
    if pipe.waiting + len(message) >= most:
        return False
    try:
        pipe.send(message)
    except Closed:
        return False
    return True
