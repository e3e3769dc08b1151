"""The contract of `storage.engine`: every engine is held against it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from gatewright.storage.engine import Driver, Engine
from gatewright.storage.schema import Column, Index, Table
from gatewright.storage.sqlite import SQLITE

ENGINES: dict[str, Driver] = {"sqlite": SQLITE}
"""A second engine is one line more."""
NOTES = Table("notes", ("id",), {"id": "text", "size": "integer?", "at": "real?", "raw": "bytes?"})


@pytest.fixture(params=ENGINES)
def driver(request: pytest.FixtureRequest) -> Driver:
    return ENGINES[request.param]


@pytest.fixture
def engine(driver: Driver, tmp_path: Path) -> Iterator[Engine]:
    found = driver.open(tmp_path)
    with found.transaction():
        found.apply(NOTES)
    yield found
    found.close()


def _put(engine: Engine, name: str) -> None:
    engine.execute("INSERT INTO notes (id) VALUES (?)", (name,))


def _names(engine: Engine) -> list[str]:
    return [name for (name,) in engine.execute("SELECT id FROM notes ORDER BY id")]


def test_a_new_database_has_no_form_and_belongs_to_its_owner_alone(
    driver: Driver, tmp_path: Path
) -> None:
    assert driver.place(tmp_path) is None
    engine = driver.open(tmp_path)
    assert engine.form() == 0
    assert driver.place(tmp_path) is not None
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
    engine.close()


def test_values_come_back_as_they_were(engine: Engine) -> None:
    row = ("\u00fc\u4e2d", 2**63 - 1, 0.1 + 0.2, b"\x00\xff")
    engine.execute("INSERT INTO notes (id, size, at, raw) VALUES (?, ?, ?, ?)", row)
    _put(engine, "none")
    assert engine.execute("SELECT id, size, at, raw FROM notes ORDER BY size").fetchall() == [
        ("none", None, None, None),
        row,
    ]
    octets = engine.octets("id")
    assert engine.execute(f"SELECT sum({octets}) FROM notes").fetchone() == (5 + 4,)  # noqa: S608


def test_a_column_that_comes_later_has_its_default_in_rows_of_before(engine: Engine) -> None:
    _put(engine, "a")
    with engine.transaction():
        engine.apply(Column("notes", "kind", "text = 'plain'"))
        engine.apply(Column("notes", "other", "text?"))
        engine.apply(Index("by_kind", "notes", ("kind", "id")))
    assert engine.execute("SELECT kind, other FROM notes").fetchall() == [("plain", None)]


def test_a_column_that_may_not_be_empty_is_not(engine: Engine) -> None:
    with pytest.raises(engine.failure):
        _put(engine, None)  # type: ignore[arg-type]


def test_the_statements_that_stores_write_are_understood(engine: Engine) -> None:
    put = (
        "INSERT INTO notes (id, size) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET size = excluded.size "
        "RETURNING size"
    )
    assert engine.execute(put, ("a", 1)).fetchone() == (1,)
    assert engine.execute(put, ("a", 2)).fetchone() == (2,)
    again = "INSERT INTO notes (id) VALUES (?) ON CONFLICT DO NOTHING"
    assert [engine.execute(again, (one,)).rowcount for one in ("a", "b")] == [0, 1]
    assert engine.execute("UPDATE notes SET size = 5").rowcount == 2
    gone = engine.execute("DELETE FROM notes WHERE id = ? RETURNING id", ("b",))
    assert gone.fetchall() == [("b",)]
    assert engine.execute("SELECT coalesce(sum(size), 0), count(*) FROM notes").fetchone() == (5, 1)


def test_a_transaction_is_all_or_nothing(engine: Engine, driver: Driver, tmp_path: Path) -> None:
    other = driver.look(tmp_path)

    def half() -> None:
        with engine.transaction():
            _put(engine, "gone")
            engine.apply(Table("more", ("x",), {"x": "text"}))
            engine.set_form(7)
            assert _names(other) == []
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        half()
    assert (_names(engine), engine.form()) == ([], 0)
    with pytest.raises(engine.failure):
        engine.execute("SELECT * FROM more")
    with engine.transaction():
        _put(engine, "kept")
        engine.set_form(7)
    assert (_names(other), other.form()) == (["kept"], 7)
    other.close()


def test_one_writer_waits_for_the_other(engine: Engine, driver: Driver, tmp_path: Path) -> None:
    began, seen = threading.Event(), []

    def write() -> None:
        other = driver.open(tmp_path)
        began.set()
        with other.transaction():
            seen.extend(_names(other))
        other.close()

    with engine.transaction():
        _put(engine, "first")
        thread = threading.Thread(target=write)
        thread.start()
        began.wait(20)
    thread.join(20)
    assert seen == ["first"]


def test_the_generation_moves_with_changes_of_others_only(
    engine: Engine, driver: Driver, tmp_path: Path
) -> None:
    other = driver.open(tmp_path)
    before = engine.generation()
    _put(engine, "own")
    assert engine.generation() == before
    _put(other, "other")
    assert engine.generation() != before
    other.close()


def test_who_looks_cannot_write_and_makes_nothing(
    engine: Engine, driver: Driver, tmp_path: Path
) -> None:
    _put(engine, "a")
    looking = driver.look(tmp_path)
    assert _names(looking) == ["a"]
    with pytest.raises(looking.failure):
        _put(looking, "b")
    looking.close()
    nowhere = tmp_path / "empty"
    nowhere.mkdir()
    with pytest.raises(engine.failure):
        driver.look(nowhere).form()
    assert driver.place(nowhere) is None


def test_who_notes_waits_for_nobody(engine: Engine, driver: Driver, tmp_path: Path) -> None:
    noting = driver.note(tmp_path)
    with engine.transaction(), pytest.raises(noting.failure):
        _put(noting, "a")
    _put(noting, "b")
    assert _names(engine) == ["b"]
    noting.close()


def test_another_database_in_its_place_is_told_apart(
    engine: Engine, driver: Driver, tmp_path: Path
) -> None:
    first, elsewhere = driver.place(tmp_path), tmp_path / "other"
    elsewhere.mkdir()
    driver.open(elsewhere).close()
    assert driver.place(tmp_path) == first != driver.place(elsewhere)


def test_what_is_in_memory_is_nobody_else_s(driver: Driver) -> None:
    one, other = driver.memory(), driver.memory()
    one.apply(NOTES)
    _put(one, "a")
    with pytest.raises(other.failure):
        _names(other)
    one.close()
    other.close()
