"""Audit sink to a PostgreSQL table through `asyncpg`: creates table and indexes, inserts batches without duplicates, deletes expired rows.

`asyncpg` comes with the extra `postgres`. `id` is the key of the table, so a record that comes twice is one row. `record`
is of type `json`, which keeps the text as it is: the hash in it still proves it, and what JSON may carry
and `jsonb` may not (a NUL) does not stop the queue.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from types import ModuleType
from typing import Any

import msgspec

from gatewright.audit.expiry import AT_ONCE, FOREVER, Expiry
from gatewright.audit.sinks.follow import SinkFailed

__all__ = ["PostgresSink"]

_PATIENCE_S = 15.0
_COLUMNS = "id, seq, time, event_type, outcome, agent, server, tool, trace_id, record"
_TABLE = """
    CREATE TABLE IF NOT EXISTS {table} (
        id uuid PRIMARY KEY,
        seq bigint NOT NULL,
        time timestamptz NOT NULL,
        event_type text NOT NULL,
        outcome text NOT NULL,
        agent text NOT NULL,
        server text,
        tool text,
        trace_id text NOT NULL,
        record json NOT NULL
    )
"""
_INDEXES = ("trace_id", "time")


class _Actor(msgspec.Struct):
    id: str


class _Target(msgspec.Struct):
    server_id: str | None = None
    tool_name: str | None = None


class _Record(msgspec.Struct):
    id: str
    seq: int
    time: datetime
    event_type: str
    outcome: str
    actor: _Actor
    trace_id: str
    target: _Target = msgspec.field(default_factory=_Target)


class PostgresSink:
    """Inserts into one table."""

    def __init__(
        self,
        dsn: str,
        table: str,
        put: Callable[[bytes], bytes] = lambda line: line,
        expiry: Expiry = FOREVER,
    ) -> None:
        """`table` is a plain name, as the settings check it. `put` changes a line into the form that the
        column `record` has. What `expiry` says goes, goes with the next delivery."""
        self._expiry = expiry
        self._put = put
        self._dsn = dsn
        self._table = ".".join(f'"{part}"' for part in table.split("."))
        self._name = table.replace(".", "_")
        self._connection: Any = None

    async def deliver(self, lines: Sequence[bytes]) -> None:
        """All rows or none. Raises `SinkFailed`, `OSError`."""
        driver = _driver()
        rows = [(*_row(line), self._put(line).decode().rstrip("\n")) for line in lines]
        places = ", ".join(f"${number}" for number in range(1, len(_COLUMNS.split(",")) + 1))
        insert = (
            f"INSERT INTO {self._table} ({_COLUMNS}) VALUES ({places}) "  # noqa: S608 - a checked name
            "ON CONFLICT (id) DO NOTHING"
        )
        try:
            if self._connection is None or self._connection.is_closed():
                await self._connect(driver)
            await self._connection.executemany(insert, rows, timeout=_PATIENCE_S)
            await self._expire()
        except (driver.PostgresError, driver.InterfaceError, TimeoutError) as problem:
            await self.close()  # the next try begins with a fresh connection
            what = str(problem).partition("\n")[0] or "PostgreSQL did not answer in time"
            raise SinkFailed(what) from problem

    async def _expire(self) -> None:
        before = self._expiry.due()
        if not before:
            return
        old = f"SELECT id FROM {self._table} WHERE time < $1 ORDER BY time LIMIT {AT_ONCE}"  # noqa: S608 - a checked name
        delete = f"DELETE FROM {self._table} WHERE id IN ({old})"  # noqa: S608 - the same
        moment = datetime.fromisoformat(before)
        if (
            await self._connection.execute(delete, moment, timeout=_PATIENCE_S)
            == f"DELETE {AT_ONCE}"
        ):
            self._expiry.again()

    async def close(self) -> None:
        """Let go of what is open."""
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None

    async def _connect(self, driver: ModuleType) -> None:
        self._connection = await driver.connect(self._dsn, timeout=_PATIENCE_S)
        await self._connection.execute(_TABLE.format(table=self._table))
        for column in _INDEXES:
            await self._connection.execute(
                f'CREATE INDEX IF NOT EXISTS "{self._name}_by_{column}" ON {self._table} ({column})'
            )


def _driver() -> ModuleType:
    try:
        import asyncpg  # type: ignore[import-untyped]  # noqa: PLC0415 - only who has this sink needs it
    except ImportError:
        raise SinkFailed("install it with PostgreSQL: pip install 'gatewright[postgres]'") from None
    return asyncpg  # type: ignore[no-any-return]


def _row(line: bytes) -> tuple[Any, ...]:
    record = msgspec.json.decode(line, type=_Record)
    words = (
        record.event_type,
        record.outcome,
        record.actor.id,
        record.target.server_id,
        record.target.tool_name,
        record.trace_id,
    )
    # PostgreSQL has no NUL in `text`: one in a caller's name would fail the batch at every try.
    clean = (None if word is None else word.replace("\x00", "\ufffd") for word in words)
    return (record.id, record.seq, record.time, *clean)
