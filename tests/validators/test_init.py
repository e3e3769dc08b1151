"""The vocabulary of validators: what is not in it must not pass."""

import pytest

from gatewright.validators import VALIDATORS, judges
from gatewright.validators.sandbox import sandbox


def test_the_names_lead_to_their_checks() -> None:
    assert judges("sandbox") == (sandbox,)
    assert judges("none") == ()
    assert judges("sandbox+none") == (sandbox,)


@pytest.mark.parametrize(
    "names",
    [
        "readonly",
        "network_restricted",
        "code_safety",
        "Sandbox",
        "",
        "sandbox+",
        "sandbox+readonly",
    ],
)
def test_a_name_without_a_check_is_no_check_that_passes(names: str) -> None:
    assert judges(names) is None


def test_nobody_can_add_a_name_at_run_time() -> None:
    with pytest.raises(TypeError):
        VALIDATORS["none"] = sandbox  # type: ignore[index]
