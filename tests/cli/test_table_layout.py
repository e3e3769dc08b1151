"""How wide texts are on a terminal, and how a table fits there without breaking a word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.cli.table_layout import cut, layout, padded, width_of

COLUMNS = ("ID", "NAME", "WHY")


@pytest.mark.parametrize(
    ("text", "width"),
    [("", 0), ("abc", 3), ("caf\u00e9", 4), ("cafe\u0301", 4), ("\u5c71\u7530", 4), ("\uff21", 2)],
)
def test_a_text_is_as_wide_as_a_terminal_shows_it(text: str, width: int) -> None:
    assert width_of(text) == width
    assert width_of(padded(text, 9)) == 9
    assert padded(text, 0) == text


@given(st.text(alphabet="ab \u5c71\u7530\u0301\u00e9", max_size=30), st.integers(1, 20))
def test_what_is_cut_fits_and_is_the_beginning(text: str, width: int) -> None:
    shown = cut(text, width)
    assert width_of(shown) <= width
    assert shown == text or text.startswith(shown.removesuffix("\u2026"))


def test_a_table_that_fits_has_every_column_as_wide_as_it_needs() -> None:
    rows = [("a1", "ann lee", "because")]
    assert layout(COLUMNS, rows, 80) == [(0, 2), (1, 7), (2, 7)]


def test_no_word_is_broken_but_in_the_last_column() -> None:
    rows = [("ap_0123456789", "ann lee", "x" * 100)]
    found = layout(COLUMNS, rows, 40)
    assert found is not None
    assert [width for _, width in found][:2] == [13, 7]
    assert sum(width for _, width in found) + 4 == 40
    assert layout(COLUMNS, rows, 37) is not None
    assert layout(COLUMNS, [("ap_0123456789", "ann lee", "")], 10) is None


def test_columns_that_are_empty_are_left_out_before_rows_are_printed_one_by_one() -> None:
    rows = [("a" * 20, "", "why"), ("b" * 20, "", "why not")]
    assert layout(("ID", "A_LONG_HEADING", "WHY"), rows, 80) is not None
    found = layout(("ID", "A_LONG_HEADING", "WHY"), rows, 32)
    assert found == [(0, 20), (2, 7)]
    assert layout(("ID", "A_LONG_HEADING", "WHY"), rows, 20) is None


def test_an_empty_table_is_its_heading() -> None:
    assert layout(COLUMNS, [], 80) == [(0, 2), (1, 4), (2, 3)]


@given(
    st.lists(st.tuples(*[st.text(alphabet="ab \u5c71", max_size=30)] * 3), max_size=4),
    st.integers(1, 100),
)
def test_what_is_laid_out_fits(rows: list[tuple[str, str, str]], room: int) -> None:
    found = layout(COLUMNS, rows, room)
    if found is None:
        return
    assert sum(width for _, width in found) + 2 * (len(found) - 1) <= room
    left_out = {0, 1, 2} - {number for number, _ in found}
    assert not any(row[number] for row in rows for number in left_out)
