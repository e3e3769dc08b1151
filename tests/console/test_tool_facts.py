"""What is shown of tools; the rest: `screens/test_tools.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from gatewright.call import Target
from gatewright.console.tool_facts import ToolFacts, first_line
from tests.console.in_process import within
from tests.console.running import DEMO


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", ""),
        ("\n\n one\ntwo", "one"),
        ("x" * 300, "x" * 300),
        ("x" * 301, "x" * 300 + "…"),
    ],
)
def test_a_description_is_one_line_in_a_list(text: str, line: str) -> None:
    assert first_line(text) == line


async def test_who_may_call_a_tool_is_asked_about_one_after_the_other(tmp_path: Path) -> None:
    """Each is looked for among all keys: of a gateway with many, calls do not wait for all of that."""
    async with within(tmp_path, DEMO) as console:
        for number in range(20):
            console.gateway.callers.create(f"agent{number:02}", by="test")
        facts = ToolFacts(console.parts)
        tool = console.parts.ground.now.servers.catalogue.present(Target("demo", "add"))
        assert tool is not None
        turns = sum(1 for _ in facts._callers(tool))
        found = (await facts.detail("demo", "add")).callers
        assert [one.agent for one in found[:20]] == [f"agent{one:02}" for one in range(20)]
        assert turns == len(found) == 22


async def test_nobody_is_listed_twice_among_those_who_may_call(tmp_path: Path) -> None:
    """Also those of whom the configuration speaks although each gateway has them."""
    named = "".join(
        f'[[grants]]\nagent = "{one}"\nserver = "demo"\n' for one in ("anonymous", "ann")
    )
    async with within(tmp_path, DEMO + named) as console:
        found = ToolFacts(console.parts).agents()
    assert found == ["ann", "local", "anonymous"]
