"""Audit sink to a SQLite file, one row a record without duplicates, for queries by other programs; deletes rows past the sink's retention.

`id` is the key, so a record that comes twice is one row.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from gatewright.audit.expiry import AT_ONCE, FOREVER, Expiry
from gatewright.audit.sinks.follow import SinkFailed
from gatewright.storage.errors import StoreError
from gatewright.storage.sqlite import Database, DatabaseError

__all__ = ["SqliteSink"]

_MIGRATIONS = (
    (
        """CREATE TABLE gatewright_audit (
            id TEXT PRIMARY KEY, time TEXT NOT NULL, event_type TEXT NOT NULL,
            trace_id TEXT NOT NULL, record TEXT NOT NULL
        ) STRICT""",
        "CREATE INDEX gatewright_audit_by_trace ON gatewright_audit (trace_id)",
    ),
    ("CREATE INDEX gatewright_audit_by_time ON gatewright_audit (time)",),
)
_OLD = """DELETE FROM gatewright_audit WHERE rowid IN (
    SELECT rowid FROM gatewright_audit WHERE time < ? ORDER BY time LIMIT ?
)"""


class _Record(msgspec.Struct):
    id: str
    time: str
    event_type: str
    trace_id: str


class SqliteSink:
    """Inserts into `gatewright_audit` of one file."""

    def __init__(self, path: Path, put: Callable[[bytes], bytes], expiry: Expiry = FOREVER) -> None:
        """`put` changes a line into the form. What `expiry` says goes, goes with the next delivery."""
        self._expiry = expiry
        self._path = path
        self._put = put
        self._database: Database | None = None

    async def deliver(self, lines: Sequence[bytes]) -> None:
        """All rows or none. Raises `SinkFailed`."""
        try:
            # On this thread, which is the sinks' own: a connection belongs to the thread that opened it.
            self._insert(lines)
        except (StoreError, DatabaseError) as problem:
            await self.close()
            raise SinkFailed(f"{self._path.name}: {problem}") from problem
        await asyncio.sleep(0)

    def _insert(self, lines: Sequence[bytes]) -> None:
        if self._database is None:
            if self._path.is_symlink():
                raise SinkFailed(f"{self._path.name}: is a link; name what it leads to")
            self._database = Database.open(self._path, _MIGRATIONS)
        database = self._database
        with database.transaction():
            for line in lines:
                found = msgspec.json.decode(line, type=_Record)
                text = self._put(line).decode("utf-8", "replace").rstrip("\n")
                database.execute(
                    "INSERT OR IGNORE INTO gatewright_audit VALUES (?, ?, ?, ?, ?)",
                    (found.id, found.time, found.event_type, found.trace_id, text),
                )
            before = self._expiry.due()
            if before and database.execute(_OLD, (before, AT_ONCE)).rowcount == AT_ONCE:
                self._expiry.again()

    async def close(self) -> None:
        """Close the file."""
        if self._database is not None:
            self._database.close()
            self._database = None
