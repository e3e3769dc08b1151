"""Allowance of free list requests per caller (token bucket), so that hosts' listing does not use up the call limits.

Each caller has `AT_ONCE` lists at once, and one each `EVERY_S` seconds after that; further ones count as any other call does.
In memory, bounded: of more than `KEPT` callers those are forgotten that have their whole allowance, or else all.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

__all__ = ["AT_ONCE", "EVERY_S", "KEPT", "ListAllowance"]

AT_ONCE = 60
EVERY_S = 0.5
KEPT = 10_000


class ListAllowance:
    """`clock` gives monotonic seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._due: dict[Hashable, float] = {}

    def take(self, who: Hashable) -> bool:
        """Whether one more is free."""
        now = self._clock()
        due = max(self._due.get(who, now), now) + EVERY_S
        if due > now + AT_ONCE * EVERY_S:
            return False
        if len(self._due) >= KEPT and who not in self._due:
            self._due = {one: until for one, until in self._due.items() if until > now}
            if len(self._due) >= KEPT:
                # In everybody's favour: who is forgotten has the whole allowance again.
                self._due.clear()
        self._due[who] = due
        return True
