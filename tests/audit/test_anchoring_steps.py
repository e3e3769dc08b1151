"""What an older copy of the state cannot do: catch up with its record by steps of its own; and what a loss of the rows of the record, or
a moment in which nothing can be read, does not do."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from gatewright.audit.anchoring import Anchoring, anchoring_of, open_checked_state, wrong_in
from gatewright.audit.trail import AuditLog
from gatewright.identity.keys import KeyStore
from gatewright.storage.errors import StoreDamagedError
from gatewright.storage.sqlite import SQLITE
from tests.audit.test_anchoring import (
    _starts_after_accepting,
    change,
    ended,
    record,
    running,
    state,
)
from tests.storage.former_folders import ALL, former_folder
from tests.storage.parts import NO_DATABASE, state_in

__all__ = ["running", "state"]

Running = tuple[AuditLog, Anchoring]


def put_back(state: Path) -> None:
    """An older copy, into the very file that is open, as `.restore` of sqlite3 does it."""
    with (
        closing(sqlite3.connect(state.parent / "early" / "state.db")) as source,
        closing(sqlite3.connect(state / "state.db")) as target,
    ):
        source.backup(target)


@pytest.mark.parametrize("noticed", [True, False])
def test_steps_that_are_taken_anew_upon_an_older_copy_do_not_make_it_the_right_one(
    state: Path, running: Running, noticed: bool
) -> None:
    """The gateway takes some by itself: it pins what servers list."""
    log, anchoring = running
    put_back(state)
    if noticed:
        anchoring.look()
        assert log.fault
    for number in (3, 4):
        change(state, number)
    for _ in range(2):
        anchoring.look()
        assert log.fault


def test_a_state_that_could_not_be_read_for_a_moment_is_read_again(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As without a free file descriptor."""
    log, anchoring = running
    anchoring._heads.close()

    def fails(*_: object) -> None:
        raise OSError(24, "too many open files")

    with monkeypatch.context() as broken:
        broken.setattr(type(SQLITE), "look", fails)
        anchoring.look()
        assert log.fault
    anchoring.look()
    assert not log.fault


def lose(folder: Path, *names: str) -> None:
    """These files, with their logs."""
    for name in names:
        for path in folder.glob(f"{name}*"):
            path.unlink()


async def test_a_state_that_is_lost_with_the_rows_of_the_record_is_not_made_anew(
    state: Path,
) -> None:
    """The journal knows what the rows knew."""
    lose(state, "state.db", "audit.db")
    with pytest.raises(StoreDamagedError, match=r"state\.db is gone: the record knows 2 changes"):
        open_checked_state(state)
    await _starts_after_accepting(state)


def test_a_journal_without_rows_that_begins_late_vouches_for_no_state(state: Path) -> None:
    lose(state, "state.db", "audit.db")
    lines = (state / "audit-000001.jsonl").read_bytes().splitlines(keepends=True)
    (state / "audit-000001.jsonl").write_bytes(b'{"seq":9}\n')
    with pytest.raises(StoreDamagedError, match="has lost its beginning"):
        open_checked_state(state)
    (state / "audit-000001.jsonl").write_bytes(b"".join(lines))
    assert len(wrong_in(state)) == 1


@pytest.mark.parametrize("left", ["all", "the first alone", "but the first"])
@pytest.mark.parametrize("which", ALL)
async def test_a_state_that_is_lost_after_a_command_has_migrated_is_missed(
    tmp_path: Path, which: str, left: str
) -> None:
    """The record of a version that knew no stores does not miss it: what was put aside does."""
    folder = former_folder(tmp_path / "state", which)
    (tmp_path / "mgp.toml").write_text(f'[storage]\npath = "{folder}"\n')
    open_checked_state(folder).close()
    assert wrong_in(folder) == []
    gone = [*folder.glob("state.db*")]
    gone += folder.glob("*.former") if left == "the first alone" else ()
    gone += [folder / "keys.db"] if left == "but the first" else ()
    for path in gone:
        path.unlink()
    assert len(wrong_in(folder)) == 1
    with pytest.raises(StoreDamagedError, match=r"state\.db is gone"):
        open_checked_state(folder)
    await _starts_after_accepting(folder)


def test_a_state_that_is_lost_before_any_gateway_ran_is_missed_as_well(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    change(folder, 1, ["grants"])
    (folder / "grants.db.former").touch()
    open_checked_state(folder).close()
    assert wrong_in(folder) == []
    lose(folder, "state.db")
    with pytest.raises(StoreDamagedError, match="of a former version were taken over"):
        open_checked_state(folder)


async def test_changes_that_were_recorded_last_are_not_recorded_again_by_the_next_gateway(
    state: Path,
) -> None:
    database = open_checked_state(state)
    log = record(state)
    anchoring = await anchoring_of(state, log, database)
    callers = KeyStore(database, clock=time.time, random=os.urandom)
    callers.create("ann", by="root")
    assert callers.changes()
    callers.recorded(callers.changes()[-1].number)
    ended(log, anchoring)
    with closing(state_in(state)) as other:
        assert KeyStore(other, clock=time.time, random=os.urandom).changes() == []


@pytest.fixture
def older(state: Path) -> Path:
    """A folder whose state was put back while no gateway runs."""
    lose(state, "state.db")
    for path in (state.parent / "early").glob("state.db*"):
        shutil.copyfile(path, state / path.name)
    return state


def test_a_command_takes_no_step_upon_an_older_copy(older: Path) -> None:
    """Two that did would leave a state that nobody can tell from the right one."""
    from gatewright.cli.state_access import opened  # noqa: PLC0415 - what commands do

    for _ in range(2):
        with pytest.raises(StoreDamagedError, match="older copy"), opened(older):
            pytest.fail("it was opened")
    with closing(state_in(older)) as database:
        assert {head.steps for name, head in database.heads().items() if name != "tasks"} == {1}


@pytest.mark.parametrize(
    "harm", [NO_DATABASE, b'{"text":"\xff"}\n', b'{"text":' + b"[" * 9000 + b"\n"]
)
def test_a_record_that_cannot_be_read_keeps_no_command_from_ending_a_key(
    state: Path, harm: bytes
) -> None:
    """Its rows are none, or a power cut has spoilt a line behind them."""
    from gatewright.cli.state_access import opened  # noqa: PLC0415 - what commands do

    if harm is NO_DATABASE:
        (state / "audit.db").write_bytes(harm)
    else:
        with (state / "audit-000001.jsonl").open("ab") as file:
            file.write(harm)
    with opened(state) as database:
        callers = KeyStore(database, clock=time.time, random=os.urandom)
        assert callers.revoke(callers.keys()[0].id, by="root").revoked is not None
