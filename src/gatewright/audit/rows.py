"""SQLite copy of the audit trail: one row a record with generated columns, batch inserts, indexed queries, pruning.

Theory. A row is the line and its number; everything else is a generated column that SQLite reads
out of the line, so a row can never say one thing and its record another. A batch goes in as one
statement: SQLite cuts the batch into lines by itself, outside Python's global lock.

Both indexes begin with `bucket`, the number divided by 16,384. A trace id falls anywhere in an
index over all records, so the cost of adding one would grow with the store; inside the newest
bucket it always falls on pages that are in memory. A question asks bucket after bucket, newest
first, and stops when it has enough: about 60 look-ups for a million records.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import msgspec

from gatewright.audit.chain import GENESIS, read_link
from gatewright.storage.sqlite import Database

__all__ = ["DATABASE", "Fed", "Query", "Rows", "open_rows", "open_rows_to_read"]

DATABASE = "audit.db"

_COLUMNS = """
    seq INTEGER PRIMARY KEY,
    record TEXT NOT NULL,
    bucket INTEGER AS (seq >> 14) VIRTUAL,
    trace_id TEXT AS (json_extract(record, '$.trace_id')) VIRTUAL,
    agent TEXT AS (json_extract(record, '$.actor.id')) VIRTUAL,
    server TEXT AS (json_extract(record, '$.target.server_id')) VIRTUAL,
    tool TEXT AS (json_extract(record, '$.target.tool_name')) VIRTUAL,
    event_type TEXT AS (json_extract(record, '$.event_type')) VIRTUAL,
    outcome TEXT AS (json_extract(record, '$.outcome')) VIRTUAL,
    time TEXT AS (json_extract(record, '$.time')) VIRTUAL
"""
_MIGRATIONS = (
    (
        f"CREATE TABLE records ({_COLUMNS})",
        "CREATE INDEX records_by_trace ON records (bucket, trace_id)",
        """CREATE INDEX records_by_facts ON records
            (bucket, agent, server, tool, event_type, outcome, time)""",
        """CREATE TABLE fed (
            segment INTEGER PRIMARY KEY,
            first INTEGER NOT NULL, seq INTEGER NOT NULL, offset INTEGER NOT NULL
        ) STRICT""",
    ),
    (
        """CREATE TABLE pruned (
            id INTEGER PRIMARY KEY CHECK (id = 1), seq INTEGER NOT NULL, hash BLOB NOT NULL
        ) STRICT""",
    ),
)
_INSERT = """
    INSERT INTO {table} (seq, record)
    SELECT ?1 + key, CAST(substr(?2, value >> 32, value & 0xffffffff) AS TEXT) FROM json_each(?3)
