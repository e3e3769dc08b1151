"""Why a tool fits a query: its own words, words that mean the same, and nothing where neither is there."""

from __future__ import annotations

import pytest

from gatewright.discovery.explaining import Reason, reasons
from gatewright.discovery.index import Entry, ToolIndex
from gatewright.transport.slices import whole

DELETE = Entry("x/deleteNote", "x", "deleteNote", "Throw a page away.", ("name: which one",))


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("delete notes", [Reason("delete", "name"), Reason("notes", "name")]),
        ("page", [Reason("page", "description")]),
        ("which", []),  # says nothing about a tool
        ("remove it", [Reason("remove", "name", "delete")]),
        ("Notiz löschen", [Reason("notiz", "name", "note"), Reason("löschen", "name", "delete")]),
        ("quarterly revenue", []),
    ],
)
def test_words_of_the_query_are_found_where_they_stand(query: str, found: list[Reason]) -> None:
    assert whole(reasons(query, DELETE, ToolIndex().words)) == found


def test_a_long_query_gives_a_few_reasons() -> None:
    """Whatever a query repeats."""
    entry = Entry("x/y", "x", "y", " ".join(f"word{chr(97 + n)}" for n in range(26)))
    query = entry.description + " " + entry.description
    assert len(whole(reasons(query, entry, ToolIndex().words))) == 8
