"""Groundhog's door knows its own methods alone, however others are spelled."""

from __future__ import annotations

from gatewright.mcp.wire.groundhog import METHODS, VERSION, Flaw, read
from tests.mcp.wire.names import spellings


def test_no_spelling_of_a_method_is_one() -> None:
    """C-62 at this door, which leads nothing on that it does not know."""
    params = {"name": "wipe", "tool_name": "wipe", "parameters": {}}
    for known in (*METHODS, "tools/call", "tasks/get"):
        for method in spellings(known):
            found = read(method, params, VERSION)
            assert isinstance(found, Flaw), ascii(method)
            assert found.reason == "method_not_found"
