"""The one list: names are told apart, nothing is made twice, and what is said to be put can be put."""

from __future__ import annotations

import pytest

from gatewright.storage.migrations import ANCHORED, MIGRATIONS, SECTIONS, upsert
from gatewright.storage.opening import _make
from gatewright.storage.schema import Column, Index, Table, columns_of
from gatewright.storage.sqlite import SQLITE

TABLES = [step for one in MIGRATIONS for step in one.steps if isinstance(step, Table)]


def test_every_migration_has_a_name_of_its_own_and_makes_what_no_other_made() -> None:
    assert len({one.name for one in MIGRATIONS}) == len(MIGRATIONS)
    made = [
        step.name for one in MIGRATIONS for step in one.steps if isinstance(step, Table | Index)
    ]
    assert len(set(made)) == len(made)
    assert set(ANCHORED) < set(SECTIONS)


@pytest.mark.parametrize("table", TABLES, ids=[one.name for one in TABLES])
def test_a_row_is_put_in_the_place_of_the_one_with_its_key(table: Table) -> None:
    engine = SQLITE.memory()
    _make(engine)
    engine.execute(f"DELETE FROM {table.name}")  # noqa: S608 - a constant
    kinds = {"text": "t", "integer": 1, "real": 1.5, "bytes": b"b"}
    later = [one for migration in MIGRATIONS for one in migration.steps if isinstance(one, Column)]
    added = [one.type for one in later if one.table == table.name]
    row = [kinds[said.removesuffix("?")] for said in (*table.columns.values(), *added)]
    for _ in range(2):
        engine.execute(upsert(table.name), row)
    names = ", ".join(columns_of(table.name, MIGRATIONS))
    assert engine.execute(f"SELECT {names} FROM {table.name}").fetchall() == [tuple(row)]  # noqa: S608
    engine.close()
