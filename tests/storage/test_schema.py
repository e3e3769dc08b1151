"""A description of tables says which columns there are."""

from __future__ import annotations

from gatewright.storage.schema import Column, Index, Migration, Table, columns_of

ONE = Migration("one", (Table("a", ("x",), {"x": "text", "y": "real?"}), Index("i", "a", ("y",))))
TWO = Migration("two", (Column("a", "z", "integer = 7"), Column("b", "w", "text")))


def test_the_columns_of_a_table_are_those_of_all_migrations_in_order() -> None:
    assert columns_of("a", (ONE,)) == ("x", "y")
    assert columns_of("a", (ONE, TWO)) == ("x", "y", "z")
    assert columns_of("c", (ONE, TWO)) == ()
