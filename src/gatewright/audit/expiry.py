"""Age limit of records, of the audit trail and of its sinks' tables: before which time they go, asked every few hours; rows deleted at once."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["AT_ONCE", "FOREVER", "Expiry"]

_DAY_S = 86_400.0
_LOOK_S = 6 * 3600.0

AT_ONCE = 10_000
"""Rows of a sink that are deleted at once, so that a delivery behind years of them is not held up."""


class Expiry:
    """From when on what is recorded is kept, asked now and then."""

    def __init__(self, days: float, clock: Callable[[], float]) -> None:
        """0 days: always."""
        self._days = days
        self._clock = clock
        self._looked = float("-inf")

    def due(self) -> str:
        """The time, as records have it, before which they go; empty where nothing goes now, as it was asked some hours ago."""
        # Also when the clock was set back: else nothing would be deleted until it has caught up.
        if not self._days or 0 <= self._clock() - self._looked < _LOOK_S:
            return ""
        self._looked = self._clock()
        return _recorded(self._clock() - self._days * _DAY_S)

    def again(self) -> None:
        """There is more that goes: due at once."""
        self._looked = float("-inf")


FOREVER = Expiry(0, time.time)


def _recorded(moment: float) -> str:
    """Unix seconds as records have them."""
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(max(0.0, moment)))
