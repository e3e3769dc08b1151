"""Counters and latency histograms of calls and tools, filled by a kernel hook at the end of each call.

The kernel tells of each end exactly once (`kernel.Hooks.ended`), with the time that the record took of it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from math import inf

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
    """`calls` is (kind, outcome) → count; outcomes are success, tool_error, denied, failure, cancelled."""

    def __init__(self) -> None:
        self.calls: defaultdict[tuple[str, str], int] = defaultdict(int)
        self._took: defaultdict[tuple[str, str], _Took] = defaultdict(_Took)
        """By the name that callers know a tool by, and how it ended."""
        self.warnings: defaultdict[tuple[str, str], int] = defaultdict(int)
        """(the same name, `slow_execution` or `high_memory`) → how often."""

    def warn(self, call: Call, kind: str) -> None:
        """A call took more than somebody wants to be told of."""
        self.warnings[_name(call), kind] += 1

    def ended(self, call: Call, outcome: Outcome, spent_s: float | None) -> None:
        """A call has ended with what its caller sees, after so long; None where that is not recorded."""
        word = _word(outcome)
        self.calls[call.kind, word] += 1
        if call.kind != "tool" or spent_s is None:
            return
        known = self._took[_name(call), word]
        known.counts[bisect_left(BOUNDS, spent_s)] += 1
        known.spent_s += spent_s

    @property
    def tools(self) -> dict[tuple[str, str], list[float]]:
        """(the name that callers know a tool by, how it ended) → seconds in all, then how many took how long, by bucket."""
        # A copy: telemetry reads these from a thread of its own.
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
        return [one for (_, word), one in self._took.copy().items() if word != _DENIED]


class _Took:
    """How many calls took how long, by the buckets of `BOUNDS`, and all of them together."""

    __slots__ = ("counts", "spent_s")

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS) + 1)
        self.spent_s = 0.0


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
        return "tool_error" if outcome.tool_error else "success"
    if type(outcome) is Failure:
        return "cancelled" if outcome.reason == "cancelled" else "failure"
    return _DENIED
