"""What is too much although its text is short."""

import pytest
from ruamel.yaml import YAML

from gatewright.hosts.yaml_bounds import MAX_UNFOLDED, unfolds_too_far


def folded(levels: int) -> str:
    """A YAML text that stands for two to the power of so many values."""
    lines = [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, levels)]
    return "\n".join(["a0: &a0 [x, x]", *lines])


@pytest.mark.parametrize(
    ("text", "too_far"),
    [(folded(10), False), (folded(40), True), ("a: &a [*a]", True), ("a: 1", False)],
)
def test_aliases_count_for_what_they_stand_for(text: str, too_far: bool) -> None:
    assert unfolds_too_far(YAML(typ="safe", pure=True).compose(text)) is too_far


def test_much_that_is_written_out_is_too_much_as_well() -> None:
    node = YAML(typ="safe", pure=True).compose("[" + "x," * MAX_UNFOLDED + "]")
    assert unfolds_too_far(node)
