"""What is said of the record in the state when a gateway ends: only what is sure, only in that very file, and then it is closed."""

from __future__ import annotations

import errno
import os
import shutil
import time
from collections.abc import Callable
from contextlib import closing, nullcontext
from pathlib import Path

import pytest

from gatewright.audit import journal
from gatewright.audit.anchoring import Anchoring, anchoring_of, open_checked_state
from gatewright.audit.anchors import Heads
from gatewright.audit.trail import AuditLog
from gatewright.audit.trail_position import noted
from gatewright.call import Unrecorded
from gatewright.identity.keys import KeyStore
from gatewright.storage.lock import FolderLock
from gatewright.storage.sqlite import SQLITE, DatabaseError
from gatewright.storage.state import StateDatabase
from tests.audit.test_anchoring import ended, record, state
from tests.storage.parts import state_in

__all__ = ["state"]

Parts = tuple[AuditLog, Anchoring, StateDatabase]


@pytest.fixture
async def parts(state: Path) -> Parts:
    """A gateway that runs."""
    database = open_checked_state(state)
    log = record(state)
    return log, await anchoring_of(state, log, database), database


def _keys(database: StateDatabase) -> KeyStore:
    return KeyStore(database, clock=time.time, random=os.urandom)


def _fails(*_: object) -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def test_a_change_whose_record_is_not_known_to_be_on_the_disk_stays_for_the_next_gateway(
    state: Path, parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A power cut would leave a revocation in neither of the two."""
    log, anchoring, database = parts
    before = log.synced
    with monkeypatch.context() as broken:
        broken.setattr(journal, "_to_disk", _fails)
        callers = _keys(database)
        callers.revoke(callers.keys()[0].id, by="root")
        log.event("dev.example.revoked")
        waiting = [one.number for one in callers.changes()]
        callers.recorded(waiting[-1])
        assert callers.changes() == []
        anchoring.close()
        with pytest.raises(Unrecorded):
            log.finish()
    assert log.synced == before
    with closing(state_in(state)) as other:
        assert [one.number for one in _keys(other).changes()] == waiting
        assert noted(other.engine) == before


@pytest.mark.parametrize("broken", ["found", "close", "place"])
def test_the_state_is_closed_before_the_folder_is_given_back_whatever_fails(
    parts: Parts, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    """The last look, letting go of the files, and the question which file is there at the end."""
    log, anchoring, database = parts
    open_at_the_end: list[bool] = []
    give_back: Callable[[FolderLock], None] = FolderLock.release

    def watched(lock: FolderLock) -> None:
        open_at_the_end.append(_is_open(database))
        give_back(lock)

    monkeypatch.setattr(FolderLock, "release", watched)
    log.event("dev.example.last")
    if broken == "place":
        anchoring.close()
        monkeypatch.setattr(type(SQLITE), "place", _fails)
    else:
        monkeypatch.setattr(Heads, broken, _fails)
        with pytest.raises(OSError, match="error") if broken == "close" else nullcontext():
            anchoring.close()
    log.finish()
    assert open_at_the_end == [False]
    monkeypatch.undo()
    anchoring._heads.close()


def _is_open(database: StateDatabase) -> bool:
    try:
        database.heads()
    except DatabaseError:
        return False
    return True


def test_nothing_is_written_where_another_file_stands_in_its_place(
    state: Path, parts: Parts
) -> None:
    """A copy is put back after the last look: what goes into the log of the former file would be taken for the copy's."""
    log, anchoring, _ = parts
    file, wal = state / "state.db", state / "state.db-wal"
    log.event("dev.example.last")
    anchoring.close()
    shutil.copyfile(file, state / "copy")
    (state / "copy").replace(file)
    before = file.read_bytes(), wal.read_bytes()
    log.finish()
    assert (file.read_bytes(), wal.read_bytes()) == before


def test_how_far_the_record_has_come_is_in_the_state_once_it_is_closed(
    state: Path, parts: Parts
) -> None:
    log, anchoring, database = parts
    log.event("dev.example.last")
    ended(log, anchoring)
    assert not _is_open(database)
    with closing(state_in(state)) as other:
        assert noted(other.engine) == log.synced
    assert log.synced.seq == log.written
