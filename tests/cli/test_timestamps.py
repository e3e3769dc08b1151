"""Moments as people type them."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.cli.errors import CliError
from gatewright.cli.timestamps import ago, ahead
from gatewright.timestamps import as_recorded, as_shown

NOW = 1_900_000_000.0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30s", 30), ("10m", 600), ("2h", 7200), ("7d", 604800), (" 1 w ", 604800)],
)
def test_a_span_lies_before_now_or_after_it(text: str, seconds: int) -> None:
    assert ago(text, NOW) == NOW - seconds
    assert ahead(text, NOW) == NOW + seconds


@pytest.mark.parametrize("reader", [ago, ahead])
def test_a_date_is_itself_whatever_the_direction(reader: object) -> None:
    assert callable(reader)
    assert reader("2030-01-01T00:00:00+00:00", NOW) == 1893456000
    assert reader("2030-01-01T01:00:00+01:00", NOW) == 1893456000
    assert reader("2030-01-01T00:00:00Z", NOW) == 1893456000


@pytest.mark.parametrize("text", ["", "soon", "5", "-5m", "10 minutes", "2030-13-01", "9999999d"])
def test_what_is_no_moment_is_told_with_what_to_write(text: str) -> None:
    with pytest.raises(CliError) as caught:
        ago(text, NOW)
    assert caught.value.exit_code == 2
    assert "10m" in caught.value.hint


@pytest.mark.parametrize(
    ("reader", "text"),
    [
        (ago, "999999d"),
        (ahead, "999999w"),
        (ahead, "9999-12-31T23:59:59-12:00"),
    ],
)
def test_what_leads_out_of_the_calendar_is_no_moment(
    reader: Callable[[str, float], float], text: str
) -> None:
    with pytest.raises(CliError, match="is not a moment"):
        reader(text, NOW)


def test_the_form_of_the_record_has_milliseconds_in_utc() -> None:
    assert as_recorded(1893456000.1239) == "2030-01-01T00:00:00.123Z"
    assert as_shown(1893456000.9) == "2030-01-01T00:00:00Z"
    assert as_shown(None) == ""
    assert as_shown(1e15) == as_shown(float("inf")) == "after the year 9999"
    assert as_shown(-1e15) == "before the year 1"


@given(st.floats(0, 4e9), st.floats(0, 4e9))
def test_recorded_moments_sort_like_the_moments(one: float, other: float) -> None:
    assert (as_recorded(one) <= as_recorded(other)) or one > other
