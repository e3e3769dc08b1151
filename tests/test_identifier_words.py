"""Names as programs write them are split into words."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from gatewright.identifier_words import words_of


@given(st.text(alphabet="abAB01_-."))
def test_the_words_of_a_name_are_those_that_look_ahead_finds(name: str) -> None:
    assert words_of(name) == re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", name)
