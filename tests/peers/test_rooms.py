"""MCPx participants in TypeScript's manner, each in a process of its own: a client, a bridge before an MCP server, and an agent."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gatewright.rooms.participants.dial import join
from tests.behaviour.gateway import ROOT, Gateway, config, running, server
from tests.peers.peers import driver, listening, run

pytestmark = pytest.mark.peers

TOKENS = {name: f"token-of-{name}-0123456789" for name in ("coder", "calc", "parrot", "ana")}
ECHO = [sys.executable, str(ROOT / "tests" / "tool_servers" / "echo.py")]
WORDS = "I answer whatever I hear"


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway in a room; the agent there answers whatever it hears, and so is given what is put to it alone."""
    people: list[dict[str, Any]] = [
        {"id": name, "token": token, "profile": "full"} for name, token in TOKENS.items()
    ]
    people[2] |= {"mode": "directed", "echo": False}
    rooms = {"participants": people, "kernel": {"topics": ["a table/with:signs&"]}}
    folder: Path = tmp_path_factory.mktemp("table")
    with running(folder, config(server("echo"), rooms=rooms)) as gateway:
        yield gateway


def _participant(
    gateway: Gateway, role: str, name: str, *more: str, path: str = "/ws"
) -> list[str]:
    url = gateway.urls["rooms"].removesuffix("/ws") + path
    return driver("ts_room", role, url, "a table/with:signs&", TOKENS[name], *more)


@pytest.fixture(scope="module")
def seated(table: Gateway) -> Iterator[Gateway]:
    """The same with a bridge and an agent in the room."""
    with (
        listening(_participant(table, "bridge", "calc", *ECHO)) as bridge,
        listening(_participant(table, "agent", "parrot", WORDS)) as agent,
    ):
        assert (bridge, agent) == ("ready calc", "ready parrot")
        yield table


def _call(to: str, name: str, message: str) -> dict[str, Any]:
    params = {"name": name, "arguments": {"message": message}}
    return {"to": to, "method": "tools/call", "params": params}


STEPS = [
    {"to": "calc", "method": "tools/list", "params": {}},
    _call("calc", "echo", "through the bridge"),
    _call("calc", "nothing", "x"),
    {"to": "gatewright", "method": "tools/list", "params": {}},
    _call("gatewright", "echo__echo", "through the gateway"),
    _call("parrot", "anything", "x"),
]


@pytest.mark.parametrize("path", ["/ws", "/v0/ws"])
def test_a_client_calls_a_tool_of_a_server_that_a_bridge_has_seated(
    seated: Gateway, path: str
) -> None:
    """MCPX-9.5-1: whatever the client is sent has every member that its schema wants; each answer is the one of who was asked, although
    the bridge does not name the method in its answers, and the agent would answer for everybody."""
    done = run(_participant(seated, "client", "coder", json.dumps(STEPS), path=path))
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["me"] == "coder"
    assert {"calc", "gatewright", "parrot"} <= set(said["here"])
    tools, called, unknown, all_tools, governed, parroted = said["answers"]
    senders = [one["from"] for one in said["answers"]]
    assert senders == ["calc", "calc", "calc", "gatewright", "gatewright", "parrot"]
    assert [one["name"] for one in tools["result"]["tools"]] == ["echo"]
    assert called["result"]["content"][0]["text"] == "through the bridge"
    assert unknown["error"]["code"] == -32602
    assert "echo__echo" in [one["name"] for one in all_tools["result"]["tools"]]
    assert governed["result"]["content"][0]["text"] == "through the gateway"
    assert parroted["result"]["content"][0]["text"] == WORDS


async def test_a_participant_of_ours_calls_the_server_behind_a_foreign_bridge(
    seated: Gateway,
) -> None:
    """MCPX-9.5-1 the other way: the answer of a bridge counts although its kind names no method."""
    url = seated.urls["rooms"]
    async with join(url, topic="a table/with:signs&", token=TOKENS["ana"]) as ana:
        async with asyncio.timeout(30):
            params = {"name": "echo", "arguments": {"message": "from ana"}}
            found = await ana.request("calc", "tools/call", params)
            agent = await ana.request("parrot", "tools/call", {"name": "x", "arguments": {}})
    assert found["content"][0]["text"] == "from ana"
    assert agent["content"][0]["text"] == WORDS
