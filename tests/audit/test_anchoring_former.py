"""What the record of a former version proves of its files it proves of `state.db` as well, before the files are taken over and after."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from gatewright.audit.anchoring import open_checked_state, wrong_in
from gatewright.audit.anchors import STORES, anchors_of
from gatewright.storage.errors import StoreDamagedError, StoreError
from gatewright.storage.former_files import FILES, former_files
from tests.audit.test_anchoring import _starts_after_accepting, ended, started
from tests.storage.former_folders import ALL, AT_HEAD, former_folder
from tests.storage.parts import NO_DATABASE, state_in

ANCHORED = [name for name, section in FILES.items() if section in STORES]


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A folder of the last version that had files, whose record knows all of them."""
    folder = tmp_path / "state"
    (tmp_path / "mgp.toml").write_text(f'[storage]\npath = "{folder}"\n')
    return former_folder(folder, AT_HEAD)


@pytest.mark.parametrize("which", ALL)
async def test_a_gateway_starts_on_a_former_folder_and_takes_it_over(
    tmp_path: Path, which: str
) -> None:
    folder = former_folder(tmp_path / "state", which)
    (tmp_path / "mgp.toml").write_text(f'[storage]\npath = "{folder}"\n')
    assert wrong_in(folder) == []
    before = anchors_of(folder)
    # A folder of that time knows nothing of registered servers, nor of stopped ones.
    assert set(before) == ({*STORES} - {"servers", "stopped"} if which == AT_HEAD else set())
    log, anchoring = await started(folder)
    anchoring.look()
    assert log.barred is None
    ended(log, anchoring)
    assert former_files(folder) == []
    after = anchors_of(folder)
    assert before.items() <= after.items()
    assert wrong_in(folder) == []
    ended(*await started(folder))


def _gone(path: Path) -> None:
    path.unlink()


def _nonsense(path: Path) -> None:
    path.write_bytes(NO_DATABASE)


def _of_another_version(path: Path) -> None:
    """The same kind of file, of a gateway that did not mark and has taken fewer steps."""
    other = former_folder(path.parent.parent / "other", ALL[0])
    shutil.copyfile(other / path.name, path)


@pytest.mark.parametrize("harm", [_gone, _nonsense, _of_another_version])
@pytest.mark.parametrize("name", ANCHORED)
def test_a_former_file_that_is_behind_the_record_is_refused_before_it_is_taken_over(
    state: Path, name: str, harm: Callable[[Path], None]
) -> None:
    kept = (state / name).read_bytes()
    for suffix in ("-wal", "-shm"):
        (state / f"{name}{suffix}").unlink(missing_ok=True)
    harm(state / name)
    with pytest.raises(StoreError, match=name):
        open_checked_state(state)
    assert any(name in one for one in wrong_in(state))
    left = [path.name for path in former_files(state)]
    assert len(left) == 8 - (harm is _gone)
    (state / name).write_bytes(kept)
    assert wrong_in(state) == []
    open_checked_state(state).close()


@pytest.mark.parametrize("harm", ["gone", "older", "foreign"])
@pytest.mark.parametrize("name", ANCHORED)
async def test_a_state_that_is_lost_after_the_migration_is_refused_by_the_former_record(
    state: Path, name: str, harm: str
) -> None:
    """The record has not heard of anything since: it knows the former files alone."""
    open_checked_state(state).close()
    section = FILES[name]
    if harm == "gone":
        (state / "state.db").unlink()
        expected = f"{section}"
    else:
        column = "steps = 0" if harm == "older" else "mark = 7"
        with closing(state_in(state)) as database:
            database.engine.execute(
                f"UPDATE sections SET {column} WHERE name = ?",  # noqa: S608 - constants
                (section,),
            )
        expected = f"{section} in state.db is an" if harm == "older" else f"{section} in state.db"
    with pytest.raises(StoreDamagedError, match=expected):
        await started(state)
    await _starts_after_accepting(state)


async def test_a_loss_in_a_former_folder_can_be_accepted_and_is_then_taken_over(
    state: Path,
) -> None:
    (state / "grants.db").unlink()
    with pytest.raises(StoreDamagedError, match=r"grants\.db is gone: the record knows 5 changes"):
        await started(state)
    await _starts_after_accepting(state)
    with closing(state_in(state)) as database:
        heads = database.heads()
    assert (heads["grants"].steps, heads["keys"].steps) == (0, 3)


async def test_a_record_that_is_put_back_is_missed_by_the_former_files(state: Path) -> None:
    """What each of them knew of the record went over with them."""
    lines = (state / "audit-000001.jsonl").read_bytes().splitlines(keepends=True)
    (state / "audit-000001.jsonl").write_bytes(lines[0])
    assert any("older copy" in one for one in wrong_in(state))
    with pytest.raises(StoreDamagedError, match="the record is an older copy"):
        open_checked_state(state)
