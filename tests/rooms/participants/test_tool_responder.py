"""Tools that a participant offers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gatewright.mcp.wire import jsonrpc
from gatewright.mcpx.envelope import Envelope
from gatewright.rooms.participants.tool_responder import ToolError, Tools

FROM_ADA = Envelope("e", "ada", "mcp/request:tools/call", ("sums",), None, None, b"{}", b"")


async def _add(sender: str, a: int, b: int = 1) -> Any:
    if a < 0:
        raise ToolError(f"{sender}: no negative numbers")
    return a + b


@pytest.fixture
def tools() -> Tools:
    made = Tools("sums")
    number = {"type": "integer"}
    made.offer("add", "Adds.", {"a": number, "b": number}, _add, ["a"])
    return made


async def _ask(tools: Tools, method: str, params: Any = None) -> dict[str, Any]:
    answer = await tools(jsonrpc.request(b"1", method, params or {}), FROM_ADA)
    assert answer is not None
    found: dict[str, Any] = json.loads(answer)
    return found


async def test_a_server_of_tools_says_hello_lists_and_calls(tools: Tools) -> None:
    """MCPX-2.1-3, MCPX-8.2-2."""
    hello = await _ask(tools, "initialize", {"protocolVersion": "2025-06-18"})
    assert hello["result"]["protocolVersion"] == "2025-06-18"
    assert hello["result"]["capabilities"] == {"tools": {}}
    assert (await _ask(tools, "ping"))["result"] == {}
    (listed,) = (await _ask(tools, "tools/list"))["result"]["tools"]
    assert (listed["name"], listed["inputSchema"]["required"]) == ("add", ["a"])
    called = (await _ask(tools, "tools/call", {"name": "add", "arguments": {"a": 2}}))["result"]
    assert called["structuredContent"] == {"result": 3}
    assert json.loads(called["content"][0]["text"]) == {"result": 3}


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("tools/call", {"name": "sub"}, -32602),
        ("tools/call", {"name": "add", "arguments": {"a": "x"}}, -32602),
        ("tools/call", {"name": "add", "arguments": {"a": 1, "c": 1}}, -32602),
        ("resources/list", {}, -32601),
    ],
)
async def test_what_cannot_be_answered_gets_a_named_error(
    tools: Tools, method: str, params: Any, code: int
) -> None:
    assert (await _ask(tools, method, params))["error"]["code"] == code


async def test_a_tool_that_says_no_answers_with_its_sentence(tools: Tools) -> None:
    called = await _ask(tools, "tools/call", {"name": "add", "arguments": {"a": -1}})
    assert called["result"]["isError"] is True
    assert called["result"]["content"][0]["text"] == "ada: no negative numbers"


async def test_notifications_are_not_answered(tools: Tools) -> None:
    assert await tools(jsonrpc.notification("notifications/initialized"), FROM_ADA) is None


async def test_a_value_that_does_not_fit_is_not_repeated_at_length(tools: Tools) -> None:
    params = {"name": "add", "arguments": {"a": "x" * 200_000}}
    assert len((await _ask(tools, "tools/call", params))["error"]["message"]) <= 300
