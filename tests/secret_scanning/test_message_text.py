"""What a message repeats of a foreign file: no secret, nothing invisible, one line, no more than fits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.secret_scanning.message_text import MOST, shown
from tests.costs import grows

TOKEN = "ghp_Canary0123456789AbCdEfGhIjKlMnOpQrSt"


@pytest.mark.parametrize("at", [0, 1, MOST - 60, MOST - 10, MOST, 2 * MOST - 20, 2 * MOST])
@pytest.mark.parametrize("filler", ["word ", "***"])
def test_a_secret_is_masked_wherever_it_stands_also_across_the_cut(at: int, filler: str) -> None:
    text = (filler * at)[:at].rstrip() + f" {TOKEN} " + filler * 10
    found = shown(text)
    assert TOKEN[:12] not in found
    assert len(found) <= MOST


@given(st.text())
def test_whatever_comes_in_one_visible_line_goes_out(text: str) -> None:
    found = shown(text)
    assert len(found) <= MOST
    assert all(char.isprintable() for char in found)


def test_what_is_invisible_is_spelled_out() -> None:
    assert shown("a\u202eb\nc\x1b[31m") == "a\\u{202e}b\\u{a}c\\u{1b}[31m"


def test_what_stands_behind_a_name_is_masked_but_in_a_sentence_of_ours() -> None:
    assert shown("password=hunter2") == "password=***"
    assert shown('write bearer = "${TOKEN}"', named=False) == 'write bearer = "${TOKEN}"'
    assert TOKEN not in shown(f"write {TOKEN}", named=False)


def test_a_text_of_megabytes_costs_no_more_than_one_message() -> None:
    small, large = ("ghp_ " * (1_000 * size) for size in (50, 1_000))
    assert grows(lambda: shown(small), lambda: shown(large), 3.0) <= 3.0
