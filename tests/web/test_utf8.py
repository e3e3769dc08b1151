"""Every text of UTF-8 is that, and nothing else is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.web.utf8 import is_utf8


@given(st.text())
def test_what_utf8_encodes_is_utf8(text: str) -> None:
    assert is_utf8(text.encode())


@given(st.binary())
def test_bytes_are_utf8_where_they_can_be_decoded(data: bytes) -> None:
    assert is_utf8(data) == (data.decode("utf-8", "replace").encode() == data)


@pytest.mark.parametrize(
    "data", [b"\xff", b"a\xc3", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"]
)
def test_overlong_cut_and_surrogate_sequences_are_not_utf8(data: bytes) -> None:
    assert not is_utf8(data)
