"""What the package offers to gates, settings and the catalogue."""

import gatewright.validators as offered
from gatewright.validators import BUILT_IN, Checks, checks_for


def test_everything_that_is_offered_is_there() -> None:
    assert [name for name in offered.__all__ if not hasattr(offered, name)] == []


def test_the_five_standard_validators_and_paths_are_built_in() -> None:
    """MGP-4.3-4"""
    assert set(BUILT_IN) == {"sandbox", "readonly", "network_restricted", "code_safety", "paths"}
    assert isinstance(checks_for("+".join(BUILT_IN), {}, {}, "tool"), Checks)
