"""Normalization in linear time: the same as Unicode's for texts with short rows of marks, and rows of any marks are cut."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.secret_scanning.unicode_forms import MARKS, Form, has_long_row, normal
from tests.unicode_marks import BECOMING, ROWS, steady

FORMS: tuple[Form, ...] = ("NFC", "NFD", "NFKC", "NFKD")
SOME = st.text(
    st.one_of(
        st.sampled_from("\u0301\u0316\u0327\u0f73\uff9ea\u00e9\u1100\u1161\u11a8"), st.characters()
    ),
    max_size=90,
)


def marks(text: str) -> int:
    """How many characters that become marks stand together at most, counted one by one."""
    starts = (bool(unicodedata.combining(unicodedata.normalize("NFKD", one)[0])) for one in text)
    return max((sum(1 for _ in row) for mark, row in groupby(starts) if mark), default=0)


@given(SOME)
def test_a_text_with_short_rows_is_normalized_as_unicode_has_it(text: str) -> None:
    assert has_long_row(text) == (marks(text) > MARKS)
    for form in FORMS:
        found = normal(form, text)
        assert marks(text) > MARKS or found == unicodedata.normalize(form, text)


@given(
    st.text(max_size=25),
    st.integers(25, 75),
    st.text(max_size=25),
    st.sampled_from(["\u0301", "\u0f73", "\uff9f"]),
)
def test_a_row_is_found_wherever_it_begins_and_ends(
    before: str, many: int, behind: str, mark: str
) -> None:
    text = before + mark * many + behind
    assert has_long_row(text) == (marks(text) > MARKS)


@pytest.mark.parametrize("form", FORMS)
def test_a_long_row_keeps_its_characters_and_its_letter_the_first_marks(form: Form) -> None:
    text = "e\u0301" + "\u0316\u0301" * 40 + "b"
    found = normal(form, text)
    assert unicodedata.normalize("NFD", found[: len(found) // 2])[0] == "e"
    assert sorted(unicodedata.normalize("NFKD", found)) == sorted(
        unicodedata.normalize("NFKD", text)
    )
    assert found[-1] == "b"
    assert (found[0] == "\u00e9") == (form in {"NFC", "NFKC"})


def test_every_character_that_becomes_a_mark_makes_a_row() -> None:
    every = [
        char
        for char in map(chr, range(sys.maxunicode + 1))
        if unicodedata.combining(unicodedata.normalize("NFKD", char)[0])
    ]
    assert set(BECOMING) <= set(every)
    assert [one for one in every if not has_long_row("a" + one * (MARKS + 1))] == []
    assert [one for one in every if has_long_row(one * MARKS)] == []


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("form", FORMS)
def test_twice_the_marks_take_twice_the_time(form: Form, row: Callable[[int], str]) -> None:
    assert steady(lambda text: normal(form, text), row)
