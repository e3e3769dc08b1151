"""The state of a folder: made, brought to the newest form, looked into, refused."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from gatewright.storage import lock, opening
from gatewright.storage.engine import Engine
from gatewright.storage.errors import (
    StoreBusyError,
    StoreDamagedError,
    StoreError,
    StoreTooNewError,
)
from gatewright.storage.former_files import FILES, Held, former_files, held
from gatewright.storage.lock import FolderLock
from gatewright.storage.migrations import MIGRATIONS, SECTIONS
from gatewright.storage.opening import StateView, beside, is_current, open_state, view_state
from gatewright.storage.sqlite import SQLITE, DatabaseError, StateFile, _Driver
from tests.storage.former_folders import ALL, AT_HEAD, content, former_folder
from tests.storage.parts import NO_DATABASE, state_in

OPENER = """
import sys
from pathlib import Path
from gatewright.storage.opening import open_state
print("ready", flush=True)
sys.stdin.readline()
state = open_state(Path(sys.argv[1]), lambda _: None)
print(state.heads()["keys"].steps)
state.close()
"""


def agree(_: StateView) -> None:
    return


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_a_new_state_has_every_section_and_belongs_to_its_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "state"
    with closing(open_state(folder, agree)) as state:
        heads = state.heads()
        assert {name: head.steps for name, head in heads.items()} == dict.fromkeys(SECTIONS, 0)
        assert len({head.mark for head in heads.values()}) == len(SECTIONS)
        assert state.engine.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert state.engine.execute("PRAGMA synchronous").fetchone() == (2,)
        with closing(beside(state)) as other:
            assert other.heads() == heads
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    assert is_current(folder)
    with closing(open_state(folder, lambda _: 1 / 0)) as again:  # type: ignore[arg-type]
        assert again.heads() == heads


@pytest.mark.parametrize("which", ALL)
def test_a_former_folder_is_taken_over_whole_and_its_files_are_kept(
    tmp_path: Path, which: str
) -> None:
    folder = former_folder(tmp_path / "state", which)
    with closing(view_state(folder)) as found:
        before = content(found.readable())
    with closing(open_state(folder, agree)) as state:
        assert content(state) == before
    assert {name for name, _ in before["former_files"]} <= set(FILES)
    assert (folder / "state.db").stat().st_mode & 0o777 == 0o600
    assert former_files(folder) == []
    for name, _ in before["former_files"]:
        assert (folder / f"{name}.former").exists()
    for path in folder.glob("*.former"):
        path.unlink()
    with closing(open_state(folder, agree)) as state:
        assert content(state) == before


def test_who_only_looks_leaves_a_former_folder_as_it_is(tmp_path: Path) -> None:
    folder = former_folder(tmp_path / "state", AT_HEAD)
    before = {name: text for name, text in files_in(folder).items() if "-" not in name}
    with closing(view_state(folder)) as found:
        assert found.names["keys"] == "keys.db"
        assert found.heads()["keys"].steps == 3
    after = {name: text for name, text in files_in(folder).items() if "-" not in name}
    assert after == before
    assert not is_current(folder)


def test_who_only_looks_into_nothing_makes_nothing(tmp_path: Path) -> None:
    with closing(view_state(tmp_path / "nowhere")) as found:
        assert found.names == {}
        assert found.heads() == {}
        assert found.readable().heads()["keys"].steps == 0
    assert list(tmp_path.iterdir()) == []


def test_a_state_that_the_check_refuses_stays_as_it_was(tmp_path: Path) -> None:
    folder = former_folder(tmp_path / "state", AT_HEAD)

    def refuse(found: StateView) -> None:
        assert found.heads()["grants"].steps == 5
        assert found.names["grants"] == "grants.db"
        raise StoreDamagedError("behind")

    for _ in range(2):
        with pytest.raises(StoreDamagedError, match="behind"):
            open_state(folder, refuse)
    assert len(former_files(folder)) == 8
    with closing(open_state(folder, agree)) as state:
        assert state.heads()["grants"].steps == 5


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_stops_it_and_nothing_is_dropped(tmp_path: Path, name: str) -> None:
    folder = former_folder(tmp_path / "state", AT_HEAD)
    kept = (folder / name).read_bytes()
    (folder / name).write_bytes(NO_DATABASE)
    with pytest.raises(StoreError, match=f"{name} cannot be read"):
        open_state(folder, agree)
    with closing(view_state(folder)) as found:
        assert list(found.problems) == [FILES[name]]
        with pytest.raises(StoreError, match=name):
            found.readable()
    assert len(former_files(folder)) == 8
    (folder / name).write_bytes(kept)
    with closing(open_state(folder, agree)) as state:
        assert len(state.engine.execute("SELECT * FROM former_files").fetchall()) == 8


def test_a_gateway_that_runs_is_not_migrated_under_its_feet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "_NAMED_S", 0.05)
    folder = former_folder(tmp_path / "state", AT_HEAD)
    gateway = FolderLock(folder)
    with pytest.raises(StoreBusyError, match=r"a gateway \(process \d+\) uses .* stop it"):
        open_state(folder, agree)
    assert len(former_files(folder)) == 8
    assert not (folder / "state.db").exists()
    gateway.release()
    open_state(folder, agree).close()


@pytest.mark.parametrize("which", [*ALL, "nothing"])
def test_several_that_open_at_once_all_get_the_same_state(tmp_path: Path, which: str) -> None:
    folder = tmp_path / "state"
    if which != "nothing":
        former_folder(folder, which)
    openers = [
        subprocess.Popen(
            [sys.executable, "-c", OPENER, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    for one in openers:
        assert one.stdout is not None
        assert one.stdout.readline() == "ready\n"
    for one in openers:
        assert one.stdin is not None
        one.stdin.write("\n")
        one.stdin.flush()
    said = [one.communicate(timeout=60)[0] for one in openers]
    assert said == ["0\n" if which == "nothing" else "3\n"] * 4
    assert is_current(folder)


@pytest.mark.parametrize("how", ["put back", "of a former command"])
def test_a_former_file_that_was_written_since_is_refused_and_named(
    tmp_path: Path, how: str
) -> None:
    folder = former_folder(tmp_path / "state", AT_HEAD)
    shutil.copyfile(folder / "keys.db", tmp_path / "keys.db")
    open_state(folder, agree).close()
    shutil.copyfile(tmp_path / "keys.db", folder / "keys.db")
    with closing(sqlite3.connect(folder / "keys.db")) as database:
        database.execute(
            "UPDATE keys SET revoked = 5.0" if how == "put back" else "DELETE FROM keys"
        )
        database.commit()
    with pytest.raises(
        StoreDamagedError, match=r"keys\.db has been written since .* move keys\.db away"
    ):
        open_state(folder, agree)
    (folder / "keys.db").unlink()
    open_state(folder, agree).close()


def test_the_very_file_that_was_taken_over_is_put_aside_again(tmp_path: Path) -> None:
    """As after a crash between the migration and the renaming, or from a backup."""
    folder = former_folder(tmp_path / "state", AT_HEAD)
    shutil.copyfile(folder / "keys.db", tmp_path / "keys.db")
    open_state(folder, agree).close()
    shutil.copyfile(tmp_path / "keys.db", folder / "keys.db")
    open_state(folder, agree).close()
    assert former_files(folder) == []
    assert (folder / "keys.db.former-2").exists()


def test_a_state_of_a_newer_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    with closing(state_in(tmp_path)) as state:
        state.engine.set_form(len(MIGRATIONS) + 1)
    before = (tmp_path / "state.db").read_bytes()
    for opens in (lambda: open_state(tmp_path, agree), lambda: view_state(tmp_path)):
        with pytest.raises(StoreTooNewError, match="update Gatewright"):
            opens()
    assert (tmp_path / "state.db").read_bytes() == before


def test_a_state_of_a_form_before_is_brought_on_and_keeps_its_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gatewright.storage import opening  # noqa: PLC0415 - its list is another one here

    with monkeypatch.context() as earlier:
        earlier.setattr(opening, "MIGRATIONS", MIGRATIONS[:-1])
        with closing(open_state(tmp_path, agree)) as state:
            heads = state.heads()
    with pytest.raises(StoreError, match="of an older form"):
        view_state(tmp_path)
    with closing(open_state(tmp_path, agree)) as state:
        assert state.heads() == heads
        assert state.engine.form() == len(MIGRATIONS)
        assert state.engine.execute("SELECT * FROM server_tasks").fetchall() == []


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    (tmp_path / "state.db").write_bytes(NO_DATABASE)
    with pytest.raises(StoreError, match=r"state\.db cannot be used"):
        open_state(tmp_path, agree)
    with closing(view_state(tmp_path)) as found:
        assert "state.db cannot be used" in found.problems[""]
        with pytest.raises(StoreError, match=r"state\.db cannot be used"):
            found.readable()


def test_a_former_file_beside_the_state_of_a_gateway_that_runs_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody has to stop the gateway for a copy that somebody looked at."""
    monkeypatch.setattr(lock, "_NAMED_S", 0.05)
    folder = former_folder(tmp_path / "state", AT_HEAD)
    open_state(folder, agree).close()
    gateway = FolderLock(folder)
    shutil.copyfile(folder / "grants.db.former", folder / "grants.db")
    with pytest.raises(StoreBusyError, match=r"\(grants\.db\): move them away"):
        open_state(folder, agree)
    gateway.release()


def test_a_state_that_needs_nothing_is_checked_where_that_is_wanted(tmp_path: Path) -> None:
    open_state(tmp_path, agree).close()
    seen: list[str] = []
    open_state(tmp_path, agree, current=lambda found: seen.extend(found.names)).close()
    assert seen == [*SECTIONS]


def test_a_state_is_closed_where_a_former_file_cannot_be_let_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = former_folder(tmp_path / "state", ALL[0])
    engines: list[Engine] = []
    opens = type(SQLITE).open

    def noted(driver: _Driver, where: Path) -> StateFile:
        engines.append(engine := opens(driver, where))
        return engine

    @contextmanager
    def stuck(path: Path, *, alone: bool) -> Iterator[Held]:
        with held(path, alone=alone) as one:
            yield one
        raise OSError("it cannot be let go")

    monkeypatch.setattr(_Driver, "open", noted)
    monkeypatch.setattr(opening, "held", stuck)
    with pytest.raises(OSError, match="let go"):
        open_state(folder, agree)
    (engine,) = engines
    with pytest.raises(DatabaseError):
        engine.form()
