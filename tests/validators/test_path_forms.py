"""What others could read in a path, and which texts are one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.patterns import Pattern
from gatewright.validators.path_forms import (
    climbs,
    form_rule,
    forms,
    may_be_read_otherwise,
    may_climb,
    names_path,
    names_variable,
    readings,
)


@pytest.mark.parametrize("text", ["v1.x%y z", "half%", "a%20b c", "50%.", "x.. y", "..."])
def test_a_text_with_dots_and_signs_that_leads_nowhere_is_no_path(text: str) -> None:
    assert not names_path("note", text)


ODD = st.text(st.sampled_from("$`%{(a/:.?*[ x0&;+#\n_"), max_size=8)
READ_OTHERWISE = Pattern(r"[%&+;?#*]|0x| (?:/|\n?\Z)|(?:^|/) ")
CLIMBING = Pattern(r"\.\.|[?*\[{]")
VARIABLE = Pattern(r"\$[{(]|`|^\$\w+(?:/|\n?\Z)")


@given(ODD)
def test_plain_searches_in_a_path_find_what_the_patterns_say(path: str) -> None:
    assert may_be_read_otherwise(path) == READ_OTHERWISE.within(path)
    assert may_climb(path) == CLIMBING.within(path)
    assert names_variable(path) == VARIABLE.within(path)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("a/b", ["a/b"]),
        ("a+AC8-b", ["a+AC8-b", "a/b"]),
        ("\uff0e\uff0e/x", ["\uff0e\uff0e/x", "../x"]),
        ("%41/x", ["%41/x", None]),
    ],
)
def test_each_reading_of_a_path_is_a_form_of_it(path: str, found: list[str | None]) -> None:
    assert list(dict.fromkeys(forms(path))) == found


def test_a_path_with_a_form_that_nobody_writes_honestly_has_no_readings() -> None:
    assert readings("a/.*/b") == ["a/.*/b", "a/../b"]
    for path in ("%41/x", "a\x00b", "{../x,y}", "C:/x"):
        assert readings(path) is None
    assert form_rule("C:/x") == "drive"


@pytest.mark.parametrize(
    ("path", "up"), [("a/..", False), ("a/../../b", True), ("....//x", True), ("?\u003f/x", True)]
)
def test_a_path_climbs_where_any_expansion_of_it_does(path: str, up: bool) -> None:
    assert climbs(path) == up
