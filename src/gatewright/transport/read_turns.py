"""`ReadTurns`: fair turns of parsing for the connections of a loop (HTTP, TCP, WebSocket), 1 ms together; pauses and resumes reading."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Protocol

from gatewright.transport.slow_senders import SlowSenders

__all__ = ["CONNECTIONS_A_TURN", "TURN_S", "ReadTurns", "Waiting", "read_or_not"]


TURN_S = 0.001
"""How long the connections of a loop may parse together before everything else has its turn."""
CONNECTIONS_A_TURN = 2
"""So many connections that have more to parse than a turn of theirs takes: each message that is refused and recorded takes a millisecond."""


class Waiting(Protocol):
    """A connection with something to parse (`ReadTurns`)."""

    def work(self) -> None:
        """Parse a little; with more to parse, call `ReadTurns.want` again."""


class ReadTurns:
    """The connections of one loop that have something to parse, one after the other."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.now = loop.time
        self.slow = SlowSenders(loop)
        self._line: deque[Waiting] = deque()
        self._later: deque[Waiting] = deque()
        self._scheduled = False
        self._spent_s = 0.0  # in this turn, for those that did not stand in line

    @property
    def nobody(self) -> bool:
        """Whether nobody stands in line."""
        return not self._line and not self._later

    @property
    def has_time(self) -> bool:
        """Whether what has just come may be parsed at once: `spend` says how long that took."""
        return self._spent_s < TURN_S

    def spend(self, seconds: float) -> None:
        """So much of the loop's present turn was taken by who did not stand in line."""
        if not self._spent_s:
            self._loop.call_soon(self._turned)
        self._spent_s += seconds

    def _turned(self) -> None:
        self._spent_s = 0.0

    def want(self, one: Waiting, *, later: bool = False) -> None:
        """Stand in line; `later`: in that of the loop's next turn, when what was parsed now has been worked on."""
        (self._later if later else self._line).append(one)
        self._schedule()

    def _schedule(self) -> None:
        if not self._scheduled and not self.nobody:
            self._scheduled = True
            self._loop.call_soon(self._run)

    def _run(self) -> None:
        self._scheduled = False
        for _ in range(min(CONNECTIONS_A_TURN, len(self._later))):
            self._line.append(self._later.popleft())
        until = self._loop.time() + TURN_S
        try:
            while self._line:
                self._line.popleft().work()
                if self._loop.time() >= until:
                    break
        finally:  # what breaks one connection is logged by the loop, and costs the others nothing
            self._schedule()


def read_or_not(transport: asyncio.Transport, reads: bool, on: bool) -> bool:
    """Let a transport that is read now, or is not, be read from now on, or not; which of it holds then."""
    if on == reads or transport.is_closing():
        return reads
    if on:
        transport.resume_reading()
    else:
        transport.pause_reading()
    return on
