"""Rate limit on listing a server again after its `list_changed` notifications: debounce, then one a second.

Servers announce each of many changes; one look answers all that come within a moment. One that never stops announcing would
have the gateway fetch, judge and record its lists without end, so after a good number of looks they come once a second.
"""

from __future__ import annotations

__all__ = ["AT_ONCE", "DEBOUNCE_S", "EACH_S", "Pace"]

DEBOUNCE_S = 0.02
"""What a look waits for more to come."""
AT_ONCE = 20
"""So many looks are not slowed down."""
EACH_S = 1.0
"""How often a look comes after those; each second without one gives one of them back."""


class Pace:
    """The looks at one server (GCRA: one number says how far ahead of its rate they are)."""

    def __init__(self) -> None:
        self._due = float("-inf")

    def take(self, now: float) -> float:
        """In how many seconds the next look is, which is counted. `now` is seconds of any one origin."""
        # `_due` may be `AT_ONCE` looks ahead before any of them has to wait.
        wait = max(DEBOUNCE_S, self._due - now - (AT_ONCE - 1) * EACH_S)
        self._due = max(self._due, now) + EACH_S
        return wait
