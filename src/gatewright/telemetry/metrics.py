"""`CallCounts`: counts calls by outcome and tool durations by histogram bucket, in kernel hooks; also slow-call and high-memory warnings.

The kernel tells of each end exactly once (`kernel.Hooks.ended`), with the time that the record took of it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable
from math import inf
from threading import Lock

from gatewright.call import Answer, Call, Failure, Outcome
from gatewright.telemetry.endpoint import NO_TOOL

__all__ = ["BOUNDS", "TOOL_BOUNDS", "CallCounts"]

BOUNDS = (
    *(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5),
    *(1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0),
)
"""Seconds that a tool call took at most, for the buckets that are counted; one more is for the rest."""

TOOL_BOUNDS = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0)
"""The same where each tool has buckets of its own; each is one of `BOUNDS`."""


class CallCounts:
    """What is counted is read in any thread. A tool's answers, nearly all that is counted, are kept and sorted into their buckets together:
    so many at most, and those of a tool before anybody reads."""

    def __init__(self) -> None:
        self._calls: defaultdict[tuple[str, str], int] = defaultdict(int)
        self._took: defaultdict[tuple[str, str], _Took] = defaultdict(_Took)
        """By the name that callers know a tool by, and how it ended."""
        self._answered: defaultdict[str, list[float]] = defaultdict(list)
        """By that name, how long calls took whose answers are not counted yet."""
        self._counting = Lock()
        self.warnings: defaultdict[tuple[str, str], int] = defaultdict(int)
        """(the same name, `slow_execution` or `high_memory`) → how often."""

    def warn(self, call: Call, kind: str) -> None:
        """A call took more than somebody wants to be told of."""
        self.warnings[_name(call), kind] += 1

    def ended(self, call: Call, outcome: Outcome, spent_s: float | None) -> None:
        """A call has ended with what its caller sees, after so long; None where that is not recorded."""
        tool = call.tool
        if (
            tool is None
            or spent_s is None
            or type(outcome) is not Answer
            or outcome.tool_error
            or call.kind != "tool"
        ):
            self._count(call, outcome, spent_s)
            return
        answered = self._answered[tool.exposed]
        answered.append(spent_s)
        if len(answered) >= _TOGETHER:
            self._settle()

    def answered(self, call: Call) -> Callable[[float], object]:
        """What counts each call of this tool that is answered (`ended`)."""
        name = _name(call)

        def count(spent_s: float) -> None:
            answered = self._answered[name]
            answered.append(spent_s)
            if len(answered) >= _TOGETHER:
                self._settle()

        return count

    def _count(self, call: Call, outcome: Outcome, spent_s: float | None) -> None:
        word = _word(outcome)
        with self._counting:
            self._calls[call.kind, word] += 1
            if call.kind == "tool" and spent_s is not None:
                self._took[_name(call), word].add([spent_s])

    def _settle(self) -> None:
        """Count what waits for it."""
        with self._counting:
            for name, answered in self._answered.copy().items():
                took = answered[:]
                if took:
                    del answered[: len(took)]  # the loop may have added more meanwhile
                    self._calls["tool", _SUCCESS] += len(took)
                    self._took[name, _SUCCESS].add(took)

    @property
    def calls(self) -> dict[tuple[str, str], int]:
        """(kind, outcome) → count; outcomes are success, tool_error, denied, failure, cancelled."""
        self._settle()
        return self._calls.copy()

    @property
    def tools(self) -> dict[tuple[str, str], list[float]]:
        """(the name that callers know a tool by, how it ended) → seconds in all, then how many took how long, by bucket."""
        self._settle()
        return {key: [one.spent_s, *_coarse(one.counts)] for key, one in self._took.copy().items()}

    @property
    def durations(self) -> list[int]:
        """How many tool calls took how long, by bucket; refused ones are not among them."""
        rows = (one.counts for one in self._let())
        return [sum(column) for column in zip(_Took().counts, *rows, strict=True)]

    @property
    def spent_s(self) -> float:
        """All of them together."""
        return sum(one.spent_s for one in self._let())

    def _let(self) -> list[_Took]:
        self._settle()
        return [one for (_, word), one in self._took.copy().items() if word != _DENIED]


class _Took:
    """How many calls took how long, by the buckets of `BOUNDS`, and all of them together."""

    __slots__ = ("counts", "spent_s")

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS) + 1)
        self.spent_s = 0.0

    def add(self, took: list[float]) -> None:
        """Count these; sorts them."""
        took.sort()
        self.spent_s += sum(took)
        counts, at, most = self.counts, bisect_left(BOUNDS, took[0]), len(took)
        begin = 0
        while begin < most:
            end = bisect_right(took, BOUNDS[at], begin) if at < len(BOUNDS) else most
            counts[at] += end - begin
            begin, at = end, at + 1


_TOGETHER = 512
"""So many answers of one tool are sorted into their buckets together."""
_SUCCESS = "success"

_DENIED = "denied"
_WITHIN = [bisect_left(TOOL_BOUNDS, bound) for bound in (*BOUNDS, inf)]
"""The bucket of a tool's in which each of `BOUNDS` lies."""


def _coarse(counts: list[int]) -> list[int]:
    found = [0] * (len(TOOL_BOUNDS) + 1)
    for bucket, count in zip(_WITHIN, counts, strict=True):
        found[bucket] += count
    return found


def _name(call: Call) -> str:
    """What a Groundhog client sends as `tool_id`, under whichever of its names it was called."""
    return NO_TOOL if call.tool is None else call.tool.exposed


def _word(outcome: Outcome) -> str:
    if type(outcome) is Answer:
        return "tool_error" if outcome.tool_error else _SUCCESS
    if type(outcome) is Failure:
        return "cancelled" if outcome.reason == "cancelled" else "failure"
    return _DENIED
