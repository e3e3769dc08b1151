from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gatewright.audit.expiry import AT_ONCE, Expiry
from gatewright.audit.sinks.follow import SinkFailed
from gatewright.audit.sinks.sqlite import SqliteSink
from tests.audit.parts import Clock

START = 1_790_000_000.0


def line(number: int) -> bytes:
    found = {"id": f"r{number}", "time": "2024", "event_type": "TOOL_EXECUTED", "trace_id": "t"}
    return json.dumps(found).encode()


def at(number: int, time: str) -> bytes:
    return line(number).replace(b'"2024"', f'"{time}"'.encode())


def rows(path: Path) -> list[Any]:
    with closing(sqlite3.connect(path)) as database:
        return database.execute("SELECT id, record FROM gatewright_audit ORDER BY id").fetchall()


async def test_each_record_is_one_row_however_often_it_comes(tmp_path: Path) -> None:
    """GRH-cfg-12."""
    path = tmp_path / "audit.db"
    sink = SqliteSink(path, lambda given: b"event " + given[:9] + b"\n")
    await sink.deliver([line(1), line(2)])
    await sink.deliver([line(2), line(3)])
    await sink.close()
    assert rows(path) == [(f"r{number}", 'event {"id": "r') for number in (1, 2, 3)]
    assert path.stat().st_mode & 0o777 == 0o600
    again = SqliteSink(path, lambda given: given)
    await again.deliver([line(4)])
    await again.close()
    assert len(rows(path)) == 4


async def test_rows_that_are_too_old_go_with_what_arrives(tmp_path: Path) -> None:
    """GRH-cfg-10: those of the next hours wait until it is looked for again, and a huge number of them goes in pieces."""
    path, clock = tmp_path / "audit.db", Clock(START)
    sink = SqliteSink(path, lambda given: b"{}", Expiry(90, clock))
    await sink.deliver([at(1, "2020-01-01T00:00:00.000Z"), at(2, "2030-01-01T00:00:00.000Z")])
    assert [ident for ident, _ in rows(path)] == ["r2"]
    await sink.deliver([at(3, "2020-01-01T00:00:00.000Z")])
    assert [ident for ident, _ in rows(path)] == ["r2", "r3"]
    clock.now += 6 * 3600
    many = range(10, 10 + AT_ONCE)
    await sink.deliver([at(number, "2020-01-01T00:00:00.000Z") for number in many])
    assert len(rows(path)) == 2
    await sink.deliver([])
    assert [ident for ident, _ in rows(path)] == ["r2"]
    await sink.close()


async def test_a_file_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    path = tmp_path / "audit.db"
    path.write_bytes(b"this is no database at all" * 100)
    sink = SqliteSink(path, lambda given: given)
    with pytest.raises(SinkFailed, match=r"audit\.db"):
        await sink.deliver([line(1)])
    await sink.close()


async def test_no_database_is_made_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "audit.db").symlink_to("elsewhere.db")
    sink = SqliteSink(tmp_path / "audit.db", lambda given: given)
    with pytest.raises(SinkFailed, match="is a link"):
        await sink.deliver([line(1)])
    assert not (tmp_path / "elsewhere.db").exists()
