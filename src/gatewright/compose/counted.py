"""How many calls of which kind ended how, and how long tools took, for `/metrics`.

The kernel tells of each end exactly once, and the record, which times every call, of how long it took.
"""

from __future__ import annotations

from bisect import bisect_left

from gatewright.call import Answer, Call, Failure, Outcome, Refusal
from gatewright.doors.health import NO_TOOL

__all__ = ["BOUNDS", "TOOL_BOUNDS", "Counted"]

BOUNDS = (
    *(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5),
    *(1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0),
)
"""Seconds that a tool call took at most, for the buckets that are counted; one more is for the rest."""

TOOL_BOUNDS = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0)
"""The same where each tool has buckets of its own."""


class Counted:
    """`calls` is (kind, outcome) → count; outcomes are success, tool_error, denied, failure, cancelled."""

    def __init__(self) -> None:
        self.calls: dict[tuple[str, str], int] = {}
        self.durations = [0] * (len(BOUNDS) + 1)
        """How many tool calls took how long, by bucket; refused ones are not among them."""
        self.spent_s = 0.0
        """All of them together."""
        self.tools: dict[tuple[str, str], list[float]] = {}
        """(the name that callers know a tool by, how it ended) → seconds in all, then how many took how long, by bucket."""
        self.warnings: dict[tuple[str, str], int] = {}
        """(the same name, `slow_execution` or `high_memory`) → how often."""

    def warn(self, call: Call, kind: str) -> None:
        """A call took more than somebody wants to be told of."""
        name = _name(call)
        self.warnings[name, kind] = self.warnings.get((name, kind), 0) + 1

    def ended(self, call: Call, outcome: Outcome) -> None:
        """A call has ended with what its caller sees."""
        key = call.kind, _word(outcome)
        self.calls[key] = self.calls.get(key, 0) + 1

    def took(self, call: Call, outcome: Outcome, spent_s: float) -> None:
        """A call has ended after so long."""
        if call.kind != "tool":
            return
        key = _name(call), _word(outcome)
        known = self.tools.get(key)
        if known is None:
            known = self.tools[key] = [0.0] * (len(TOOL_BOUNDS) + 2)
        known[0] += spent_s
        known[1 + bisect_left(TOOL_BOUNDS, spent_s)] += 1
        if type(outcome) is not Refusal:
            self.durations[bisect_left(BOUNDS, spent_s)] += 1
            self.spent_s += spent_s


def _name(call: Call) -> str:
    """What a Groundhog client sends as `tool_id`, under whichever of its names it was called."""
    return NO_TOOL if call.tool is None else call.tool.exposed


def _word(outcome: Outcome) -> str:
    if type(outcome) is Answer:
        return "tool_error" if outcome.tool_error else "success"
    if type(outcome) is Failure:
        return "cancelled" if outcome.reason == "cancelled" else "failure"
    return "denied"
