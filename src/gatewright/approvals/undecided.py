"""`Undecided`: counts pending approval requests, and tells which of given ids are pending, without reading the ids of all of them.

A hundred thousand may wait, those that servers make among them, while few calls wait for any. The gateway asks several times a second.
"""

from __future__ import annotations

from collections.abc import Iterable

from gatewright.storage.state import Section

__all__ = ["AT_ONCE", "Undecided"]

AT_ONCE = 500
"""So many are asked about in one statement."""


class Undecided:
    """Those of one queue. Every method raises `StoreError`."""

    def __init__(self, rows: Section) -> None:
        self._rows = rows

    def __len__(self) -> int:
        ((found,),) = self._rows.rows("SELECT count(*) FROM approvals WHERE state = 'pending'")
        return int(found)

    def among(self, ids: Iterable[str]) -> set[str]:
        """Those of these that are."""
        every, found = list(ids), set[str]()
        for start in range(0, len(every), AT_ONCE):
            some = every[start : start + AT_ONCE]
            question = f"SELECT id, state FROM approvals WHERE id IN ({', '.join('?' * len(some))})"  # noqa: S608 - marks
            found.update(id for id, state in self._rows.rows(question, some) if state == "pending")
        return found
