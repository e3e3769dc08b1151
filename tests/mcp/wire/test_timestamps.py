"""Moments as MGP writes them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.mcp.wire.timestamps import moment_of, moment_text


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2026-03-01T00:00:00Z", 1772323200.0),
        ("2026-03-01T01:00:00+01:00", 1772323200.0),
        ("2026-03-01T00:00:00", 1772323200.0),
    ],
)
def test_a_moment_is_read_with_and_without_an_offset(text: str, seconds: float) -> None:
    assert moment_of(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "2026-13-01T00:00:00Z", "9999-12-31T23:59:59-12:00"])
def test_what_is_no_moment_is_named(text: str) -> None:
    with pytest.raises(ValueError, match="is no moment"):
        moment_of(text)


@given(st.integers(0, 4_000_000_000_000))
def test_a_moment_is_read_as_it_was_written(millis: int) -> None:
    assert moment_of(moment_text(millis / 1000)) == pytest.approx(millis / 1000, abs=1e-6)
