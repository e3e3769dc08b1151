from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from gatewright.call import Target, Tool
from gatewright.config import ToolRule
from gatewright.mcp.protocol.mcp_client import Hello
from gatewright.mcp.wire.groundhog import META_TOOL, About
from gatewright.servers.spec import ServerSpec
from gatewright.servers.tool_metadata import about_tool

HELLO = Hello("2025-11-25", {}, {"name": "files", "version": "2.1.0"}, None)
SAID = {
    "name": "list",
    "version": "1.0.0",
    "author": "us",
    "categories": ["filesystem", 7],
    "trust_level": "system",
    "sandbox_level": "container",
    "resource_limits": {"max_memory": 5, "max_execution_time": "x"},
}


def tool(meta: Any) -> Tool:
    raw = {"name": msgspec.Raw(b'"t"'), "_meta": msgspec.Raw(json.dumps(meta).encode())}
    return Tool(Target("files", "t"), "files__t", raw)


def test_a_foreign_tool_is_believed_about_words_and_not_about_trust() -> None:
    """GRH-msg-2."""
    found = about_tool(tool({META_TOOL: SAID}), ServerSpec(id="files"), HELLO)
    assert found == About("t", "1.0.0", "us", ("filesystem",), "verified", "none", {})


def test_a_tool_of_ours_is_what_it_says() -> None:
    found = about_tool(tool({META_TOOL: SAID}), ServerSpec(id="files", local=True), HELLO)
    assert (found.trust_level, found.sandbox_level) == ("system", "container")
    assert found.name == "list"
    assert found.limits == {"max_memory": 5}


@pytest.mark.parametrize(
    ("level", "trust"),
    [
        (None, "verified"),
        ("standard", "verified"),
        ("trusted", "system"),
        ("sandboxed", "community"),
        ("unheard of", "untrusted"),
    ],
)
def test_a_tool_is_trusted_as_far_as_its_server(level: str | None, trust: str) -> None:
    """GRH-msg-2: table 2.4 of the decisions."""
    spec = ServerSpec(id="files", trust_level=level)
    assert about_tool(tool({}), spec, HELLO).trust_level == trust


def test_the_operator_files_a_tool_where_he_wants() -> None:
    spec = ServerSpec(id="files", tools={"t": ToolRule(categories=("ours",))})
    assert about_tool(tool({META_TOOL: SAID}), spec, HELLO).categories == ("ours",)


@pytest.mark.parametrize("meta", [None, 7, [], {}, {META_TOOL: None}, {META_TOOL: "x"}])
def test_a_tool_that_says_nothing_has_its_servers_version(meta: Any) -> None:
    """GRH-msg-4."""
    found = about_tool(tool(meta), ServerSpec(id="files"), HELLO)
    assert (found.name, found.version) == ("t", "2.1.0")
