from __future__ import annotations

import pytest

from gatewright.sdk import TimeLimits


def test_the_four_limits_have_the_defaults_of_the_table() -> None:
    """GGEN-to-1 (30 s), GGEN-to-2 (5 s), GGEN-to-3 (2 s), GGEN-to-4 (500 ms); CDM-err-6: 30 s."""
    limits = TimeLimits()
    found = (limits.tool_s, limits.validation_s, limits.discovery_s, limits.lock_s)
    assert found == (30.0, 5.0, 2.0, 0.5)


@pytest.mark.parametrize("name", ["tool_s", "validation_s", "discovery_s", "lock_s"])
def test_a_limit_of_nothing_is_refused_by_name(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        TimeLimits(**{name: 0})
