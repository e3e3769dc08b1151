"""Outbox table of a section: numbered changes kept in the same transaction until they are in the audit trail.

A change and its row are one transaction, so that what was done while no gateway ran gets into the trail as well. Whoever asks for
them several times a second pays for a statement only after something has changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from gatewright.storage.state import Section

__all__ = ["AT_ONCE", "Changes"]

AT_ONCE = 1000


class Changes:
    """The table of changes of one section: `number`, and these columns. Every method raises `StoreError`."""

    def __init__(self, section: Section, table: str, columns: Sequence[str]) -> None:
        self._section = section
        names = ", ".join(columns)
        marks = ", ?" * len(columns)
        self._add = f"INSERT INTO {table} (number, {names}) VALUES (?{marks})"  # noqa: S608 - constants
        self._read = f"SELECT number, {names} FROM {table} "  # noqa: S608 - constants
        self._drop = f"DELETE FROM {table} WHERE number "  # noqa: S608 - a constant
        self._some = True
        section.listen(self._heard)

    def add(self, *values: Any) -> None:
        """Within a transaction: leave a row for the audit trail."""
        self._some = True
        self._section.execute(self._add, (self._section.step(), *values))

    def waiting(self, most: int = AT_ONCE, **of: Any) -> list[Any]:
        """What the audit trail does not have yet, oldest first, no more than so many; where `of` says so, of one value of a column."""
        if not self._some:
            return []
        where = "".join(f"WHERE {column} = ? " for column in of)
        sql = f"{self._read}{where}ORDER BY number LIMIT ?"
        found = self._section.rows(sql, (*of.values(), most))
        if not of:
            self._some = bool(found)
        return found

    def recorded(self, number: int) -> None:
        """The audit trail has every change up to `number`."""
        with self._section.tidying():
            self._section.execute(f"{self._drop}<= ?", (number,))

    def recorded_each(self, numbers: Iterable[int]) -> None:
        """The audit trail has these changes, which need not be the oldest."""
        with self._section.tidying():
            for number in numbers:
                self._section.execute(f"{self._drop}= ?", (number,))

    def _heard(self) -> None:
        self._some = True
