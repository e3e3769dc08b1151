"""How long records are kept where a configuration says so: by the gateway's record, and by the database of a sink."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gatewright.audit.anchoring import open_trail
from gatewright.audit.retention import PRUNED
from gatewright.audit.sink_builder import positions_of, sinks_of
from gatewright.config import Settings, load
from tests.audit.parts import Clock, a_call, a_log, fill, records, run, until
from tests.storage.parts import state_in

DAY_S = 86_400.0
SINK = '[mcp.protocol.audit.sinks]\ndatabase_sink = true\ndatabase_url = "sqlite:///sink.db"\n'
WAYS = pytest.mark.parametrize(
    ("text", "days"),
    [
        ("", 90),
        ("[audit]\nretention_days = 7\n", 7),
        ("[mcp.protocol.audit]\nretention_days = 30\n", 30),
        ("[audit]\nretention_days = 7\n[mcp.protocol.audit]\nretention_days = 30\n", 7),
    ],
)


def configured(folder: Path, text: str) -> Settings:
    """The settings of a file of this text, with a folder for the state."""
    path = folder / "mgp.toml"
    path.write_text(f'[storage]\npath = "{folder / "state"}"\n{text}')
    settings = load(path, environ={"HOME": str(folder)})
    settings.storage.path.mkdir()
    return settings


def nobody(server: str, events: Sequence[dict[str, Any]]) -> bool:
    """No audit server is there."""
    return False


@WAYS
async def test_the_record_keeps_what_the_configuration_says(
    tmp_path: Path, text: str, days: int
) -> None:
    """GRH-cfg-10: what is a day older is purged, what is a day younger is kept."""
    settings, now = configured(tmp_path, text), time.time()
    state = settings.storage.path
    await fill(state, 10, clock=Clock(now - (days + 1) * DAY_S))
    await fill(state, 10, clock=Clock(now - (days - 1) * DAY_S))
    database = state_in(state)
    log = open_trail(settings, database, os.urandom, taken=lambda: 1 << 60)
    database.close()
    await until(lambda: records(state)[0]["seq"] > 1)
    await log.close()
    assert [one["seq"] for one in records(state)][:10] == list(range(11, 21))
    (said,) = records(state, event_type=PRUNED)
    assert said["details"]["retention_days"] == days


@WAYS
async def test_the_database_of_a_sink_keeps_what_the_configuration_says(
    tmp_path: Path, text: str, days: int
) -> None:
    """GRH-cfg-10, GRH-cfg-12, C-37: its rows are those of the record, and none is older."""
    settings = configured(tmp_path, text + SINK)
    state, clock = settings.storage.path, Clock()
    positions = positions_of(settings)

    async def delivered(number: int) -> list[str]:
        log = a_log(state, clock=clock, random=os.urandom)
        run(log, a_call(number))
        sinks = sinks_of(settings, positions, nobody, clock)
        sinks.start()
        await until(lambda: positions.taken() == 2 * number)
        await sinks.close()
        await log.close()
        with closing(sqlite3.connect(state / "sink.db")) as database:
            found = database.execute(
                "SELECT DISTINCT time FROM gatewright_audit ORDER BY time"
            ).fetchall()
        return [moment for (moment,) in found]

    (first,) = await delivered(1)
    clock.now += (days - 1) * DAY_S
    both = await delivered(2)
    assert (both[0], len(both)) == (first, 2)
    clock.now += 2 * DAY_S
    last = await delivered(3)
    assert (last[0], len(last)) == (both[1], 2)
