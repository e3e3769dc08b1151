"""Small changes wait for nobody, are made whole or not at all, and make no database."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from gatewright.storage.try_write import changed_aside, changed_last
from tests.storage.parts import state_in

PUT = "INSERT INTO former_files (name, digest) VALUES (?, ?)"


def names(folder: Path) -> list[str]:
    with closing(state_in(folder)) as state:
        return [name for (name,) in state.engine.execute("SELECT name FROM former_files")]


def test_statements_are_run_all_or_none(tmp_path: Path) -> None:
    state_in(tmp_path).close()
    assert changed_aside(tmp_path, [(PUT, ("a", "1")), (PUT, ("b", "2"))])
    assert not changed_aside(tmp_path, [(PUT, ("c", "3")), (PUT, ("a", "4"))])
    assert names(tmp_path) == ["a", "b"]


def test_nobody_is_waited_for_and_nothing_is_made(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    assert not changed_aside(folder, [(PUT, ("a", "1"))])
    assert not folder.exists()
    with closing(state_in(folder)) as other, other.engine.transaction():
        assert not changed_aside(folder, [(PUT, ("a", "1"))])
    assert names(folder) == []


def test_over_a_connection_that_is_closed_next_nobody_is_waited_for_either(tmp_path: Path) -> None:
    with closing(state_in(tmp_path)) as state:
        assert changed_last(state.engine, [(PUT, ("a", "1"))])
        assert not changed_last(state.engine, [(PUT, ("b", "2")), (PUT, ("a", "3"))])
        with closing(state_in(tmp_path)) as other, other.engine.transaction():
            assert not changed_last(state.engine, [(PUT, ("c", "4"))])
    assert not changed_last(state.engine, [(PUT, ("d", "5"))])
    assert names(tmp_path) == ["a"]
