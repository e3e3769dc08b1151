"""The grid: every cell says what the gate says."""

from __future__ import annotations

from pathlib import Path

from gatewright.access.authority import Authority
from gatewright.console.access_table import AccessTable
from gatewright.transport.slices import whole
from tests.console.in_process import within
from tests.console.running import DEMO

GRANTS = """
[[grants]]
agent = "ann"
server = "demo"
tool = "delete_all_notes"

[[grants]]
agent = "bob"
server = "demo"
permission = "deny"
"""


async def test_the_grid_says_what_holds_and_where_it_comes_from(tmp_path: Path) -> None:
    async with within(tmp_path, DEMO + GRANTS) as console:
        ground = console.parts.ground
        authority = ground.of(Authority)
        assert authority is not None
        ground.callers.create("carl", by="test")
        table = AccessTable(ground, authority, console.clock)
        assert table.agents() == ["*", "ann", "bob", "carl"]
        grid = whole(table.grid(agent="", server="", text="note", agents_after="", tools_after=""))
        assert [tool for _, tool in grid.tools] == [
            "delete_all_notes",
            "list_notes",
            "read_note",
            "write_note",
        ]
        words = [[(one.word, one.inherited) for one in row] for row in grid.cells]
        everybody = [("ask", True), ("allow", True), ("allow", True), ("ask", True)]
        assert words == [
            everybody,
            [("ask", False), *everybody[1:]],
            [("deny", True)] * 4,
            everybody,
        ]
        behind = whole(
            table.grid(agent="bob", server="demo", text="", agents_after="", tools_after="demo/now")
        )
        assert behind.agents == ["bob"]
        assert [tool for _, tool in behind.tools] == ["read_note", "write_note"]
        tool = table.tool("demo", "write_note")
        assert tool is not None
        verdicts = await table.verdicts(console.parts.gateway.inside.kernel, "ann", tool)
        assert [one.refusal.reason for one in verdicts if one.refusal] == ["confirmation_required"]
        said = table.said("bob", "demo", "echo")
        assert [(one.agent, one.permission) for one in said] == [("*", "allow"), ("bob", "deny")]
        assert table.cell("ann", "demo", "no_such_tool").word == "allow"
