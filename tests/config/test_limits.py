"""`[limits]`: what the keys may be, and the units that the reference prints."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gatewright.config.limits import Calls, Limits, Rates
from gatewright.config.reference import keys_of


@pytest.mark.parametrize(
    ("shape", "good", "bad"),
    [
        (Limits, {"depth": 500}, {"depth": 501}),
        (Limits, {"frame_bytes": 1}, {"frame_bytes": 0}),
        (Limits, {"stall_ms": 2**40}, {"stall_ms": 2**40 + 1}),
        (Limits, {"calls_per_minute": 1}, {"calls_per_minute": 0}),
        (Limits, {"connections": None}, {"connections": 0}),
        (Rates, {"per_day": 1}, {"per_day": 0}),
        (Calls, {"keys": {"a": {"per_hour": 1}}}, {"keys": {"": {"per_hour": 1}}}),
    ],
)
def test_a_limit_out_of_its_bounds_is_refused(
    shape: type[msgspec.Struct], good: dict[str, Any], bad: dict[str, Any]
) -> None:
    assert isinstance(msgspec.convert(good, shape), shape)
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(bad, shape)


def test_limits_that_are_rates_have_the_unit_of_a_rate() -> None:
    units = {key.name: key.unit for key in keys_of(Limits)}
    assert units["connections_per_s"] == "connections/s"
    assert units["calls_per_minute"] == "calls/min"
    assert units["connections"] == ""
