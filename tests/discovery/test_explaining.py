"""Why a tool fits a query: its own words, words that mean the same, and nothing where neither is there."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gatewright.discovery import explaining
from gatewright.discovery.explaining import Reason, reasons
from gatewright.discovery.index import Entry, ToolIndex
from gatewright.transport.slices import whole
from tests.costs import lines_run

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


@pytest.mark.parametrize("same", [True, False])
def test_the_work_grows_with_the_texts_and_not_with_their_product(same: bool) -> None:
    """Counted in lines: a search explains up to fifty tools on the loop."""
    words = ToolIndex().words

    def work(count: int) -> Callable[[], object]:
        names = [chr(97 + n // 26) + chr(97 + n % 26) for n in range(count)]
        text = " ".join(names)
        query = text if same else " ".join(one.upper() + "x" for one in names)
        entry = Entry("x/y", "x", text, text, (text,))
        return lambda: whole(reasons(query, entry, words))

    work(200)()  # what words mean is remembered
    assert lines_run(explaining, work(200)) <= 4.5 * lines_run(explaining, work(50))
