"""The echo servers speak both eras, whole and in pieces, over stdio and HTTP."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.commands import echo_http, echo_stdio
from benchmarks.mcp_client import Session
from benchmarks.servers.echo import Echo
from benchmarks.stdio_client import stdio_client

_MODERN = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}


def _ask(echo: Echo, method: str, params: dict[str, Any]) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "id": "a", "method": method, "params": params}
    answer = echo.answer(json.dumps(message).encode())
    assert isinstance(answer, bytes)
    found: dict[str, Any] = json.loads(answer)
    return found


def test_the_era_of_a_request_decides_the_form_of_its_result() -> None:
    asked = {"name": "echo", "arguments": {"text": 'ä"\n'}}
    content = [{"type": "text", "text": 'ä"\n'}]
    legacy = _ask(Echo(), "tools/call", asked)
    modern = _ask(Echo(), "tools/call", asked | _MODERN)
    assert legacy == {"jsonrpc": "2.0", "id": "a", "result": {"content": content}}
    assert modern["result"] == {"content": content, "resultType": "complete"}
    assert _ask(Echo(), "server/discover", _MODERN)["result"]["supportedVersions"] == ["2026-07-28"]
    assert _ask(Echo(), "initialize", {})["result"]["protocolVersion"] == "2025-11-25"


@pytest.mark.parametrize(
    ("era", "method", "params"),
    [
        ("legacy", "server/discover", _MODERN),
        ("modern", "initialize", {}),
        ("both", "initialize", _MODERN),
        ("both", "server/discover", {}),
    ],
)
def test_a_method_of_the_other_era_is_not_known(
    era: str, method: str, params: dict[str, Any]
) -> None:
    assert _ask(Echo(era), method, params)["error"]["code"] == -32601


def test_a_list_has_as_many_tools_as_asked_for_with_names_of_their_own() -> None:
    listed = _ask(Echo(tools=1000), "tools/list", {})["result"]["tools"]
    assert len({tool["name"] for tool in listed}) == 1000


def test_a_sleeper_holds_up_nobody_over_stdio(tmp_path: Path) -> None:
    with stdio_client("echo", echo_stdio(), tmp_path) as client:
        slow = {"name": "sleep", "arguments": {"text": "slow", "seconds": 0.1}}
        fast = {"name": "echo", "arguments": {"text": "fast"}}
        results = client.ask_all("tools/call", [slow, fast, slow])
        assert [one["content"][0]["text"] for one in results] == ["fast", "slow", "slow"]
        taken = client.echo("echo", 0.05)
        assert taken
        assert all(seconds > 0 for seconds in taken)


def test_a_sleeper_is_answered_over_http(tmp_path: Path) -> None:
    with echo_http(tmp_path) as server:
        session = Session(server.url)
        session.open()
        asked = {"name": "sleep", "arguments": {"text": "slow", "seconds": 0.1}}
        assert session.ask("tools/call", asked)["content"][0]["text"] == "slow"
        session.close()
