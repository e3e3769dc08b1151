"""`TrailReading`: snapshot of the audit database and newer journal lines: fills index blocks (`read_block`); records by number or trace.

A block that is whole never changes again, so that any process may read it in: `read_block` is what a worker does.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from gatewright.audit.rows import Query, Rows, open_rows_to_read
from gatewright.audit.search_facts import facts_of
from gatewright.audit.search_index import BITS, FACTS, SIZE, Block
from gatewright.audit.segments import lines_from
from gatewright.storage.errors import StoreError
from gatewright.storage.sqlite import Database, DatabaseError

__all__ = ["TrailReading", "read_block"]

_RULE = "coalesce(json_extract(record, '$.decision.reason'), json_extract(record, '$.details.reason'), json_extract(record, '$.details.access'))"
_COLUMNS = (
    "seq",
    "CAST(round((julianday(time) - 2440587.5) * 86400000) AS INTEGER)",
    "agent",
    "server",
    "tool",
    "event_type",
    "outcome",
    "json_extract(record, '$.decision.gate')",
    f"CAST({_RULE} AS TEXT)",
)
# One row, whatever it holds: between two rows SQLite would have to ask for Python's global lock each time.
_PIECE = f"SELECT {', '.join(f'json_group_array(c{at})' for at in range(len(_COLUMNS)))} FROM (SELECT {', '.join(f'{one} AS c{at}' for at, one in enumerate(_COLUMNS))} FROM records WHERE seq BETWEEN ? AND ? ORDER BY seq)"  # noqa: S608 - constants


class TrailReading:
    """One look at the trail, all of one moment."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._database: Database | None = None
        self._tail: dict[int, bytes] = {}
        self._fed = self.first = self.last = 0

    def __enter__(self) -> TrailReading:
        self._database = database = open_rows_to_read(self._folder)
        try:
            database.execute("BEGIN")
            fed = Rows(database).fed()
            lines = [line for _, _, line in lines_from(self._folder, fed.segment, fed.offset)]
            self._tail = dict(enumerate(lines, fed.seq + 1))
            self._fed, self.last = fed.seq, fed.seq + len(lines)
            (self.first,) = database.execute("SELECT coalesce(min(seq), 0) FROM records").fetchone()
        except BaseException as problem:
            self.__exit__(type(problem), problem, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: Any
    ) -> None:
        database, self._database = self._database, None
        if database is not None:
            database.close()
        if isinstance(problem, DatabaseError | msgspec.DecodeError):
            raise StoreError(
                f"the audit trail in {self._folder} cannot be read: {problem}"
            ) from problem

    @property
    def head(self) -> int:
        """The number of the newest block."""
        return self.last >> BITS

    def blocks(self, before: int | None = None, *, oldest: bool = False) -> Sequence[int]:
        """The numbers of the blocks that have records, newest first, or oldest first those behind a number."""
        first = max(self.first, 1)
        if oldest:
            low = first if before is None else max(first, before + 1)
            return range(low >> BITS, (self.last >> BITS) + 1)
        high = self.last if before is None else min(self.last, before - 1)
        return range(high >> BITS, (first >> BITS) - 1, -1)

    def read_into(self, block: Block) -> None:
        """Add what the trail has and the block has not."""
        end = block.first + SIZE - 1
        if block.last < min(end, self._fed):
            row = self._execute(_PIECE, (block.last + 1, min(end, self._fed))).fetchone()
            seqs, times, *facts = (msgspec.json.decode(one) for one in row)
            block.add(seqs, [0 if one is None else one for one in times], facts)
        new = [seq for seq in self._tail if block.last < seq <= end]
        if new:
            told = [facts_of(self._tail[seq]) for seq in new]
            block.add(
                new,
                [one[0] for one in told],
                [[one[1][at] for one in told] for at in range(len(FACTS))],
            )
        block.whole = self.last >= end

    def lines(self, seqs: Sequence[int]) -> list[bytes]:
        """The records of these numbers, as they are written, as far as they are there."""
        stored = [seq for seq in seqs if seq not in self._tail]
        marks = ", ".join("?" * len(stored))
        asked = f"SELECT seq, CAST(record AS BLOB) FROM records WHERE seq IN ({marks})"  # noqa: S608 - question marks
        rows = self._execute(asked, stored)
        known = {**dict(rows), **self._tail}
        return [known[seq] for seq in seqs if seq in known]

    def of_trace(self, trace: str, most: int, **place: Any) -> list[bytes]:
        """At most so many of one trace, from a place on."""
        rows = Rows(self._opened())
        rows.show_also([*self._tail.values()], self.last)
        return [*rows.find(Query(trace_id=trace, limit=most, **place))]

    def first_time(self) -> int | None:
        """The time of the first record that is in the rows."""
        row = self._execute(
            "SELECT CAST(record AS BLOB) FROM records WHERE seq = ?", (self.first,)
        ).fetchone()
        return None if row is None else facts_of(row[0])[0]

    def _execute(self, statement: str, values: Sequence[Any]) -> Any:
        return self._opened().execute(statement, tuple(values))

    def _opened(self) -> Database:
        if self._database is None:
            raise RuntimeError("it is looked at inside `with` alone")
        return self._database


def read_block(folder: Path, number: int) -> Block:
    """The block of that number, as far as the trail has it. Raises `StoreError`."""
    block = Block(number << BITS)
    with TrailReading(folder) as look:
        look.read_into(block)
    return block
