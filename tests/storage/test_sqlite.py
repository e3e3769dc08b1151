"""SQLite: versions, transactions, and what happens when a file is not what it should be."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from gatewright.storage.errors import StoreError, StoreTooNewError
from gatewright.storage.sqlite import Database, DatabaseError

FIRST = ("CREATE TABLE notes (text TEXT) STRICT",)
SECOND = ("ALTER TABLE notes ADD COLUMN author TEXT", "UPDATE notes SET author = 'nobody'")


def test_a_new_store_is_private_and_has_the_newest_form(tmp_path: Path) -> None:
    database = Database.open(tmp_path / "a.db", [FIRST, SECOND])
    assert database.version() == 2
    assert (tmp_path / "a.db").stat().st_mode & 0o777 == 0o600
    assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    database.close()


def test_an_older_store_is_brought_up_to_date_and_keeps_its_rows(tmp_path: Path) -> None:
    old = Database.open(tmp_path / "a.db", [FIRST])
    old.execute("INSERT INTO notes VALUES ('kept')")
    old.close()
    new = Database.open(tmp_path / "a.db", [FIRST, SECOND])
    assert new.execute("SELECT * FROM notes").fetchall() == [("kept", "nobody")]
    new.close()


def test_a_newer_store_is_refused_and_left_alone(tmp_path: Path) -> None:
    Database.open(tmp_path / "a.db", [FIRST, SECOND]).close()
    before = (tmp_path / "a.db").read_bytes()
    with pytest.raises(StoreTooNewError, match="update Gatewright"):
        Database.open(tmp_path / "a.db", [FIRST])
    assert (tmp_path / "a.db").read_bytes() == before


def test_a_step_that_fails_leaves_the_old_form_whole(tmp_path: Path) -> None:
    Database.open(tmp_path / "a.db", [FIRST]).close()
    with pytest.raises(StoreError, match="cannot be used"):
        Database.open(tmp_path / "a.db", [FIRST, (*SECOND, "NO SUCH STATEMENT")])
    database = Database.open(tmp_path / "a.db", [FIRST])
    assert database.execute("SELECT * FROM pragma_table_info('notes')").fetchall() == [
        (0, "text", "TEXT", 0, None, 0)
    ]
    database.close()


def test_many_who_open_a_new_store_at_once_all_get_it(tmp_path: Path) -> None:
    versions: list[int] = []

    def opener() -> None:
        database = Database.open(tmp_path / "a.db", [FIRST, SECOND])
        versions.append(database.version())
        database.close()

    threads = [threading.Thread(target=opener) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert versions == [2] * 8


@pytest.mark.parametrize("make", ["text", "folder"])
def test_a_file_that_is_no_database_is_a_store_error(tmp_path: Path, make: str) -> None:
    path = tmp_path / "a.db"
    if make == "text":
        path.write_text("these are not the bytes of a database" * 100)
    else:
        path.mkdir()
    with pytest.raises(StoreError, match=r"a\.db cannot be used"):
        Database.open(path, [FIRST])


def test_a_transaction_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    database = Database.open(tmp_path / "a.db", [FIRST])

    def half() -> None:
        with database.transaction():
            database.execute("INSERT INTO notes VALUES ('gone')")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        half()
    assert database.execute("SELECT count(*) FROM notes").fetchone() == (0,)
    database.close()


def test_a_snapshot_does_not_see_what_others_write_meanwhile(tmp_path: Path) -> None:
    writer = Database.open(tmp_path / "a.db", [FIRST])
    reader = Database.open_to_read(tmp_path / "a.db", 1)
    with reader.snapshot():
        assert reader.execute("SELECT count(*) FROM notes").fetchone() == (0,)
        writer.execute("INSERT INTO notes VALUES ('new')")
        assert reader.execute("SELECT count(*) FROM notes").fetchone() == (0,)
    assert reader.execute("SELECT count(*) FROM notes").fetchone() == (1,)
    reader.close()
    writer.close()


def test_the_data_version_moves_with_changes_of_others_only(tmp_path: Path) -> None:
    ours = Database.open(tmp_path / "a.db", [FIRST])
    theirs = Database.open(tmp_path / "a.db", [FIRST])
    before = ours.data_version()
    ours.execute("INSERT INTO notes VALUES ('own')")
    assert ours.data_version() == before
    theirs.execute("INSERT INTO notes VALUES ('other')")
    assert ours.data_version() != before
    ours.close()
    theirs.close()


def test_a_reader_writes_temporary_tables_and_nothing_else(tmp_path: Path) -> None:
    Database.open(tmp_path / "a.db", [FIRST]).close()
    reader = Database.open_to_read(tmp_path / "a.db", 1)
    reader.execute("CREATE TEMP TABLE mine (x)")
    with pytest.raises(DatabaseError):
        reader.execute("INSERT INTO notes VALUES ('no')")
    reader.close()


@pytest.mark.parametrize(
    ("version", "error", "message"),
    [(1, StoreTooNewError, "update Gatewright"), (3, StoreError, "start the gateway once")],
)
def test_a_reader_refuses_a_store_of_another_version(
    tmp_path: Path, version: int, error: type[Exception], message: str
) -> None:
    Database.open(tmp_path / "a.db", [FIRST, SECOND]).close()
    with pytest.raises(error, match=message):
        Database.open_to_read(tmp_path / "a.db", version)


def test_a_reader_does_not_make_a_store_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be used"):
        Database.open_to_read(tmp_path / "a.db", 1)
    assert not (tmp_path / "a.db").exists()


def test_a_reader_refuses_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_text("these are not the bytes of a database" * 100)
    with pytest.raises(StoreError, match="cannot be used"):
        Database.open_to_read(tmp_path / "a.db", 1)


def test_what_fails_inside_is_reported_with_what_and_where(tmp_path: Path) -> None:
    database = Database.open(tmp_path / "some.db", [])
    with pytest.raises(StoreError, match=r"the keys in .*some\.db cannot be used"):  # noqa: SIM117
        with database.reported("the keys"):
            database.execute("SELECT nothing FROM nowhere")
    database.close()


def test_what_another_process_writes_is_seen_also_where_the_store_is_open_twice(
    tmp_path: Path,
) -> None:
    """To close a file takes away every lock that the process has on it (POSIX). A store that somebody looks at already is not opened
    by hand: else another process takes itself for the last one, removes the log, and nothing that it writes is seen again."""
    path = tmp_path / "a.db"
    Database.open(path, [FIRST]).close()
    looking = Database.open_to_look(path)
    assert looking.mark
    database = Database.open(path, [FIRST])
    writes = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); "
        "c.execute('CREATE TABLE seen' + sys.argv[2] + ' (x)'); c.commit(); c.close()"
    )
    for number in "123":
        before = database.data_version()
        subprocess.run([sys.executable, "-c", writes, str(path), number], check=True, timeout=60)
        assert database.data_version() != before
        tables = database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        assert tables == 1 + int(number)
    database.close()
    looking.close()
