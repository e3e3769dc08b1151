"""A record that was put back, or is gone, is missed by a state that is left as it was."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest

from gatewright.audit.anchoring import wrong_in
from gatewright.audit.anchors import STORES, anchors_of, lost_trail
from gatewright.audit.segments import Head
from gatewright.audit.trail import AuditLog
from gatewright.audit.trail_position import noted, outrun
from gatewright.storage.errors import StoreDamagedError
from gatewright.storage.lock import FolderLock
from gatewright.storage.sqlite import SQLITE
from tests.audit.parts import fill
from tests.audit.test_anchoring import (
    _starts_after_accepting,
    change,
    ended,
    record,
    started,
    state,
    used,
    watched,
)
from tests.storage.parts import state_in

__all__ = ["state"]

RECORD = ("audit.head", "audit-000001.jsonl", "audit.db", "audit.running")


def _put_back(state: Path, names: Iterable[str]) -> None:
    """These files are what they were earlier, or not there if they were not."""
    for name in names:
        for suffix in ("", "-wal", "-shm"):
            (state / f"{name}{suffix}").unlink(missing_ok=True)
            early = state.parent / "early" / f"{name}{suffix}"
            if early.exists():
                shutil.copyfile(early, state / f"{name}{suffix}")


async def test_a_record_that_is_put_back_is_missed_by_a_state_that_is_not(state: Path) -> None:
    _put_back(state, RECORD)
    with pytest.raises(StoreDamagedError, match=r"the record is an older copy.*audit accept"):
        await started(state)
    await _starts_after_accepting(state)


async def test_a_whole_folder_that_is_put_back_is_one_that_nobody_can_tell(state: Path) -> None:
    """As the documentation says."""
    _put_back(state, (*RECORD, "state.db"))
    ended(*await started(state))
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
        await started(state)


def test_the_state_knows_no_more_of_the_record_than_is_on_the_disk(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A power cut takes from the record what was not flushed, and must not look like a record that was put back."""
    log = record(state)
    anchoring = watched(state, log)
    before = log.synced
    monkeypatch.setattr(log._journal, "synced", before)
    monkeypatch.setattr(log._flusher, "_flush", lambda *_: None)
    places = []
    for number in range(3, 6):
        change(state, number, ["grants"])
        anchoring.look()
        places.append(_place(state).seq)
    assert places == [places[0]] * 3
    assert places[0] <= before.seq < log.written
    monkeypatch.undo()
    log._journal.sync()
    anchoring.look()
    assert _place(state) == log.synced
    ended(log, anchoring)


def test_a_state_that_is_written_just_now_hears_later(state: Path) -> None:
    log = record(state)
    anchoring = watched(state, log)
    change(state, 7, ["grants"])
    anchoring.look()
    log._journal.sync()
    with closing(state_in(state)) as other, other.engine.transaction():
        anchoring.look()
        assert _place(state) != log.synced
    anchoring.look()
    assert _place(state) == log.synced
    ended(log, anchoring)


async def test_a_record_whose_beginning_went_as_retention_wants_is_no_older_one(
    tmp_path: Path,
) -> None:
    state = used(tmp_path / "state", ["grants"])
    for _ in range(2):
        await fill(state, 40, segment_bytes=4_000)
    assert not (state / "audit-000001.jsonl").exists()
    assert wrong_in(state) == []
    for path in state.glob("audit-*.jsonl"):
        path.unlink()
    (state / "audit-000001.jsonl").write_bytes(b"")
    assert len(outrun(state, "state.db", _place(state))) == 1


def _place(state: Path) -> Head:
    with closing(SQLITE.look(state)) as engine:
        place = noted(engine)
    assert place is not None
    return place


def test_a_first_start_that_died_early_leaves_a_folder_that_opens(tmp_path: Path) -> None:
    """It has a lock file, and perhaps a record in which nothing stands."""
    state = tmp_path / "state"
    (tmp_path / "mgp.toml").write_text(f'[storage]\npath = "{state}"\n')
    FolderLock(state).release()
    assert lost_trail(state) == ""
    AuditLog(state, clock=time.time, monotonic=time.monotonic, random=os.urandom).finish()
    for name in RECORD:
        (state / name).unlink(missing_ok=True)
    assert lost_trail(state) == ""
    log = record(state)
    log.event("dev.example.first")
    log.finish()
    for name in RECORD:
        (state / name).unlink(missing_ok=True)
    assert lost_trail(state) == "a gateway has run here"


def test_a_record_that_is_gone_is_missed_by_the_state_that_is_left(state: Path) -> None:
    for path in list(state.iterdir()):
        if path.name != "state.db":
            path.unlink()
    assert "state.db" in lost_trail(state)
    with pytest.raises(StoreDamagedError, match=r"is gone, though .*audit accept"):
        record(state)
