"""Agents of three frameworks, each with a scripted model and no network, call tools through the gateway.

Each runs in an environment of its own, which `make agents` installs. The server behind the gateway is a shop written with the SDK.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

import pytest

from tests.behaviour.gateway import ROOT, Gateway, config, running
from tests.peers.peers import run

pytestmark = [pytest.mark.agents, pytest.mark.timeout(150)]

DRIVERS = ROOT / "tests" / "agents" / "drivers"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway in front of the shop; what orders something is not for agents."""
    shop = {
        "id": "shop",
        "command": sys.executable,
        "args": [str(ROOT / "examples" / "sdk" / "orders.py")],
        "mgp": {"extensions": ["security"]},
    }
    grants = [
        {"agent": "*", "server": "shop"},
        {"agent": "*", "server": "shop", "tool": "order", "permission": "deny"},
    ]
    with running(tmp_path_factory.mktemp("shop"), config(shop, grants=grants)) as gateway:
        yield gateway


@pytest.mark.parametrize("framework", ["langchain", "openai", "pydantic"])
def test_an_agent_calls_a_governed_tool_and_reads_what_was_wrong(
    house: Gateway, framework: str
) -> None:
    python = ROOT / ".peers" / f"agents-{framework}" / "bin" / "python"
    done = run([str(python), str(DRIVERS / f"{framework}_agent.py"), house.url])
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["tools"] == ["shop__total"]
    right, wrong = found["said"]
    assert "5.5" in right
    assert "nothing to add up" in wrong
    assert found["last"] == "That is 5.5."
    called = [one for one in house.audit("--tool", "total") if one.get("outcome") == "success"]
    assert called
