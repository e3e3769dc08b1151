"""The patterns of MGP §10.1 as servers, with the examples that ship: agents that work for one, and gateways that call each other."""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.behaviour.event_house import EVERY
from tests.behaviour.gateway import ROOT, Gateway, config, running
from tests.behaviour.hosts import Host, behind, host

PATTERNS = ROOT / "examples" / "patterns"
ALL = ["specialists__shout", "specialists__count", "specialists__mirror"]


def example(name: str, *args: str, **more: Any) -> dict[str, Any]:
    script = str(PATTERNS / f"{name}.py")
    return {"id": name, "command": sys.executable, "args": [script, *args], **more}


@pytest.fixture(scope="module")
def gateways(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Gateway, Gateway]]:
    """One with the agents, and one whose servers put them to work; to that one the first is a server, too."""
    far, near = (tmp_path_factory.mktemp(name) for name in ("far", "near"))
    with running(far, config(example("specialists"))) as remote:
        speaks = {"extensions": ["audit"]}
        content = config(
            example("coordinator", remote.url, mgp=speaks),
            example("federation", f"far={remote.url}", mgp=speaks),
            {"id": "remote", "url": remote.url, "mgp": speaks},
        )
        with running(near, content) as local:
            yield remote, local


async def call(client: Host, trace: str, name: str, /, **arguments: Any) -> Any:
    """What a tool gave, as a value."""
    asked = {"name": name, "arguments": arguments, "trace_id": trace}
    found = await client.request("tools/call", asked)
    assert not found.get("isError"), found
    value = found.get("structuredContent", found["content"][0].get("text"))
    return value["result"] if isinstance(value, dict) and set(value) == {"result"} else value


@pytest.mark.parametrize("door", EVERY)
async def test_a_task_goes_to_many_agents_through_a_chain_or_to_who_knows(
    gateways: tuple[Gateway, Gateway], door: str
) -> None:
    """MGP-10.1-1: fan-out, chain, routing to a specialist."""
    remote, local = gateways
    trace = str(uuid.uuid4())
    async with host(local, door) as client:
        found = await call(client, trace, "coordinator__query_agents")
        assert [one["agent"] for one in found] == ALL
        (expert,) = await call(client, trace, "coordinator__query_agents", skill="statistics")
        assert expert["agent"] == "specialists__count"

        async def done(**asked: Any) -> dict[str, str]:
            ident = await call(client, trace, "coordinator__delegate_task", task="a b c", **asked)
            told = await call(client, trace, "coordinator__collect_results", id=ident, wait_s=30)
            assert told["status"] == "done"
            return dict(told["results"])

        assert await done(agents_=ALL) == dict(zip(ALL, ["A B C", "3 words", "c b a"], strict=True))
        chain = ["specialists__mirror", "specialists__shout"]
        assert await done(agents_=chain, mode="chain") == dict(
            zip(chain, ["c b a", "C B A"], strict=True)
        )
        assert await done(skill="headlines") == {"specialists__shout": "A B C"}
    traced = [one["target"]["tool_name"] for one in executed(remote, trace)]
    assert sorted(traced) == sorted(["shout", "count", "mirror", "mirror", "shout", "shout"])


@pytest.mark.parametrize("door", EVERY)
async def test_gateways_call_each_other_and_each_record_names_the_other(
    gateways: tuple[Gateway, Gateway], door: str
) -> None:
    """MGP-10.1-3: federated_discover, federated_call, and remote tools under local names."""
    remote, local = gateways
    trace = str(uuid.uuid4())
    async with host(local, door) as client:
        found = await call(client, trace, "federation__federated_discover")
        assert [(one["gateway"], one["tool"]) for one in found] == [("far", one) for one in ALL]
        asked = {"gateway": "far", "tool": ALL[0], "arguments": {"task": "far away"}}
        assert "FAR AWAY" in json.dumps(
            await call(client, trace, "federation__federated_call", **asked)
        )
        assert "remote__specialists__count" in await client.tools()
        counted = await call(client, trace, "remote__specialists__count", task="one two")
        assert "2 words" in json.dumps(counted)
        told = {one["target"]["server_id"] for one in executed(behind(client, local), trace)}
        assert told == {"federation", "remote"}
    assert len(executed(remote, trace)) == 2


def executed(gateway: Gateway, trace: str) -> list[dict[str, Any]]:
    """What was called within a trace."""
    return gateway.audit("--trace", trace, "--event", "TOOL_EXECUTED")


def test_a_pattern_is_an_ordinary_program(tmp_path: Path) -> None:
    for one in sorted(PATTERNS.glob("*.py")):
        compile(one.read_text(), str(one), "exec")
        assert "server.run()" in one.read_text()
