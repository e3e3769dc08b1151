"""`ServerTraffic`: calls, errors and latency of each tool server over the last minutes, in memory; `StateHistory`: states it was in.

Latencies are counted in buckets, four between two powers of two, so a percentile is an upper bound, and at most a quarter above what it
was: "95 % took at most so long".
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable
from math import frexp, ldexp

import msgspec

from gatewright.call import KERNEL, Answer, Call, Outcome, Refusal
from gatewright.servers.states import Change, State

__all__ = ["MINUTES", "SERVERS", "ServerLoad", "ServerTraffic", "StateHistory", "Turn"]

MINUTES = 5
"""Whole minutes that are kept, besides the one that goes on."""
SERVERS = 1_000
"""So many are counted, and remembered; of more, those that came first in their minute."""
TURNS = 50
"""Of one server."""
_MINUTE_S = 60
_LEAST_MS = 0.1
"""What takes less counts as this."""
_SHARE = 0.95


class ServerLoad(msgspec.Struct, frozen=True, kw_only=True):
    """What the last minutes were like for one server."""

    calls: int = 0
    """Those that it was given, as far as they have ended and were not cancelled."""
    errors: int = 0
    """Broken on the way, or the tool said that it failed."""
    p95_ms: float | None = None
    """95 % of them took at most so long, without what they waited for a person; None where there were none."""

    @property
    def error_rate(self) -> float:
        """From 0 to 1."""
        return self.errors / self.calls if self.calls else 0.0


class Turn(msgspec.Struct, frozen=True):
    """A server came into a state."""

    at: float
    """Unix seconds."""
    state: State
    cause: str
    """A word: `connection_lost`."""


class _Counts:
    __slots__ = ("calls", "errors", "took")

    def __init__(self) -> None:
        self.calls = self.errors = 0
        self.took: dict[int, int] = {}
        """Bucket → calls, none of those in which nothing ended."""


class ServerTraffic:
    """Of one gateway. What it keeps has a bound: servers, times minutes, times buckets, of which there are as many as calls can be long."""

    def __init__(
        self, clock: Callable[[], float], settle: Callable[[], object] | None = None
    ) -> None:
        """`clock` gives Unix seconds; `settle` hands over what has ended, before anything is read."""
        self._clock = clock
        self._settle = settle
        self._minute = int(clock()) // _MINUTE_S
        self._now: dict[str, _Counts] = {}
        self._before: deque[tuple[int, dict[str, _Counts]]] = deque(maxlen=MINUTES)

    def ended(self, call: Call, outcome: Outcome, spent_s: float | None, second: int) -> None:
        """A call ended in this Unix second. One that was refused was not given to its server, and what its caller cancelled says nothing of it."""
        target, kind = call.target, type(outcome)
        if target is None or spent_s is None or kind is Refusal:
            return
        if kind is not Answer and outcome.reason == "cancelled":  # type: ignore[union-attr]
            return
        failed = kind is not Answer or outcome.tool_error  # type: ignore[union-attr]
        spent_s -= call.facts.get("waited_ms", 0.0) / 1000
        self.answered(target.server, [spent_s], second, errors=int(failed))

    def answered(self, server: str, took: list[float], second: int, errors: int = 0) -> None:
        """Calls ended in this Unix second, after so many seconds each, so many of them with an error. Sorts what it is given."""
        if server == KERNEL:
            return
        if second // _MINUTE_S != self._minute:
            self._turn(second)
        counts = self._now.get(server)
        if counts is None:
            if len(self._now) >= SERVERS:
                return
            counts = self._now[server] = _Counts()
        counts.calls += len(took)
        counts.errors += errors
        took.sort()
        begin, end = 0, len(took)
        while begin < end:
            part, power = frexp(max(_LEAST_MS, took[begin] * 1000))
            bucket = 4 * power + int(8 * part)
            # All that are in it at once; at least this one, however the division by a thousand is rounded.
            after = max(begin + 1, bisect_left(took, _most_ms(bucket) / 1000, begin))
            counts.took[bucket] = counts.took.get(bucket, 0) + after - begin
            begin = after

    def _turn(self, second: int) -> None:
        """Another minute has begun."""
        if self._now:
            self._before.append((self._minute, self._now))
            self._now = {}
        self._minute = minute = second // _MINUTE_S
        while self._before and self._before[0][0] < minute - MINUTES:
            self._before.popleft()

    def of(self, server: str) -> ServerLoad:
        """The last five minutes, and what there is of this one."""
        if self._settle is not None:
            self._settle()
        second = int(self._clock())
        if second // _MINUTE_S != self._minute:
            self._turn(second)
        parts = [one[server] for _, one in self._before if server in one]
        if server in self._now:
            parts.append(self._now[server])
        took: dict[int, int] = {}
        for part in parts:
            for bucket, count in part.took.items():
                took[bucket] = took.get(bucket, 0) + count
        return ServerLoad(
            calls=sum(one.calls for one in parts),
            errors=sum(one.errors for one in parts),
            p95_ms=_percentile(took),
        )


def _percentile(took: dict[int, int]) -> float | None:
    wanted, so_far = _SHARE * sum(took.values()), 0
    for bucket in sorted(took):
        so_far += took[bucket]
        if so_far >= wanted:
            return _most_ms(bucket)
    return None


def _most_ms(bucket: int) -> float:
    """What is in this bucket takes less."""
    # A part in 4, 5, 6 or 7 eighths of the power, and the number of them is in the bucket's, too.
    power, eighths = divmod(bucket - 4, 4)
    return ldexp((eighths + 5) / 8, power)


class StateHistory:
    """Transitions of servers since the gateway was started; most of them are in no record."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """`clock` gives Unix seconds."""
        self._clock = clock
        self._turns: dict[str, deque[Turn]] = {}

    def changed(self, change: Change) -> None:
        """A server came into another state."""
        turns = self._turns.pop(change.server, None)
        if turns is None:
            turns = deque(maxlen=TURNS)
            while len(self._turns) >= SERVERS:  # that which was quiet for the longest time goes
                del self._turns[next(iter(self._turns))]
        self._turns[change.server] = turns
        turns.append(Turn(self._clock(), change.after, change.cause))

    def of(self, server: str) -> list[Turn]:
        """The last ones, oldest first."""
        return [*self._turns.get(server, ())]
