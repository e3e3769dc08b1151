"""What a tool needs (MGP §4.3) is asked of its caller at every door."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from gatewright.call import UserContext
from tests.behaviour.access_house import KEYED, OFFER, House
from tests.behaviour.gateway import config, running, server
from tests.behaviour.ggen_house import Client
from tests.behaviour.groundhog_client import connected
from tests.behaviour.hosts import RpcError, host

NEEDS = ("shell.execute", "filesystem.read")
HELD: dict[tuple[str, ...], list[str]] = {
    (): list(NEEDS),
    ("filesystem.read",): ["shell.execute"],
    ("shell.execute", "network.outbound"): ["filesystem.read"],
}
"""What a key says that its caller holds → what is missing."""


@pytest.fixture(scope="module")
def needing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A gateway where a tool needs two permissions, and its neighbour none."""
    content = config(
        server("echo", tools={"echo": {"permissions_required": list(NEEDS)}}),
        server("echo", "free"),
        gateway={"anonymous": "deny"},
        approvals={"approver": "caller"},
    )
    with running(tmp_path_factory.mktemp("needing"), content) as gateway:
        yield House(gateway)


def _key(house: House, *permissions: str) -> tuple[str, str]:
    # Of whom a key says nothing, grants are asked; this one says that it holds something else.
    return house.agent(UserContext(permissions=permissions or ("network.outbound",)))


def _reached(house: House, agent: str) -> list[Any]:
    return [
        one
        for one in house.gateway.audit("--agent", agent)
        if one["event_type"] in {"TOOL_EXECUTED", "dev.gatewright.intent"}
        and one["target"].get("server_id") == "echo"
    ]


@pytest.mark.parametrize("held", HELD, ids=lambda held: "+".join(held) or "none")
@pytest.mark.parametrize("door", KEYED)
async def test_a_caller_without_it_is_refused_with_the_name_of_what_is_missing(
    needing: House, door: str, held: tuple[str, ...]
) -> None:
    """MGP-4.3-2: 1000 with what is missing in `details`; nothing reaches the server."""
    agent, key = _key(needing, *held)
    headers = {"authorization": f"Bearer {key}"}
    async with host(needing.gateway, door, can=OFFER, headers=headers) as client:
        with pytest.raises(RpcError) as refused:
            await client.call("echo__echo", message="x")
        assert await client.text("free__echo", message="x") == "x"
    assert refused.value.code == 1000
    assert refused.value.data["_mgp"]["details"] == {"missing_permissions": HELD[held]}
    assert _reached(needing, agent) == []


@pytest.mark.parametrize("door", KEYED)
async def test_a_caller_who_holds_all_of_it_passes(needing: House, door: str) -> None:
    """MGP-4.3-2."""
    agent, key = _key(needing, *NEEDS)
    async with needing.host(door, key) as client:
        assert await client.text("echo__echo", message="x") == "x"
    assert _reached(needing, agent)


@pytest.mark.parametrize("door", ["rpc http", "rpc websocket", "groundhog"])
async def test_and_at_the_doors_of_other_protocols(needing: House, door: str) -> None:
    """MGP-4.3-2, in the words of each."""
    agent, lacking = _key(needing, "filesystem.read")
    able = _key(needing, *NEEDS)[1]
    if door == "groundhog":
        async with connected(needing.gateway.urls["websocket"], lacking) as one:
            call = {"tool_id": "echo__echo", "parameters": {"message": "x"}}
            data = (await one.refusal("tools/invoke", call)).data
            assert data["error_code"] == "permission_denied"
        async with connected(needing.gateway.urls["websocket"], able) as one:
            assert "x" in json.dumps(await one.invoke("echo__echo", {"message": "x"}))
    else:
        async with Client(needing.gateway, door.split()[1], lacking) as client:
            error = (await client.call("echo__echo", message="x"))["error"]
            data = error["data"]
            assert error["code"] == -32005
        async with Client(needing.gateway, door.split()[1], able) as client:
            assert (await client.call("echo__echo", message="x"))["result"] == "x"
    text = json.dumps(data)
    assert "shell.execute" in text
    assert "filesystem.read" not in text
    assert _reached(needing, agent) == []
