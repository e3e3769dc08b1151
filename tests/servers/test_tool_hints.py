"""What a server's annotations say that a person is asked about: they tighten wherever they stand, and nothing takes them back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from gatewright.mcp.wire import jsonrpc
from gatewright.servers.tool_hints import hinted

SCHEMA = {"type": "object", "properties": {"destructiveHint": {"type": "boolean"}}}


def of(**members: Any) -> tuple[str, ...]:
    text = json.dumps({"name": "t", "inputSchema": SCHEMA, **members}).encode()
    found: dict[str, Raw] = dict(jsonrpc.decode_members(text))
    return hinted(found)


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({}, ()),
        ({"annotations": {}}, ()),
        ({"annotations": {"destructiveHint": True}}, ("destructive",)),
        ({"annotations": {"openWorldHint": True}}, ("open_world",)),
        (
            {"annotations": {"openWorldHint": True, "destructiveHint": True}},
            ("destructive", "open_world"),
        ),
        ({"annotations": {"destructiveHint": False, "openWorldHint": None}}, ()),
        ({"annotations": {"readOnlyHint": True, "destructiveHint": True}}, ("destructive",)),
        ({"annotations": {"destructiveHint": "false"}}, ("destructive",)),
        ({"annotations": {"destructiveHint": 0}}, ("destructive",)),
        ({"annotations": [{"destructiveHint": True}]}, ("destructive",)),
        ({"_meta": {"x.example/annotations": {"destructive_hint": True}}}, ("destructive",)),
        ({"security": {"openWorldHint": True}}, ("open_world",)),
        ({"destructiveHint": True}, ("destructive",)),
        ({"DestructiveHint": True}, ("destructive",)),
        ({"annotations": {"x.example/destructive-hint": True}}, ("destructive",)),
        ({"description": "destructiveHint: true"}, ()),
        ({"annotations": {"title": "destructiveHint"}}, ()),
    ],
)
def test_a_hint_counts_wherever_it_stands_and_however_it_is_spelled(
    members: dict[str, Any], expected: tuple[str, ...]
) -> None:
    assert of(**members) == expected


def test_an_escaped_name_is_the_same_name() -> None:
    text = b'{"name":"t","annotations":{"destructiv\\u0065H\\u0069nt":true}}'
    assert hinted(dict(jsonrpc.decode_members(text))) == ("destructive",)


def test_a_hint_behind_more_members_than_anybody_reads_counts_as_said() -> None:
    """So that it cannot be hidden by many others."""
    members: dict[str, Any] = {f"m{number}": {} for number in range(20_000)}
    assert of(annotations={"hint": members}) == ("destructive", "open_world")


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(_JSON, st.booleans())
def test_nothing_beside_a_hint_takes_it_back(other: Any, more: bool) -> None:
    beside = {"readOnlyHint": True, "idempotentHint": True, "other": other}
    found = of(annotations={**beside, "destructiveHint": True}, **({"_meta": {}} if more else {}))
    assert "destructive" in found
