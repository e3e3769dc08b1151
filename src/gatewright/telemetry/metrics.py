"""`CallCounts`: counts calls by outcome and tool durations by histogram bucket, in kernel hooks; also slow-call and high-memory warnings.

The kernel tells of each end exactly once (`kernel.Hooks.ended`), with the time that the record took of it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from threading import Lock

from gatewright.call import Answer, Call, Failure, Outcome, Tool
from gatewright.telemetry.endpoint import NO_TOOL

__all__ = ["BOUNDS", "NAMES_MOST", "SERVER_NAMES_MOST", "TOOL_BOUNDS", "CallCounts"]

BOUNDS = (
    *(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5),
    *(1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0),
)
"""Seconds that a tool call took at most, for the buckets that are counted; one more is for the rest."""

TOOL_BOUNDS = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0)
"""The same where each tool has buckets of its own."""


NAMES_MOST, SERVER_NAMES_MOST = 3000, 1000
"""So many tools are counted by their names, in all and of one server; all others together, as `_other`. Names are servers' own, and one
may list others every second."""


class CallCounts:
    """What is counted is read in any thread. A tool's answers, nearly all that is counted, are kept and sorted into their buckets together:
    so many at most, and those of a tool before anybody reads."""

    def __init__(self) -> None:
        self._calls: defaultdict[tuple[str, str], int] = defaultdict(int)
        self._took: defaultdict[tuple[str, str], _Took] = defaultdict(partial(_Took, TOOL_BOUNDS))
        """By the name that callers know a tool by, and how it ended."""
        self._all = _Took(BOUNDS)
        """Of all tools together, without what was refused."""
        self._answered: list[tuple[Tool, float]] = []
        """How long calls took whose answers are not counted yet."""
        self._counting = Lock()
        self._names: set[str] = set()
        self._of_server: Counter[str] = Counter()
        self.warnings: defaultdict[tuple[str, str], int] = defaultdict(int)
        """(the same name, `slow_execution` or `high_memory`) → how often."""

    def warn(self, call: Call, kind: str) -> None:
        """A call took more than somebody wants to be told of."""
        with self._counting:
            self.warnings[self._name(call.tool), kind] += 1

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
        self._answered.append((tool, spent_s))
        if len(self._answered) >= _TOGETHER:
            self._settle()

    def answered(self, call: Call) -> Callable[[float], object]:
        """What counts each call of this tool that is answered (`ended`)."""
        tool = call.tool
        if tool is None:
            raise ValueError("of nothing no call is answered")

        def count(spent_s: float) -> None:
            self._answered.append((tool, spent_s))
            if len(self._answered) >= _TOGETHER:
                self._settle()

        return count

    def _count(self, call: Call, outcome: Outcome, spent_s: float | None) -> None:
        word = _word(outcome)
        with self._counting:
            self._calls[call.kind, word] += 1
            if call.kind == "tool" and spent_s is not None:
                self._took[self._name(call.tool), word].add([spent_s])
                if word != _DENIED:
                    self._all.add([spent_s])

    def _settle(self) -> None:
        """Count what waits for it."""
        with self._counting:
            if took := self._answered[:]:
                del self._answered[: len(took)]  # the loop may have added more meanwhile
                each: defaultdict[str, list[float]] = defaultdict(list)
                for tool, spent_s in took:
                    each[self._name(tool)].append(spent_s)
                for name, those in each.items():
                    self._took[name, _SUCCESS].add(those)
                self._calls["tool", _SUCCESS] += len(took)
                self._all.add([spent_s for _, spent_s in took])

    def _name(self, tool: Tool | None) -> str:
        """What a Groundhog client sends as `tool_id`, under whichever of its names it was called, where it is counted by name."""
        if tool is None:
            return NO_TOOL
        name, server = tool.exposed, tool.target.server
        if name not in self._names:
            if len(self._names) >= NAMES_MOST or self._of_server[server] >= SERVER_NAMES_MOST:
                return NO_TOOL
            self._names.add(name)
            self._of_server[server] += 1
        return name

    @property
    def calls(self) -> dict[tuple[str, str], int]:
        """(kind, outcome) → count; outcomes are success, tool_error, denied, failure, cancelled."""
        self._settle()
        return self._calls.copy()

    @property
    def tools(self) -> dict[tuple[str, str], list[float]]:
        """(the name that callers know a tool by, how it ended) → seconds in all, then how many took how long, by bucket."""
        self._settle()
        with self._counting:
            return {key: [one.spent_s, *one.counts] for key, one in self._took.items()}

    @property
    def durations(self) -> list[int]:
        """How many tool calls took how long, by bucket; refused ones are not among them."""
        self._settle()
        return self._all.counts.copy()

    @property
    def spent_s(self) -> float:
        """All of them together."""
        self._settle()
        return self._all.spent_s


class _Took:
    """How many calls took how long, by buckets with these bounds, and all of them together."""

    __slots__ = ("_bounds", "counts", "spent_s")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.spent_s = 0.0

    def add(self, took: list[float]) -> None:
        """Count these; sorts them."""
        took.sort()
        self.spent_s += sum(took)
        bounds, counts, begin, most = self._bounds, self.counts, 0, len(took)
        at = bisect_left(bounds, took[0])
        while begin < most:
            end = bisect_right(took, bounds[at], begin) if at < len(bounds) else most
            counts[at] += end - begin
            begin, at = end, at + 1


_TOGETHER = 512
"""So many answers are sorted into their buckets together."""
_SUCCESS = "success"

_DENIED = "denied"


def _word(outcome: Outcome) -> str:
    if type(outcome) is Answer:
        return "tool_error" if outcome.tool_error else _SUCCESS
    if type(outcome) is Failure:
        return "cancelled" if outcome.reason == "cancelled" else "failure"
    return _DENIED
