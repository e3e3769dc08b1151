"""Which words of `_meta` are the gateway's."""

from __future__ import annotations

from typing import Any

import pytest

from gatewright.mcp.wire import jsonrpc
from gatewright.servers.reserved_meta import is_ours, without_ours

OURS = [
    "dev.gatewright/tool",
    "gatewright/x",
    "DEV.GateWright/x",
    " dev.gatewright/x",
    "io.modelcontextprotocol/subscriptionId",
]


@pytest.mark.parametrize("key", OURS)
def test_our_name_spaces_are_ours_however_they_are_written(key: str) -> None:
    assert is_ours(key, mgp=True)
    assert is_ours(key, mgp=False)


def test_the_words_of_mgp_are_for_servers_that_negotiated_it() -> None:
    assert is_ours("dev.cloto/mgp", mgp=False)
    assert not is_ours("dev.cloto/mgp", mgp=True)


@pytest.mark.parametrize("key", ["vendor/x", "dev.gatewrightly/x", "tool", ""])
def test_others_words_are_theirs(key: str) -> None:
    assert not is_ours(key, mgp=False)


def defined(**members: Any) -> Any:
    return jsonrpc.decode_members(jsonrpc.encode(members))


@pytest.mark.parametrize("key", [*OURS, "dev.cloto/security"])
def test_a_definition_loses_our_words_and_nothing_else(key: str) -> None:
    found = without_ours(defined(name="t", _meta={key: 1, "vendor/x": 2}))
    assert jsonrpc.decode(jsonrpc.encode(found)) == {"name": "t", "_meta": {"vendor/x": 2}}


@pytest.mark.parametrize("more", [{}, {"_meta": {}}, {"_meta": {"vendor/x": 1}}, {"_meta": [1]}])
def test_a_definition_without_them_stays_the_object_that_it_is(more: dict[str, Any]) -> None:
    one = defined(name="t", **more)
    assert without_ours(one) is one
