"""What many are told is made into text once, and stays what it was."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.shared_params import shared

LONG = "ä" * 600


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"level": "info", "data": {"n": [1.50, 10**30, None]}},
        {"data": LONG, "uri": LONG},
        {"data": [LONG], "_meta": {"x": LONG}, 'a"': {"b": LONG}},
    ],
)
def test_it_is_the_same_for_whoever_reads_it_and_no_shorter_than_was_said(
    params: dict[str, Any],
) -> None:
    found, size = shared(params)
    text = jsonrpc.encode(found)
    assert jsonrpc.decode(text) == params
    assert len(text) <= size + 16


def test_large_members_are_text_and_those_that_are_looked_at_are_values() -> None:
    found, _ = shared({"data": LONG, "uri": LONG, "_meta": {"a": LONG}, "list": [LONG], "n": [1]})
    assert [name for name, one in found.items() if isinstance(one, msgspec.Raw)] == ["data", "list"]
