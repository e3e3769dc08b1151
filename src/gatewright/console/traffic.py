"""`Traffic`: counts calls, refusals and errors second by second as calls end, for the chart of the console; the last quarter of an hour."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import msgspec

from gatewright.call import Answer, Call, Outcome, Refusal
from gatewright.console.server_traffic import ServerTraffic, StateHistory

__all__ = ["KEPT_S", "Counted", "Traffic"]

KEPT_S = 900
"""Seconds."""
_BEFORE_S = 60
"""A chart that has just begun has some width."""
_TOGETHER = 512
"""So many answers of one server are counted together."""


class Counted(msgspec.Struct, frozen=True, kw_only=True):
    """Calls by the second in which they ended, column by column. Seconds in which nothing ended are there, too."""

    time: list[int]
    """Unix seconds."""
    calls: list[int]
    refused: list[int]
    errors: list[int]
    """Broken on the way, or the tool said that it failed."""
    total: int
    """Calls since the gateway was started."""


class Traffic:
    """Of one gateway. What servers answer, nearly every end, is kept until the second is over, and counted together: so much at most, and
    before anybody reads."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """`clock` gives Unix seconds."""
        self._clock = clock
        self._second = self._began = int(clock())
        self._next = self._second + 1
        self._now = [0, 0, 0]
        self._answered: defaultdict[str, list[float]] = defaultdict(list)
        """By server, how many seconds those calls of this second took that are not counted yet."""
        self._counts: dict[int, tuple[int, int, int]] = {}
        """By second, the oldest first; none of those in which nothing ended."""
        self._before = 0
        """Calls up to this second."""
        self.servers = ServerTraffic(clock, self._settle)
        self.states = StateHistory(clock)

    def ended(self, call: Call, outcome: Outcome, spent_s: float | None) -> None:
        """A call ended: `kernel.Ended`."""
        now, target = self._clock(), call.target
        if not self._second <= now < self._next:
            self._turn(int(now))
        if (
            target is None
            or spent_s is None
            or type(outcome) is not Answer
            or outcome.tool_error
            or "waited_ms" in call.facts
        ):
            self._count(call, outcome, spent_s)
            return
        answered = self._answered[target.server]
        answered.append(spent_s)
        if len(answered) >= _TOGETHER:
            self._settle()

    def answered(self, call: Call) -> Callable[[float], object]:
        """What counts each call like this one that is answered (`ended`)."""
        server = "" if call.target is None else call.target.server

        def count(spent_s: float) -> None:
            if not self._second <= (now := self._clock()) < self._next:
                self._turn(int(now))
            answered = self._answered[server]
            answered.append(spent_s)
            if len(answered) >= _TOGETHER:
                self._settle()

        return count

    def _count(self, call: Call, outcome: Outcome, spent_s: float | None) -> None:
        now = self._now
        now[0] += 1
        kind = type(outcome)
        if kind is Refusal:
            now[1] += 1
            return  # no server had it
        if kind is not Answer or outcome.tool_error:  # type: ignore[union-attr]
            now[2] += 1
        self.servers.ended(call, outcome, spent_s, self._second)

    def _settle(self) -> None:
        """Count what waits for it."""
        if self._answered:
            waiting, self._answered = self._answered, defaultdict(list)
            for server, answered in waiting.items():
                self._now[0] += len(answered)
                self.servers.answered(server, answered, self._second)

    @property
    def total(self) -> int:
        """Calls since the gateway was started."""
        self._settle()
        return self._before + self._now[0]

    def _turn(self, second: int) -> None:
        self._settle()
        self._before += self._now[0]
        if any(self._now):
            calls, refused, errors = self._now
            self._counts[self._second] = (calls, refused, errors)
            self._now = [0, 0, 0]
        self._second, self._next = second, second + 1
        while self._counts and (oldest := next(iter(self._counts))) < second - KEPT_S:
            del self._counts[oldest]

    def since(self, second: int) -> Counted:
        """The seconds that are over, from this one on, as far as they are kept; of those before the gateway was started a minute."""
        now = int(self._clock())
        if now != self._second:
            self._turn(now)
        first = max(now - KEPT_S, self._began - _BEFORE_S)
        seconds = list(range(max(second, first), now))
        rows = [self._counts.get(one, (0, 0, 0)) for one in seconds]
        return Counted(
            time=seconds,
            calls=[one[0] for one in rows],
            refused=[one[1] for one in rows],
            errors=[one[2] for one in rows],
            total=self.total,
        )
