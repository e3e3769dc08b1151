"""Deletes audit records older than the retention period, after a durable pruning record that keeps the hash chain verifiable.

What goes is always the beginning. First a record says so: up to which number, and the hash of that
one (`PRUNED`). When it is on the disk and in the rows, the rows before it are deleted, and the same
transaction notes number and hash as the place from which the chain goes on. `verify` begins there, and
wants the record that vouches for it: who deletes the beginning by hand has none.

The journal begins a new segment before that record, so that the older ones can go as whole files.
Nothing goes that a sink has not taken yet. All of it happens in the feeder's thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from sys import maxsize
from typing import Any

import msgspec

from gatewright.audit.journal import Journal
from gatewright.audit.rows import Rows

__all__ = ["AT_ONCE", "FOREVER", "KEEP_ALL", "PRUNED", "Expiry", "Keep", "Retention"]

PRUNED = "dev.gatewright.audit.pruned"

_DAY_S = 86_400.0
_LOOK_S = 6 * 3600.0

AT_ONCE = 10_000
"""Rows of a sink that are deleted at once, so that a delivery behind years of them is not held up."""


class Keep(msgspec.Struct, frozen=True):
    """What is kept: records of so many `days` (0: all), and what comes behind `taken`, the number of the
    last record that every sink has."""

    days: float = 0
    taken: Callable[[], int] = lambda: maxsize


KEEP_ALL = Keep()


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


class Retention:
    """Forgets what is older than some days. For one thread, the one that owns the rows."""

    def __init__(
        self,
        keep: Keep,
        *,
        clock: Callable[[], float],
        record: Callable[[Mapping[str, Any]], int],
    ) -> None:
        """`record` writes a `PRUNED` record with these details and returns its number."""
        self._keep = keep
        self._expiry = Expiry(keep.days, clock)
        self._record = record
        self._announced: tuple[int, int] | None = None

    def look(self, rows: Rows, journal: Journal, fed: int) -> bool:
        """Forget what is due; True when rows are gone. `fed` is the last record in the rows.

        Takes two looks: one that announces it, and one when the announcement is in the rows.
        Raises `DatabaseError`, `Unrecorded`.
        """
        if self._announced is not None:
            last, announcement = self._announced
            # A crash now must not leave pruned rows without the record that explains them.
            if fed < announcement:
                return False
            rows.prune(last)
            self._announced = None
            return True
        before = self._expiry.due()
        if before:
            self._announce(rows, journal, before)
        return False

    def _announce(self, rows: Rows, journal: Journal, before: str) -> None:
        gone, _ = rows.pruned()
        # A sink that is down keeps records.
        last = rows.last_within(min(rows.last_before(before), self._keep.taken()))
        if last <= gone:
            return
        journal.begin_segment()
        details = {
            "first": gone + 1,
            "last": last,
            "hash": rows.hash_of(last).decode(),
            "before": before,
            "retention_days": self._keep.days,
        }
        self._announced = last, self._record(details)


def _recorded(moment: float) -> str:
    """Unix seconds as records have them."""
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(max(0.0, moment)))
