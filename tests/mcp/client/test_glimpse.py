"""What a log line shows of what a server said."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from gatewright.mcp.client import glimpse as module
from gatewright.mcp.client.glimpse import glimpse
from tests.costs import lines_run


@pytest.mark.parametrize(
    "value", ["short", 7, None, True, 1.5, [1, "a\nb"], {"a": [{"b": "\u200b"}]}]
)
def test_what_is_short_is_shown_as_it_is_on_one_line(value: Any) -> None:
    assert glimpse(value) == repr(value)


@pytest.mark.parametrize(
    "value",
    ["x" * 10**6, ["x"] * 10**5, {"k" * 10**6: 1}, {f"k{one}": one for one in range(10**5)}, [[[["\u200b" * 10**5]]]]],
)  # fmt: skip
def test_of_what_is_long_the_beginning_is_shown(value: Any) -> None:
    assert glimpse(value, 50) == repr(value)[:50]


@pytest.mark.parametrize("value", ["\u200b", 0, "", {}, []])
def test_a_hundred_times_as_much_costs_no_more_steps(value: Any) -> None:
    few, many = (
        lines_run((module,), partial(glimpse, [value] * number)) for number in (1000, 100_000)
    )
    assert few == many
