"""`tool export`: what the gateway lists, or what a module declares, as a document for others."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from tests.cli.endpoints import Endpoint
from tests.cli.shell import Shell

TOOL: dict[str, Any] = {
    "name": "demo__echo",
    "description": "Say it again.",
    "inputSchema": {
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
    },
}
MODULE = '''
from gatewright.sdk import mcp_tool

@mcp_tool(category="finance", author="me")
def analyze(symbol: str) -> str:
    """Analyze a stock."""
    return symbol
'''


@pytest.fixture
def tools(endpoint: Endpoint) -> Endpoint:
    endpoint.replies["tools/list"] = lambda _: {"tools": [TOOL, {**TOOL, "name": "demo__other"}]}
    return endpoint


def test_the_catalogue_is_what_the_gateway_lists(shell: Shell, tools: Endpoint) -> None:
    """GGEN-exp-1, GGEN-exp-2"""
    found = shell.run("tool", "export", "--json").document
    assert [one["name"] for one in found["tools"]] == ["demo__echo", "demo__other"]
    assert found["tools"][0] == {**TOOL, "tags": ["demo", "echo"]}
    assert dt.datetime.fromisoformat(found["generated_at"]).tzinfo is not None


def test_one_tool_is_written_with_an_example_that_fits(shell: Shell, tools: Endpoint) -> None:
    """GGEN-exp-3, GGEN-exp-4"""
    found = shell.run("tool", "export", "demo__echo", "--form", "tool", "--json").document
    assert found["schema"] == TOOL["inputSchema"]
    assert found["examples"][0] == {"text": "text"}


@pytest.mark.parametrize("form", ["mcp", "openai", "anthropic", "gemini"])
def test_each_api_gets_its_own_list(shell: Shell, tools: Endpoint, form: str) -> None:
    done = shell.run("tool", "export", "demo__echo", "--form", form, "--json")
    assert (done.code, done.err) == (0, "")
    assert "demo__echo" in done.out


def test_a_module_is_exported_without_a_gateway_and_its_problems_are_said(shell: Shell) -> None:
    """CDM-api-3: what is broken is left out and named."""
    for name in ("stock", "broken"):
        (shell.folder / "tools" / name).mkdir(parents=True)
    shell.write("tools/stock/mcp_tools.py", MODULE)
    shell.write("tools/broken/mcp_tools.py", "raise OSError('no disk')\n")
    done = shell.run("tool", "export", "--from", "./tools", "--json")
    assert done.code == 0
    assert done.document["tools"][0]["name"] == "stock_analyze"
    assert done.document["tools"][0]["tags"] == ["financial", "stock", "analysis"]
    assert "left out: broken.mcp_tools: OSError: no disk" in done.err


def test_what_is_not_there_is_a_usage_error(shell: Shell, tools: Endpoint) -> None:
    for words in (("nothing",), ("--from", "./no/such"), ("--form", "tool")):
        done = shell.run("tool", "export", *words, "--json")
        assert done.code == 2
        assert done.error["code"] in {"usage", "tool_not_found"}
