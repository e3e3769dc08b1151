"""An audit trail that also counts: calls by kind and outcome, and how many are running.

Every call opens and closes a trail exactly once, so this is the one place where nothing is missed.
"""

from __future__ import annotations

from gatewright.call import Answer, Call, Failure, Outcome
from gatewright.kernel import Audit, Trail

__all__ = ["Counted"]


class Counted:
    """Wraps another `Audit`."""

    def __init__(self, audit: Audit) -> None:
        self._audit = audit
        self.calls: dict[tuple[str, str], int] = {}
        """(kind, outcome) → count; outcomes are success, tool_error, denied, failure, cancelled."""
        self.in_flight = 0

    def open(self, call: Call) -> Trail:
        """Begin the record of one call."""
        trail = self._audit.open(call)
        self.in_flight += 1
        return _Counting(self, trail)

    def closed(self, call: Call, outcome: Outcome) -> None:
        """A call has ended."""
        self.in_flight -= 1
        key = call.kind, _word(outcome)
        self.calls[key] = self.calls.get(key, 0) + 1


class _Counting:
    __slots__ = ("_counted", "_trail", "intent", "on_disk", "settled")

    def __init__(self, counted: Counted, trail: Trail) -> None:
        self._counted = counted
        self._trail = trail
        self.intent = trail.intent
        self.on_disk = trail.on_disk
        self.settled = trail.settled

    def close(self, call: Call, outcome: Outcome) -> Outcome:
        outcome = self._trail.close(call, outcome)
        self._counted.closed(call, outcome)
        return outcome


def _word(outcome: Outcome) -> str:
    if type(outcome) is Answer:
        return "tool_error" if outcome.tool_error else "success"
    if type(outcome) is Failure:
        return "cancelled" if outcome.reason == "cancelled" else "failure"
    return "denied"
