"""A record that was put back, or is gone, is missed by any store that is left as it was."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest

from gatewright.compose.anchoring import Anchoring, anchoring_of, wrong_in
from gatewright.stores.anchors import STORES, anchors_of, bereft
from gatewright.stores.audit import AuditLog
from gatewright.stores.database import Database
from gatewright.stores.errors import StoreDamagedError
from gatewright.stores.lock import FolderLock
from gatewright.stores.recorded import noted, outrun
from gatewright.stores.segments import Head
from tests.compose.test_anchoring import _grant, _record, anchoring_of_after_accepting, state
from tests.stores.parts import fill

__all__ = ["state"]

RECORD = ("audit.head", "audit-000001.jsonl", "audit.db", "audit.running")
NOTING = [name for name in STORES if name.endswith(".db")]


def _put_back(state: Path, names: Iterable[str]) -> None:
    """These files are what they were earlier, or not there if they were not."""
    for name in names:
        for suffix in ("", "-wal", "-shm"):
            (state / f"{name}{suffix}").unlink(missing_ok=True)
            early = state.parent / "early" / f"{name}{suffix}"
            if early.exists():
                shutil.copyfile(early, state / f"{name}{suffix}")


@pytest.mark.parametrize("kept", [*NOTING, "all"])
async def test_a_record_that_is_put_back_is_missed_by_any_store_that_is_not(
    state: Path, kept: str
) -> None:
    names = (*RECORD, *(name for name in STORES if kept not in {name, "all"}))
    _put_back(state, names)
    with pytest.raises(StoreDamagedError, match=r"the record is an older copy.*audit accept"):
        await anchoring_of(state, _record(state))
    await anchoring_of_after_accepting(state)


async def test_a_whole_folder_that_is_put_back_is_one_that_nobody_can_tell(state: Path) -> None:
    """As the documentation says."""
    _put_back(state, (*RECORD, *STORES))
    log = _record(state)
    (await anchoring_of(state, log)).close()
    log.finish()
    assert wrong_in(state) == []
    assert set(anchors_of(state)) == set(STORES)


async def test_another_record_of_the_same_length_is_missed(state: Path) -> None:
    """One that was put back, and went on."""
    _put_back(state, RECORD)
    log = AuditLog(state, clock=time.time, monotonic=time.monotonic, random=os.urandom)
    while log.written < 40:
        log.event("dev.example.other")
    log.finish()
    assert len(wrong_in(state)) == 1
    with pytest.raises(StoreDamagedError, match="or another one"):
        await anchoring_of(state, _record(state))


def test_no_store_knows_more_of_the_record_than_is_on_the_disk(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A power cut takes from the record what was not flushed, and must not look like a record that was put back."""
    log = _record(state)
    anchoring = Anchoring(state, log)
    before = log.synced
    monkeypatch.setattr(log._journal, "synced", before)
    monkeypatch.setattr(log._flusher, "_flush", lambda *_: None)
    places = []
    for number in range(3, 6):
        _grant(state, number)
        anchoring.look()
        places.append(anchoring._heads.places()["grants.db"].seq)
    assert places == [places[0]] * 3
    assert places[0] <= before.seq < log.written
    monkeypatch.undo()
    log._journal.sync()
    anchoring.look()
    assert anchoring._heads.places()["grants.db"] == log.synced
    anchoring.close()
    log.finish()


def test_a_store_that_is_written_just_now_hears_later(state: Path) -> None:
    log = _record(state)
    anchoring = Anchoring(state, log)
    _grant(state, 7)
    anchoring.look()
    log._journal.sync()
    with closing(sqlite3.connect(state / "grants.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        anchoring.look()
        assert anchoring._heads.places()["grants.db"] != log.synced
        other.execute("ROLLBACK")
    anchoring.look()
    assert anchoring._heads.places()["grants.db"] == log.synced
    anchoring.close()
    log.finish()


async def test_a_record_whose_beginning_went_as_retention_wants_is_no_older_one(
    tmp_path: Path,
) -> None:
    state = tmp_path / "state"
    (tmp_path / "mgp.toml").write_text(f'[storage]\npath = "{state}"\n')
    log = _record(state)
    anchoring = Anchoring(state, log)
    _grant(state, 1)
    anchoring.close()
    log.finish()
    for _ in range(2):
        await fill(state, 40, segment_bytes=4_000)
    assert not (state / "audit-000001.jsonl").exists()
    assert wrong_in(state) == []
    for path in state.glob("audit-*.jsonl"):
        path.unlink()
    (state / "audit-000001.jsonl").write_bytes(b"")
    assert len(outrun(state, {"grants.db": _place(state)})) == 1


def _place(state: Path) -> Head:
    with closing(Database.open_to_look(state / "grants.db")) as database:
        place = noted(database)
    assert place is not None
    return place


def test_a_first_start_that_died_early_leaves_a_folder_that_opens(tmp_path: Path) -> None:
    """It has a lock file, and perhaps a record in which nothing stands."""
    state = tmp_path / "state"
    (tmp_path / "mgp.toml").write_text(f'[storage]\npath = "{state}"\n')
    FolderLock(state).release()
    assert bereft(state) == ""
    AuditLog(state, clock=time.time, monotonic=time.monotonic, random=os.urandom).finish()
    for name in RECORD:
        (state / name).unlink(missing_ok=True)
    assert bereft(state) == ""
    log = _record(state)
    log.event("dev.example.first")
    log.finish()
    for name in RECORD:
        (state / name).unlink(missing_ok=True)
    assert bereft(state) == "a gateway has run here"


@pytest.mark.parametrize("left", STORES)
def test_a_record_that_is_gone_is_missed_by_each_store_that_is_left(state: Path, left: str) -> None:
    for path in list(state.iterdir()):
        if path.name != left:
            path.unlink()
    assert left in bereft(state)
    with pytest.raises(StoreDamagedError, match=r"is gone, though .*audit accept"):
        _record(state)
