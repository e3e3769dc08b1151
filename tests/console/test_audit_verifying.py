"""Verifying for whoever asks: one at a time, and not again at once."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from gatewright.audit.reader import AuditReader
from gatewright.audit.rows import DATABASE
from gatewright.audit.verification import Verification
from gatewright.console.audit_verifying import REST_S, Verifying
from gatewright.storage.sqlite import Database
from tests.audit.parts import fill


class Rig:
    """A verification of a folder, which a test lets go on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.now = 5.0
        self.proofs = 0
        self.go_on = asyncio.Event()
        self.ended = asyncio.Event()
        self.verifying = Verifying(self._prove, lambda: self.now, self.ended.set)

    async def _prove(self) -> Verification:
        self.proofs += 1
        await self.go_on.wait()
        return AuditReader(self.folder).verify()

    async def end(self) -> None:
        self.go_on.set()
        async with asyncio.timeout(30):
            await self.ended.wait()
        self.ended.clear()
        assert self.verifying.now.state != "running"


async def test_one_runs_at_a_time(tmp_path: Path) -> None:
    await fill(tmp_path, 40)
    rig = Rig(tmp_path)
    assert (rig.verifying.now.state, rig.verifying.last) == ("never", None)
    first = rig.verifying.begin("ann")
    assert (first.state, rig.verifying.begin("bob").by) == ("running", "ann")
    await rig.end()
    found = rig.verifying.now
    said = (found.state, found.record, found.records, found.by, found.at, rig.proofs)
    assert said == ("whole", 40, 40, "ann", 5.0, 1)
    assert len(found.hash) == 64


async def test_another_begins_after_a_minute_and_the_last_is_known_meanwhile(
    tmp_path: Path,
) -> None:
    await fill(tmp_path, 4)
    rig = Rig(tmp_path)
    rig.verifying.begin("ann")
    await rig.end()
    for _ in range(3):
        assert rig.verifying.begin("bob").by == "ann"
    rig.now += REST_S - 1
    assert (rig.verifying.begin("bob").state, rig.proofs) == ("whole", 1)
    rig.now += 1
    assert rig.verifying.begin("bob").state == "running"
    assert rig.verifying.last is not None
    assert rig.verifying.last.by == "ann"
    await rig.end()
    assert (rig.verifying.last.by, rig.proofs) == ("bob", 2)


async def test_a_damaged_trail_is_named_by_its_first_wrong_place(tmp_path: Path) -> None:
    await fill(tmp_path, 20)
    database = Database.open_to_hold(tmp_path / DATABASE)
    database.execute("UPDATE records SET record = replace(record, 'ann', 'bob') WHERE seq = 3")
    database.close()
    rig = Rig(tmp_path)
    rig.verifying.begin("ann")
    await rig.end()
    assert rig.verifying.now.state == "damaged"
    assert "record 3" in rig.verifying.now.problem


async def test_no_trail_at_all_is_said_too(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.verifying.begin("ann")
    await rig.end()
    assert rig.verifying.now.state == "unreadable"


async def test_what_breaks_is_an_end_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: AuditReader) -> Verification:
        raise OSError("a test")

    monkeypatch.setattr(AuditReader, "verify", broken)
    rig = Rig(tmp_path)
    rig.verifying.begin("ann")
    await rig.end()
    assert rig.verifying.now.state == "unreadable"
