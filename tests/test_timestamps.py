"""Moments as people type them, without a command around them."""

import pytest

from gatewright.timestamps import as_recorded, as_shown, moment_of


def test_a_span_lies_on_the_side_that_is_asked_for() -> None:
    assert moment_of(" 2h", 10_000.0) == 2_800.0
    assert moment_of("2h", 10_000.0, ahead=True) == 17_200.0
    assert moment_of("2030-01-01T00:00:00Z", 0.0) == 1893456000


@pytest.mark.parametrize("text", ["", "soon", "2030-13-01", "999999w", "1m; x"])
def test_what_is_no_moment_raises(text: str) -> None:
    with pytest.raises(ValueError, match="is not a moment"):
        moment_of(text, 0.0)


def test_both_forms_are_in_utc() -> None:
    assert as_recorded(0.25) == "1970-01-01T00:00:00.250Z"
    assert as_shown(1.9) == "1970-01-01T00:00:01Z"
