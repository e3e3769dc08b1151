"""Verifying for whoever asks."""

from __future__ import annotations

import asyncio
from pathlib import Path

from gatewright.audit.rows import DATABASE
from gatewright.console.audit_verifying import Verifying
from gatewright.storage.sqlite import Database
from tests.audit.parts import fill


async def _ended(verifying: Verifying, done: asyncio.Event) -> None:
    async with asyncio.timeout(30):
        await done.wait()
    assert verifying.now.state != "running"


async def test_one_runs_at_a_time_and_says_how_far_it_is(tmp_path: Path) -> None:
    await fill(tmp_path, 4000)
    done = asyncio.Event()
    verifying = Verifying(tmp_path, lambda: 5.0, done.set)
    assert verifying.now.state == "never"
    first = verifying.begin("ann", 4000)
    assert (first.state, first.of, verifying.begin("bob", 1).by) == ("running", 4000, "ann")
    await _ended(verifying, done)
    found = verifying.now
    assert (found.state, found.record, found.records, found.by, found.at) == (
        "whole",
        4000,
        4000,
        "ann",
        5.0,
    )
    assert len(found.hash) == 64


async def test_a_damaged_trail_is_named_by_its_first_wrong_place(tmp_path: Path) -> None:
    await fill(tmp_path, 20)
    database = Database.open_to_hold(tmp_path / DATABASE)
    database.execute("UPDATE records SET record = replace(record, 'ann', 'bob') WHERE seq = 3")
    database.close()
    done = asyncio.Event()
    verifying = Verifying(tmp_path, lambda: 5.0, done.set)
    verifying.begin("ann", 20)
    await _ended(verifying, done)
    assert verifying.now.state == "damaged"
    assert "record 3" in verifying.now.problem


async def test_no_trail_at_all_is_said_too(tmp_path: Path) -> None:
    done = asyncio.Event()
    verifying = Verifying(tmp_path, lambda: 5.0, done.set)
    verifying.begin("ann", 0)
    await _ended(verifying, done)
    assert verifying.now.state == "unreadable"
