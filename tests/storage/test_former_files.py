"""Files of former versions: read as they are, held so that nobody else has them, put aside."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gatewright.storage import sqlite
from gatewright.storage.errors import StoreBusyError, StoreError, StoreTooNewError
from gatewright.storage.former_files import FILES, former_files, held, put_aside
from tests.storage.former_folders import ALL, AT_HEAD, former_folder
from tests.storage.parts import NO_DATABASE


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return former_folder(tmp_path / "state", AT_HEAD)


def taken(path: Path) -> tuple[Any, str, dict[str, list[Any]]]:
    found: dict[str, list[Any]] = {}
    with held(path, alone=False) as one:
        head, digest = one.take(lambda table, _, row: found.setdefault(table, []).append(row))
    return head, digest, found


@pytest.mark.parametrize("which", ALL)
def test_every_file_is_read_with_its_mark_its_steps_and_all_rows(
    tmp_path: Path, which: str
) -> None:
    folder = former_folder(tmp_path / "state", which)
    files = former_files(folder)
    assert {one.name for one in files} <= set(FILES)
    assert len(files) == (8 if which == AT_HEAD else 7)
    for path in files:
        head, digest, rows = taken(path)
        assert taken(path) == (head, digest, rows)
        assert head.mark
        assert rows
        if path.suffix == ".db" and which == AT_HEAD:
            with closing(sqlite3.connect(path)) as database:
                mark = database.execute("PRAGMA application_id").fetchone()[0]
            assert head.mark == mark


def test_steps_are_what_was_counted_and_not_what_is_left(folder: Path) -> None:
    steps = {path.name: taken(path)[0].steps for path in former_files(folder)}
    assert steps == {
        "keys.db": 3,
        "grants.db": 5,
        "permissions.db": 2,
        "pins.db": 4,
        "approvals.db": 4,
        "server_tasks.db": 2,
        "rooms.json": 2,
        "registered-tools.json": 2,
    }


def test_keys_and_approvals_of_forms_before_the_last_are_read(folder: Path) -> None:
    """A key that says nothing of its caller; requests of before there were kinds."""
    with closing(sqlite3.connect(folder / "keys.db")) as database:
        database.executescript(
            "ALTER TABLE keys DROP COLUMN said; ALTER TABLE keys DROP COLUMN replaced_by; PRAGMA user_version = 1"
        )
    with closing(sqlite3.connect(folder / "approvals.db")) as database:
        database.executescript(
            "ALTER TABLE approvals DROP COLUMN kind; ALTER TABLE approvals DROP COLUMN edited; PRAGMA user_version = 1"
        )
        for at, name in enumerate(("local", "root operator")):
            where = "WHERE rowid = ?"
            database.execute(f"UPDATE approvals SET agent = ? {where}", (name, at + 1))  # noqa: S608
        database.commit()
    assert [row[-2:] for row in taken(folder / "keys.db")[2]["keys"]] == [(None, None)] * 2
    rows = taken(folder / "approvals.db")[2]["approvals"]
    assert {(row[1], *row[-3:]) for row in rows} == {
        ("local", "owner", "", None),
        ("root", "operator", "", None),
    }


def test_what_a_version_that_did_not_count_has_written_has_the_same_mark_each_time(
    tmp_path: Path,
) -> None:
    path = tmp_path / "rooms.json"
    path.write_text('{"eve":{"blocked":true}}')
    head, _, rows = taken(path)
    assert (head.steps, head.mark) == (0, taken(path)[0].mark)
    assert rows["documents"] == [("rooms", "eve", 0, '{"blocked":true}')]
    path.write_text('{"eve":{"blocked":false}}')
    assert taken(path)[0].mark != head.mark


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("harm", ["nonsense", "cut", "folder"])
def test_a_damaged_file_is_named(folder: Path, name: str, harm: str) -> None:
    path = folder / name
    content = path.read_bytes()
    path.unlink()
    if harm == "folder":
        path.mkdir()
    else:
        path.write_bytes(NO_DATABASE if harm == "nonsense" else content[: len(content) // 2])
    with pytest.raises(StoreError, match=f"{name} cannot be read"):
        taken(path)


def test_a_file_of_a_newer_version_is_refused(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "pins.db")) as database:
        database.execute("PRAGMA user_version = 9")
    with pytest.raises(StoreTooNewError, match=r"pins\.db"):
        taken(folder / "pins.db")


def test_a_file_that_another_process_has_open_is_not_taken(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "_BUSY_MS", 20)
    path = folder / "grants.db"
    with closing(sqlite3.connect(path)) as other:
        other.execute("SELECT * FROM grants").fetchall()
        with pytest.raises(StoreBusyError, match=r"grants\.db"), held(path, alone=True):
            raise AssertionError
        other.execute("DELETE FROM grants")
        other.commit()


def test_who_waited_for_a_file_that_was_taken_over_is_refused_and_changes_nothing(
    folder: Path,
) -> None:
    """As a command of the former version does: it opens the file, waits, and would write where nobody reads any more."""
    path = folder / "keys.db"
    with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as other:
        with held(path, alone=True) as one:
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                other.execute("SELECT * FROM keys")
            put_aside(one)
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            other.execute("PRAGMA journal_mode = WAL")
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            other.execute("DELETE FROM keys")
    aside = folder / "keys.db.former"
    with closing(sqlite3.connect(aside)) as kept:
        assert kept.execute("SELECT count(*) FROM keys").fetchone() == (2,)
    assert former_files(folder) == [one for one in former_files(folder) if one != path]


def test_a_former_version_refuses_what_stands_in_the_place_of_the_first_file(folder: Path) -> None:
    """It takes it for a file of a newer version: its list of migrations is shorter."""
    with held(folder / "keys.db", alone=True) as one:
        put_aside(one)
    with pytest.raises(StoreTooNewError, match="update Gatewright"):
        sqlite.Database.open(folder / "keys.db", [(), ()])
    assert (folder / "keys.db").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in folder.glob(".keys*")] == []


def test_a_crash_between_the_two_names_leaves_one_file_with_both(folder: Path) -> None:
    (folder / "keys.db.former").hardlink_to(folder / "keys.db")
    with held(folder / "keys.db", alone=True) as one:
        put_aside(one)
    assert len(list(folder.glob("keys.db.former*"))) == 1
    assert (folder / "keys.db.former").stat().st_nlink == 1


def test_a_name_that_is_taken_is_not_taken_again(folder: Path) -> None:
    (folder / "rooms.json.former").write_text("evidence")
    with held(folder / "rooms.json", alone=True) as one:
        put_aside(one)
    assert (folder / "rooms.json.former").read_text() == "evidence"
    assert json.loads((folder / "rooms.json.former-2").read_text())["steps"] == 2
