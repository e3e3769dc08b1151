"""The one list: names are told apart, nothing is made twice, and what is said to be put can be put."""

from __future__ import annotations

import hashlib

import pytest

from gatewright.storage.migrations import ANCHORED, MIGRATIONS, SECTIONS, upsert
from gatewright.storage.opening import _make
from gatewright.storage.schema import Column, Index, Table, columns_of
from gatewright.storage.sqlite import SQLITE

DIGESTS = [
    "7c790d745308cf30",
    "2110da42a1a9aefe",
    "20b4cbb0f558a903",
    "35bfa5bf4ffced9f",
    "0e5146022c48d26a",
    "017c8638df5e3bdb",
    "e950450305b67ec0",
    "b46870d026ebd14e",
    "7c07766912a448ca",
    "93997a0a6e756701",
    "7b2ec0a940be9ad1",
    "c5f58f85bcd60aec",
    "d1e295b24571dc07",
    "7a45d38401cdb5d5",
]
"""Of every migration, in order, what it is. A step that has been released is in the databases of others, so none is ever changed."""

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


def test_no_migration_is_other_than_when_it_was_released() -> None:
    """The last line of the message is the digest of a migration that was added."""
    found = [hashlib.sha256(repr(one).encode()).hexdigest()[:16] for one in MIGRATIONS]
    changed = [
        one.name for one, now, then in zip(MIGRATIONS, found, DIGESTS, strict=False) if now != then
    ]
    assert not changed, f"a migration is never changed: put what {changed} lack into one more"
    assert found == DIGESTS, f"add to DIGESTS: {found[len(DIGESTS) :]}"
