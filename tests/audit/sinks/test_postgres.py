"""Records in a real PostgreSQL, in a database of the test's own. It wants a server that lets the test make
one: that of `PGHOST`, `PGUSER` …, or `postgres` at 127.0.0.1."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import Any

import asyncpg  # type: ignore[import-untyped]
import msgspec
import pytest

from gatewright.audit.chain import GENESIS, seal
from gatewright.audit.expiry import Expiry
from gatewright.audit.formats import writer
from gatewright.audit.sinks.follow import SinkFailed
from gatewright.audit.sinks.postgres import PostgresSink
from tests.audit.parts import Clock, body, until
from tests.audit.sinks.parts import Trail, lines

HOST = os.environ.get("PGHOST", "127.0.0.1")
USER = os.environ.get("PGUSER", "postgres")


class Server:
    """A database that can be shut and opened again."""

    def __init__(self, admin: Any, name: str) -> None:
        self._admin = admin
        self.name = name
        self.dsn = f"postgresql://{USER}@{HOST}/{name}"

    async def open(self, yes: bool) -> None:
        """Let connections in or not; those that there are end."""
        await self._admin.execute(f"ALTER DATABASE {self.name} ALLOW_CONNECTIONS {yes}")
        await self._admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", self.name
        )

    async def rows(self, sql: str) -> list[Any]:
        """What a query finds."""
        connection = await asyncpg.connect(self.dsn)
        try:
            return [tuple(row) for row in await connection.fetch(sql)]
        finally:
            await connection.close()


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    """A new database."""
    admin = await asyncpg.connect(host=HOST, user=USER, database="postgres")
    name = f"gatewright_test_{secrets.token_hex(6)}"
    await admin.execute(f"CREATE DATABASE {name}")
    try:
        yield Server(admin, name)
    finally:
        await admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
        await admin.close()


async def test_a_record_is_a_row_with_its_text_as_it_is(server: Server) -> None:
    sink = PostgresSink(server.dsn, "gatewright_audit")
    await sink.deliver(lines(1, 3))
    await sink.close()
    found = await server.rows(
        "SELECT seq, event_type, outcome, agent, server, tool, trace_id, record::text "
        "FROM gatewright_audit ORDER BY seq"
    )
    assert found == [
        (seq, "TOOL_EXECUTED", "success", "ann", "files", "write_file", f"trace-{seq}", line)
        for seq, line in enumerate((each.decode() for each in lines(1, 3)), 1)
    ]


async def test_a_record_that_comes_twice_is_one_row(server: Server) -> None:
    sink = PostgresSink(server.dsn, "gatewright_audit")
    await sink.deliver(lines(1, 10))
    await sink.deliver(lines(6, 15))
    await sink.close()
    assert await server.rows("SELECT count(*), max(seq) FROM gatewright_audit") == [(15, 15)]


async def test_rows_that_are_too_old_go_with_what_arrives(server: Server) -> None:
    """GRH-cfg-10: at the age that was configured, and a younger row stays."""
    three = lines(1, 3, apart_s=86_400.0)
    last = datetime.fromisoformat(msgspec.json.decode(three[2])["time"]).timestamp()
    clock = Clock(last + 90 * 86_400)
    sink = PostgresSink(server.dsn, "gatewright_audit", expiry=Expiry(90, clock))
    await sink.deliver(three)
    assert await server.rows("SELECT seq FROM gatewright_audit") == [(3,)]
    await sink.deliver(three[:2])
    assert await server.rows("SELECT count(*) FROM gatewright_audit") == [(3,)]
    clock.now += 6 * 3600
    await sink.deliver(three[1:2])
    await sink.close()
    assert await server.rows("SELECT seq FROM gatewright_audit") == []


async def test_text_that_a_database_does_not_take_stops_nothing(server: Server) -> None:
    name = "01998000-0000-7000-a000-000000000001"
    line = seal(1, [body(1, id=name, trace_id="a\x00b", details={"x": "😀\x00"})], GENESIS)
    sink = PostgresSink(server.dsn, "gatewright_audit")
    await sink.deliver([line[0].rstrip()])
    await sink.close()
    found = await server.rows("SELECT trace_id FROM gatewright_audit")
    assert found == [("a\ufffdb",)]


async def test_a_database_that_was_away_gets_everything(server: Server, tmp_path: Path) -> None:
    """Shut in the middle, opened again: every record is there once."""
    sink = PostgresSink(server.dsn, "gatewright_audit")
    async with Trail(tmp_path / "state", postgres=sink) as trail:
        trail.write(600)
        await trail.drained()
        await server.open(False)
        trail.write(900)
        await until(lambda: trail.sinks.states()["postgres"].problem is not None)
        await server.open(True)
        await trail.drained()
    found = await server.rows("SELECT seq, record::text FROM gatewright_audit ORDER BY seq")
    assert [seq for seq, _ in found] == list(range(1, 1_501))
    assert msgspec.json.decode(found[-1][1])["details"] == {"number": 1_500}


async def test_an_outage_under_a_hundred_thousand_events_loses_none_and_costs_no_memory(
    server: Server, tmp_path: Path
) -> None:
    """Fault test 5: what is recorded meanwhile is on the disk and not in memory, and follows in order within 30 s."""
    sink = PostgresSink(server.dsn, "gatewright_audit")
    async with Trail(tmp_path / "state", postgres=sink) as trail:
        trail.write(1_000)
        await trail.drained()
        await server.open(False)
        before = _resident_mib()
        for _ in range(99):
            trail.write(1_000)
            await asyncio.sleep(0)
        await until(lambda: trail.sinks.states()["postgres"].problem is not None)
        assert _resident_mib() - before <= 64
        await server.open(True)
        async with asyncio.timeout(30):
            while trail.positions.taken() < 100_000:
                await asyncio.sleep(0.05)
        assert _resident_mib() - before <= 64
    found = await server.rows("SELECT seq FROM gatewright_audit ORDER BY ctid")
    assert [seq for (seq,) in found] == list(range(1, 100_001))


def _resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE") / 2**20


async def test_a_wrong_address_is_a_failure_without_the_password(server: Server) -> None:
    sink = PostgresSink(f"postgresql://{USER}:hunter2@{HOST}/no_such_database", "t")
    with pytest.raises(SinkFailed) as caught:
        await sink.deliver(lines(1, 1))
    assert "no_such_database" in str(caught.value)
    assert "hunter2" not in str(caught.value)


async def test_a_row_can_have_another_form_of_the_record(server: Server) -> None:
    """GRH-cfg-12: Groundhog's events in a database of theirs."""
    sink = PostgresSink(server.dsn, "gatewright_audit", writer("groundhog", "test"))
    await sink.deliver(lines(1, 2))
    await sink.close()
    found = await server.rows("SELECT trace_id, record::text FROM gatewright_audit ORDER BY seq")
    events = [(trace, msgspec.json.decode(text)) for trace, text in found]
    assert events
    for trace, event in events:
        assert event["correlation_id"] == trace
        assert {"timestamp", "event_type", "source", "risk_level"} < set(event)
