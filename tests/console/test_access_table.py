"""The grid: every cell says what the gate says."""

from __future__ import annotations

from collections.abc import Generator, Set
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.access.authority import Authority
from gatewright.access.configured_grants import grants_of
from gatewright.access.grants import Key
from gatewright.call import Caller, Tool
from gatewright.console import access_table
from gatewright.console.access_table import AccessTable, Cell, Order
from gatewright.transport.slices import whole
from tests.console.in_process import within
from tests.console.running import DEMO
from tests.gate_parts import a_tool

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
        grid = whole(table.grid(agent="", server="", text="note"))
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
        last = whole(table.grid(agent="bob", server="demo", text="", tools=Order(desc=True)))
        assert last.agents == ["bob"]
        assert [tool for _, tool in last.tools][:2] == ["write_note", "read_note"]
        tool = table.tool("demo", "write_note")
        assert tool is not None
        verdicts = await table.verdicts(console.parts.gateway.inside.kernel, "ann", tool)
        assert [one.refusal.reason for one in verdicts if one.refusal] == ["confirmation_required"]
        said = table.said("bob", "demo", "echo")
        assert [(one.agent, one.permission) for one in said] == [("*", "allow"), ("bob", "deny")]
        assert table.cell("ann", "demo", "no_such_tool").word == "allow"


class Named(AccessTable):
    """A table of these agents and tools."""

    def __init__(self, agents: list[str], tools: list[tuple[str, str]]) -> None:
        self._named, self._offered = agents, [a_tool(name, server=one) for one, name in tools]

    def agents(self) -> list[str]:
        return ["*", *self._named]

    def tools(self, server: str = "", text: str = "") -> Generator[None, None, list[Tool]]:
        yield
        return self._offered

    def caller(self, agent: str) -> Caller:
        return Caller(agent, "agent")

    def _cell(self, caller: Caller, tool: Tool, written: Set[Key]) -> Cell:
        return Cell("allow", f"{caller.id} {tool.target}", inherited=False)

    def _written(self) -> Set[Key]:
        return set()

    def held(self, tool: Tool) -> str:
        return ""


_NAMES = st.sampled_from(["!", "+", "a", "a/", "/a", "a/b", "a!b", "b", "~", "\u202e"])


@given(
    st.lists(_NAMES, unique=True, max_size=7),
    st.lists(st.tuples(_NAMES, _NAMES), unique=True, max_size=9),
    st.booleans(),
    st.booleans(),
)
def test_each_agent_and_each_tool_is_on_one_part(
    agents: list[str], tools: list[tuple[str, str]], desc: bool, by_name: bool
) -> None:
    """Whatever they are called, and in each order; a name may have a `/` in it, or stand before `*`."""
    with mock.patch.multiple(access_table, _AGENTS=2, _TOOLS=2):
        table = Named(agents, tools)
        down, across = list[str](), list[tuple[str, str]]()
        after = ""
        while True:
            order = Order(after, desc)
            part = table.grid(agent="", server="", text="", agents=order, by_name=by_name)
            grid = whole(part)
            down += grid.agents
            assert grid.tools_in_all == len(tools)
            after = grid.next_agents
            if not after:
                break
        while True:
            order = Order(after, desc)
            part = table.grid(agent="", server="", text="", tools=order, by_name=by_name)
            grid = whole(part)
            across += grid.tools
            after = grid.next_tools
            if not after:
                break
    assert sorted(down) == sorted({*agents, "*"})
    assert down[-1 if desc else 0] == "*"
    assert sorted(across) == sorted(tools)


async def test_of_many_grants_those_about_the_cell_alone_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = "".join(
        f'[[grants]]\nagent = "a{one}"\nserver = "demo"\ntool = "add"\n' for one in range(50)
    )
    async with within(tmp_path, DEMO + others) as console:
        authority = console.parts.ground.of(Authority)
        assert authority is not None
        table = AccessTable(console.parts.ground, authority, console.clock)
        sizes = []

        def counted(settings: Any) -> Any:
            sizes.append(len(settings.grants))
            return grants_of(settings)

        monkeypatch.setattr(access_table, "grants_of", counted)
        said = [(one.agent, one.tool) for one in table.said("a7", "demo", "add")]
        assert said == [("*", None), ("a7", "add")]
        assert sizes == [2]