"""
_BUCKET_BITS = 14


class Fed(msgspec.Struct, frozen=True):
    """How far the rows have followed the journal: up to record `seq`, at `offset` of `segment`."""

    seq: int = 0
    segment: int = 1
    offset: int = 0


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """What to look for. Members left out do not restrict; times are ISO 8601 in UTC as recorded."""

    agent: str | None = None
    server: str | None = None
    tool: str | None = None
    event_type: str | None = None
    outcome: str | None = None
    trace_id: str | None = None
    since: str | None = None
    """Not before this time."""
    until: str | None = None
    """Before this time."""
    after: int | None = None
    """With a greater number than this."""
    before: int | None = None
    """With a lower number than this."""
    limit: int | None = None
    newest_first: bool = True


class Rows:
    """The table of one connection, and a second, temporary one for what the journal has beyond it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._also = False

    def fed(self) -> Fed:
        """How far the rows go."""
        row = self._database.execute(
            "SELECT seq, segment, offset FROM fed ORDER BY segment DESC LIMIT 1"
        ).fetchone()
        return Fed() if row is None else Fed(*row)

    def first_of(self, segment: int) -> int | None:
        """The number of the first record of a segment, None where nothing of it is in the rows."""
        row = self._database.execute(
            "SELECT first FROM fed WHERE segment = ? AND seq >= first", (segment,)
        ).fetchone()
        return None if row is None else int(row[0])

    def feed(self, batches: Iterable[tuple[Sequence[bytes], Fed]]) -> None:
        """Add each batch of lines, without newlines, that ends at its place. All or nothing.

        A batch is of one segment.
        """
        with self._database.transaction():
            for lines, place in batches:
                self._insert("records", lines, place.seq)
                self.go_on_at(place, place.seq - len(lines) + 1)

    def go_on_at(self, place: Fed, first: int) -> None:
        """Set how far the rows go; `first` begins the segment, if nothing of it is known yet."""
        self._database.execute(
            "INSERT INTO fed (segment, first, seq, offset) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (segment) DO UPDATE SET seq = excluded.seq, offset = excluded.offset",
            (place.segment, first, place.seq, place.offset),
        )

    def pruned(self) -> tuple[int, bytes]:
        """Number and hash of the last record that retention has taken away."""
        row = self._database.execute("SELECT seq, hash FROM pruned").fetchone()
        return (0, GENESIS) if row is None else (row[0], row[1])

    def hash_of(self, seq: int) -> bytes:
        """The hash of a record that is there. Raises `BrokenChainError`."""
        row = self._database.execute(
            "SELECT CAST(record AS BLOB) FROM records WHERE seq = ?", (seq,)
        ).fetchone()
        return read_link(b"" if row is None else row[0]).hash

    def last_before(self, moment: str) -> int:
        """The number of the last record before the first that is not older than `moment`; 0 where there
        is none."""
        low, high = self._ends()
        for bucket in range(low >> _BUCKET_BITS, (high >> _BUCKET_BITS) + 1):
            (first,) = self._database.execute(
                "SELECT min(seq) FROM records INDEXED BY records_by_facts "
                "WHERE bucket = ? AND time >= ?",
                (bucket, moment),
            ).fetchone()
            if first is not None:
                return int(first) - 1
        return high

    def last_within(self, seq: int) -> int:
        """The number of the last record that is there up to number `seq`; 0 where there is none. It is another one
        where the rows were lost once (`go_on_at`)."""
        (found,) = self._database.execute(
            "SELECT max(seq) FROM records WHERE seq <= ?", (seq,)
        ).fetchone()
        return found or 0

    def prune(self, last: int) -> None:
        """Delete every record up to `last`, which is there, some at a time; the rest goes on from there."""
        gone, _ = self.pruned()
        while gone < last:
            # A bucket at a time, so that no transaction holds the rows for long.
            before, within = gone, min(last, (gone + 1) | ((1 << _BUCKET_BITS) - 1))
            gone = self.last_within(within)
            if gone <= before:  # nothing of these is there
                gone = within
                continue
            with self._database.transaction():
                self._database.execute(
                    "INSERT INTO pruned (id, seq, hash) VALUES (1, ?, ?) ON CONFLICT (id) "
                    "DO UPDATE SET seq = excluded.seq, hash = excluded.hash",
                    (gone, self.hash_of(gone)),
                )
                self._database.execute("DELETE FROM records WHERE seq <= ?", (gone,))

    def segments_within(self, last: int) -> set[int]:
        """The segments whose records all have numbers up to `last`, as far as they are in the rows."""
        found = self._database.execute("SELECT segment FROM fed WHERE seq <= ?", (last,))
        return {segment for (segment,) in found}

    def to_disk(self) -> bool:
        """Bring every row to the disk; False when a reader is in the way."""
        return not self._database.execute("PRAGMA wal_checkpoint(FULL)").fetchone()[0]

    def show_also(self, lines: Sequence[bytes], last: int) -> None:
        """Let `find` see `lines`, the last of which is record `last`, as well. They are in this connection only."""
        self._database.execute("DROP TABLE IF EXISTS temp.tail")
        self._database.execute(f"CREATE TEMP TABLE tail ({_COLUMNS})")
        self._insert("temp.tail", lines, last)
        self._also = True

    def lines(self, after: int = 0, *, most: int = -1) -> Iterator[tuple[int, bytes]]:
        """Every row behind record `after`, by number; `most` limits how many."""
        yield from self._database.execute(
            "SELECT seq, CAST(record AS BLOB) FROM records WHERE seq > ? ORDER BY seq LIMIT ?",
            (after, most),
        )

    def find(self, query: Query) -> Iterator[bytes]:
        """The records that fit, in order; those given to `show_also` are newer than all rows."""
        where, values = _where(query)
        index = f"INDEXED BY records_by_{'facts' if query.trace_id is None else 'trace'}"
        left = query.limit
        for source, key in self._sources(query):
            if left is not None and left <= 0:
                return
            rows = self._database.execute(
                f"SELECT CAST(record AS BLOB) FROM {source} WHERE seq IN "  # noqa: S608 - constants
                f"(SELECT seq FROM {source} {index if key else ''} "
                f"WHERE {' AND '.join([*key, *where]) or 'TRUE'}) "
                f"ORDER BY seq {'DESC' if query.newest_first else 'ASC'} LIMIT ?",
                (*key.values(), *values, -1 if left is None else left),
            )
            for (record,) in rows:
                yield record
                left = None if left is None else left - 1

    def _sources(self, query: Query) -> Iterator[tuple[str, dict[str, int]]]:
        """Where to look, in the order of the answer: each bucket, and the temporary table."""
        low, high = self._ends()
        low = max(low, 0 if query.after is None else query.after + 1)
        high = high if query.before is None else min(high, query.before - 1)
        numbers = range(low >> _BUCKET_BITS, (high >> _BUCKET_BITS) + 1) if high > 0 else ()
        buckets = [("records", {"bucket = ?": number}) for number in numbers]
        everything = [*buckets, ("temp.tail", {})] if self._also else buckets
        yield from reversed(everything) if query.newest_first else everything

    def _ends(self) -> tuple[int, int]:
        """The first and the last number, zeros where there is no row."""
        low, high = self._database.execute(  # apart: together they would read every row
            "SELECT (SELECT min(seq) FROM records), (SELECT max(seq) FROM records)"
        ).fetchone()
        return low or 0, high or 0

    def _insert(self, table: str, lines: Sequence[bytes], last: int) -> None:
        # One statement for a whole batch: `substr` cuts the lines out, each at an offset and size packed into one integer.
        sizes = [len(line) for line in lines]
        starts = accumulate(sizes, initial=1)
        pieces = [start << 32 | size for start, size in zip(starts, sizes, strict=False)]
        self._database.execute(
            _INSERT.format(table=table),
            (last - len(lines) + 1, b"".join(lines), msgspec.json.encode(pieces).decode()),
        )


def open_rows(folder: Path) -> Database:
    """The database of `folder` for the one process that feeds it. Raises `StoreError`."""
    database = Database.open(folder / DATABASE, _MIGRATIONS)
    database.execute("PRAGMA synchronous = NORMAL")  # the journal is the record: see `to_disk`
    database.execute("PRAGMA wal_autocheckpoint = 2000")
    database.execute("PRAGMA cache_size = -8000")
    return database


def open_rows_to_read(folder: Path) -> Database:
    """The database of `folder` for any process. Raises `StoreError`."""
    return Database.open_to_read(folder / DATABASE, len(_MIGRATIONS))


def _where(query: Query) -> tuple[list[str], list[Any]]:
    wanted = {
        "agent = ?": query.agent,
        "server = ?": query.server,
        "tool = ?": query.tool,
        "event_type = ?": query.event_type,
        "outcome = ?": query.outcome,
        "trace_id = ?": query.trace_id,
        "time >= ?": query.since,
        "time < ?": query.until,
        "seq > ?": query.after,
        "seq < ?": query.before,
    }
    known = {condition: value for condition, value in wanted.items() if value is not None}
    return list(known), list(known.values())
