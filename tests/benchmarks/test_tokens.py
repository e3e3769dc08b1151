from __future__ import annotations

from benchmarks.tokens import compact, definition, reduction

TOOL = {
    "tool_id": "x",
    "name": "n",
    "description": "first\nsecond",
    "inputSchema": {"type": "object"},
}


def test_a_tool_is_counted_as_a_host_has_it() -> None:
    assert (
        definition(TOOL)
        == '{"name":"n","description":"first\\nsecond","inputSchema":{"type":"object"}}'
    )
    assert compact(TOOL) == '{"name": "n", "description": "first"}'


def test_what_is_saved_is_all_but_the_meta_tools_and_five_results() -> None:
    """MGP-16.3-3."""
    assert reduction([TOOL] * 300, "", definition, len) == 1 - 5 / 300
