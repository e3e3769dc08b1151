"""Deletes the beginning of the audit trail after so many days: first a pruning record is durable, which keeps the hash chain verifiable.

What goes is always the beginning. First a record says so: up to which number, and the hash of that
one (`PRUNED`). When it is on the disk and in the rows, the rows before it are deleted, and the same
transaction notes number and hash as the place from which the chain goes on. `verify` begins there, and
wants the record that vouches for it: who deletes the beginning by hand has none.

The journal begins a new segment before that record, so that the older ones can go as whole files.
Nothing goes that a sink has not taken yet. All of it happens in the feeder's thread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from sys import maxsize
from typing import Any

import msgspec

from gatewright.audit.expiry import Expiry
from gatewright.audit.journal import Journal
from gatewright.audit.rows import Rows

__all__ = ["KEEP_ALL", "PRUNED", "Keep", "Retention"]

PRUNED = "dev.gatewright.audit.pruned"


class Keep(msgspec.Struct, frozen=True):
    """What is kept: records of so many `days` (0: all), and what comes behind `taken`, the number of the
    last record that every sink has."""

    days: float = 0
    taken: Callable[[], int] = lambda: maxsize


KEEP_ALL = Keep()


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
