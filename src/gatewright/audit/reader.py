"""`AuditReader`: queries, tails and verifies the audit trail: SQLite rows, newer journal records, and calls still pending.

The rows are a second or so behind the journal. Each query therefore puts what the journal has
beyond the rows into a temporary table of the same form, and asks both: an answered call is in the
answer at once. Calls that run now, or ran when the gateway died, stand behind them as what they are,
pending, with the numbers that they would have; they are no lines of the chain yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from gatewright.audit.intents import read_intents, without_end
from gatewright.audit.rows import DATABASE, Fed, Query, Rows, open_rows_to_read
from gatewright.audit.segments import lines_from
from gatewright.audit.verification import KnownRecord, Verification
from gatewright.audit.verify import verify
from gatewright.command_text import to_type
from gatewright.storage.errors import StoreError
from gatewright.storage.sqlite import Database, DatabaseError

__all__ = ["AuditReader"]

T = TypeVar("T")

_SPOILT = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What reading a line raises that is no record."""


class AuditReader:
    """The trail of one state folder. Holds nothing open between questions."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def query(self, query: Query) -> Iterator[dict[str, Any]]:
        """The records that fit, decoded, one after the other, all of one moment.

        Raises `StoreError` when there is no trail, or it cannot be read.
        """
        return self._found(query, msgspec.json.decode, running=True)

    def lines(self, query: Query) -> Iterator[bytes]:
        """The same as they are written, without their newlines, and without the calls that run now."""
        return self._found(query, bytes)

    def _found(
        self, query: Query, read: Callable[[bytes], T], *, running: bool = False
    ) -> Iterator[T]:
        with closing(self._open()) as database:
            try:
                with database.snapshot():
                    rows = Rows(database)
                    self._see_journal(rows, running=running)
                    for line in rows.find(query):
                        yield read(line)
            except (DatabaseError, *_SPOILT) as problem:
                raise self._unreadable(problem) from problem

    def newest(self, *event_types: str) -> dict[str, dict[str, Any]]:
        """The last record of each of these kinds that has any; by the journal alone where its rows are lost, as far as that goes.
        One look for all of them. Raises `StoreError`."""
        if not (self._folder / DATABASE).exists():
            said = [one.encode() for one in event_types]
            lines = self._lines_from(Fed())
            return self._last(
                event_types, (line for line in lines if any(one in line for one in said))
            )
        with closing(self._open()) as database:
            try:
                with database.snapshot():
                    rows = Rows(database)
                    found = self._last(event_types, self._lines_from(rows.fed()))
                    for one in event_types:
                        wanted = Query(event_type=one, limit=1)
                        for line in () if one in found else rows.find(wanted):
                            found[one] = self._read(line)
            except DatabaseError as problem:
                raise self._unreadable(problem) from problem
        return found

    def _lines_from(self, place: Fed) -> Iterator[bytes]:
        return (line for _, _, line in lines_from(self._folder, place.segment, place.offset))

    def _last(
        self, event_types: Sequence[str], lines: Iterable[bytes]
    ) -> dict[str, dict[str, Any]]:
        records = map(self._read, lines)
        kinds = frozenset(event_types)
        return {kind: one for one in records if (kind := one.get("event_type")) in kinds}

    def _read(self, line: bytes) -> dict[str, Any]:
        try:
            return msgspec.json.decode(line, type=dict[str, Any])
        except _SPOILT as problem:
            raise self._unreadable(problem) from problem

    def _unreadable(self, problem: Exception) -> StoreError:
        return StoreError(
            f"the audit trail in {self._folder} cannot be read: {problem}; "
            f"`{to_type('audit verify')}` says whether it is whole"
        )

    def tail(
        self, count: int = 10, *, follow: Callable[[], bool] | None = None
    ) -> Iterator[dict[str, Any]]:
        """The last `count` records, oldest first, and with `follow` everything that comes after.

        `follow` waits as long as the caller likes between two looks, and says whether to go on.
        Raises `StoreError`.
        """
        with closing(self._open()) as database:
            # Before the last records are read: what is fed in between is then skipped by its number, and not missed.
            place = Rows(database).fed()
        last = place.seq
        for record in reversed([*self._found(Query(limit=count), msgspec.json.decode)]):
            yield record
            last = record["seq"]
        while follow is not None and follow():
            for behind, record in self._after(place):
                place = behind
                # The journal may begin before what the rows have shown already.
                if record["seq"] > last:
                    yield record
                    last = record["seq"]

    def verify(
        self, kept: KnownRecord | None = None, told: Callable[[int], object] | None = None
    ) -> Verification:
        """Prove the whole trail, and name the first wrong place; `kept` is of a record that was noted elsewhere, `told` hears how
        far it has come. Raises `StoreError`."""
        with closing(self._open()) as database:
            return verify(self._folder, database, kept, told)

    def _open(self) -> Database:
        return open_rows_to_read(self._folder)

    def _see_journal(self, rows: Rows, *, running: bool) -> None:
        fed = rows.fed()
        intents = read_intents(self._folder) if running else []  # before the ends of some are read
        lines = [*self._lines_from(fed)]
        last = fed.seq + len(lines)
        for intent in sorted(without_end(intents, lines)):  # each begins with its time
            last += 1
            # Shown like a record; it has no hashes and is in no chain.
            lines.append(b'{"seq":%d,%b' % (last, intent[1:]))
        rows.show_also(lines, last)

    def _after(self, place: Fed) -> Iterator[tuple[Fed, dict[str, Any]]]:
        for segment, offset, line in lines_from(self._folder, place.segment, place.offset):
            record = self._read(line)
            yield Fed(record["seq"], segment, offset + len(line) + 1), record
