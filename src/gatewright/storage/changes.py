"""`Changes`: outbox table of one section: adds rows within its transactions, remembers recorded ones, drops them once audit is on disk.

A change and its row are one transaction, so that what was done while no gateway ran gets into the trail as well. What the trail has
is remembered in memory, so that nothing is recorded twice; its row goes (`drop`) once the trail is on the disk, because a power
cut may take from the trail what was not flushed. A process that is killed between the two records its last changes once more.
Whoever asks for them several times a second pays for a statement only after something has changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gatewright.storage.state import Section
from gatewright.storage.try_write import Statements, changed_aside

__all__ = ["AT_ONCE", "Changes", "drop", "dropping"]

AT_ONCE = 1000


class Changes:
    """The table of changes of one section: `number`, and these columns. Every method raises `StoreError`."""

    def __init__(self, section: Section, table: str, columns: Sequence[str]) -> None:
        self._section = section
        names = ", ".join(columns)
        marks = ", ?" * len(columns)
        self._add = f"INSERT INTO {table} (number, {names}) VALUES (?{marks})"  # noqa: S608 - constants
        self._read = f"SELECT number, {names} FROM {table} "  # noqa: S608 - constants
        self._told = section.state.told_of(table)
        self._given: list[int] = []
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
        # Rows that the trail has already may still be there, and must not count against the limit.
        rows = self._section.rows(sql, (*of.values(), most + len(self._told)))
        found = [row for row in rows if row[0] not in self._told][:most]
        self._given = [row[0] for row in found]
        if not of:  # what one value of a column has says nothing about the others
            self._some = bool(found)
        return found

    def recorded(self, number: int) -> None:
        """The audit trail has every change up to `number` that was waiting."""
        self._told.update(one for one in self._given if one <= number)

    def recorded_each(self, numbers: Iterable[int]) -> None:
        """The audit trail has these changes, which need not be the oldest."""
        self._told.update(numbers)

    def _heard(self) -> None:
        self._some = True


def drop(folder: Path, told: Mapping[str, Sequence[int]]) -> bool:
    """Take the rows of a folder's state out whose records are on the disk, by table. False where that has to be tried again."""
    return changed_aside(folder, dropping(told))


def dropping(told: Mapping[str, Sequence[int]]) -> Statements:
    """The statements that take them out."""
    return [
        (f"DELETE FROM {table} WHERE number = ?", (number,))  # noqa: S608 - a constant
        for table, numbers in told.items()
        for number in numbers
    ]
