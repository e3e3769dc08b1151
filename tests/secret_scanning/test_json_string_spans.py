"""The places of the strings of a JSON text."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.secret_scanning.json_string_spans import json_strings

STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
VALUES = st.recursive(
    st.text(alphabet='ab\\" {}[],:é\n') | st.integers() | st.none(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(alphabet='a\\":'), inner),
    max_leaves=12,
)


@given(VALUES)
def test_every_string_of_a_json_text_is_found_at_its_place(value: Any) -> None:
    raw = json.dumps(value, ensure_ascii=False).encode()
    assert json_strings(raw) == [found.span() for found in STRING.finditer(raw)]


@pytest.mark.parametrize("raw", [b"", b"{}", b'"', b'{"a', b'"a\\"b', b"12"])
def test_a_text_without_a_closed_string_has_none(raw: bytes) -> None:
    assert json_strings(raw) == []


def test_what_is_not_closed_leaves_the_strings_before_it() -> None:
    assert json_strings(b'{"a": "b\\"c", "d') == [(1, 4), (6, 12)]
