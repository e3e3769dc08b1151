"""ggen knows its own methods alone, however others are spelled, and a request without an id is none."""

from __future__ import annotations

import json

from gatewright.mcp.protocol.ggen import Asked, Flawed, read
from gatewright.mcp.wire.json_bounds import Limits
from tests.mcp.wire.names import spellings


def test_no_spelling_of_a_method_is_one_and_nothing_without_an_id_is_asked() -> None:
    """C-62 at this door."""
    params = {"name": "wipe", "arguments": {}}
    right = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    assert isinstance(read(right.encode(), Limits(), None), Asked)
    seen = 0
    for method in (
        *spellings("tools/call"),
        "acme/x",
        "initialize",
        "tasks/get",
        "logging/setLevel",
    ):
        frame = {"jsonrpc": "2.0", "method": method, "params": params}
        assert read(json.dumps(frame).encode(), Limits(), None) is None
        found = read(json.dumps({**frame, "id": 1}).encode(), Limits(), None)
        assert isinstance(found, Flawed), ascii(method)
        assert found.refusal.reason == "method_not_found"
        seen += 1
    assert seen > 700
