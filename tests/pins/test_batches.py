"""Definitions are read in batches of some hundred kilobytes, and beside the loop where that takes long."""

from __future__ import annotations

import pytest

from gatewright.pins.batches import batches, is_large
from tests.pins.test_pinning import tool


@pytest.mark.parametrize(
    ("number", "size", "large"),
    [(1, 10, False), (1, 20_000, True), (12, 12_000, True), (5, 12_000, False)],
)
def test_what_is_large_by_itself_or_together_is_worth_a_worker(
    number: int, size: int, large: bool
) -> None:
    assert is_large([tool(f"t{at}", "x" * size) for at in range(number)]) is large


def test_each_tool_is_in_one_batch_in_its_order() -> None:
    tools = [tool(f"t{at}", "x" * 100_000) for at in range(7)]
    found = [*batches(tools)]
    assert [len(one) for one in found] == [3, 3, 1]
    assert [one for batch in found for one in batch] == tools
    assert [*batches([])] == []
    assert [len(one) for one in batches(tools, 150_000)] == [2, 2, 2, 1]
    assert [len(one) for one in batches(tools, 10**9, 5)] == [5, 2]
