"""Types of a database migration, engine-independent: `Table`, `Column` and `Index` steps, `Migration`; lists a table's columns. No SQL.

A column is one of four types: `text`, `integer` (64 bits), `real` (double precision) and `bytes`. A `?` behind the type allows NULL;
`= 'text'` behind it is what rows have that were written before there was the column.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

__all__ = ["Column", "Index", "Migration", "Step", "Table", "Type", "columns_of"]

Type = Literal["text", "integer", "real", "bytes"]


class Table(NamedTuple):
    """A table and the columns of its primary key."""

    name: str
    key: tuple[str, ...]
    columns: Mapping[str, str]


class Column(NamedTuple):
    """A column that an existing table gets."""

    table: str
    name: str
    type: str


class Index(NamedTuple):
    """An index over columns of one table."""

    name: str
    table: str
    columns: tuple[str, ...]


Step = Table | Column | Index


class Migration(NamedTuple):
    """The steps from one form of the database to the next; the name says what they are for."""

    name: str
    steps: tuple[Step, ...]


def columns_of(table: str, migrations: tuple[Migration, ...]) -> tuple[str, ...]:
    """The columns that a table has after all of these."""
    found: list[str] = []
    for migration in migrations:
        for step in migration.steps:
            if isinstance(step, Table) and step.name == table:
                found += step.columns
            elif isinstance(step, Column) and step.table == table:
                found.append(step.name)
    return tuple(found)
