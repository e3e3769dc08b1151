"""`RestartCounter`: counts the restarts of one connection within the rule's window, and computes the pause before the next (MGP §11.5)."""

from __future__ import annotations

from collections import deque

from gatewright.servers.spec import Restart

__all__ = ["RestartCounter"]

STABLE_S = 5.0
"""A connection that lived so long did not fail at once, so the next is made without waiting."""

_DOUBLINGS = 64
"""Of the pause: more would be beyond any setting, and after a thousand beyond a float."""


class RestartCounter:
    """Times are the loop's seconds. The rule is given each time: a reload may change it."""

    def __init__(self) -> None:
        self.quick = 0
        """How many connections in a row failed at once."""
        self._recent: deque[float] = deque()

    def ended(self, began: float, now: float) -> None:
        """A connection has ended, or did not come about."""
        self.quick = 0 if now - began > STABLE_S else self.quick + 1

    def made(self, now: float) -> None:
        """The server is started again."""
        self._recent.append(now)

    def exhausted(self, rule: Restart, now: float) -> bool:
        """Whether the rule allows no more restarts now."""
        while self._recent and self._recent[0] < now - rule.window_s:
            self._recent.popleft()
        return len(self._recent) >= rule.max

    def room_at(self, rule: Restart) -> float:
        """When the window has room again; infinity where the rule allows no restart at all."""
        return self._recent[0] + rule.window_s if self._recent else float("inf")

    def pause_s(self, rule: Restart) -> float:
        """How long to wait before the next attempt: the first after a failure is made at once, the second waits `first_s`."""
        if self.quick < 2:
            return 0.0
        return float(min(rule.most_s, rule.first_s * 2.0 ** min(self.quick - 2, _DOUBLINGS)))
