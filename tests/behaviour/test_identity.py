"""Who somebody is and what that allows, at every door that asks for a key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gatewright.call import UserContext
from gatewright.mcp.wire.permissions import held_permission
from tests.behaviour.access_house import KEYED, House
from tests.behaviour.gateway import config, running, server
from tests.behaviour.hosts import DOORS, Host, RpcError, host


def _user(*permissions: str, **more: Any) -> UserContext:
    held = tuple(held_permission(one) or one for one in permissions)
    return UserContext(permissions=held, **more)


async def _refusal(client: Host, tool: str, **arguments: Any) -> str:
    """The reason for which a call is refused."""
    with pytest.raises(RpcError) as caught:
        await client.call(tool, **arguments)
    reason: str = caught.value.data["_mgp"]["details"].get("reason", "")
    return f"{caught.value.code} {reason}".strip()


@pytest.mark.parametrize("door", KEYED)
async def test_a_key_calls_and_sees_the_tools_that_it_names(house: House, door: str) -> None:
    """GGEN-auth-4, GGEN-auth-5, GGEN-auth-6 and GGEN-auth-11"""
    _, key = house.agent(_user("ToolInvoke(echo/echo)", "ToolRead(open/echo)"))
    async with house.host(door, key) as client:
        assert await client.tools() == ["open__echo"]
        assert await client.text("echo__echo", message="hello") == "hello"
        assert (await _refusal(client, "open__echo", message="x")).startswith("1000")


@pytest.mark.parametrize("door", KEYED)
async def test_the_right_to_list_all_shows_all_and_the_right_to_call_none(
    house: House, door: str
) -> None:
    """GGEN-auth-6 and decision C-32."""
    _, key = house.agent(_user("ToolsListAll"))
    async with house.host(door, key) as client:
        assert {"echo__echo", "open__echo"} <= set(await client.tools())
    _, key = house.agent(_user("ToolInvoke(open/echo)"))
    async with house.host(door, key) as client:
        with pytest.raises(RpcError) as caught:
            await client.tools()
        assert caught.value.code == 1000


@pytest.mark.parametrize("door", KEYED)
async def test_what_leads_outside_the_allowed_resources_is_refused(house: House, door: str) -> None:
    """GRH-sec-5: a path outside → path_not_allowed; and GRH-sec-8: the record shows what was applied."""
    name, key = house.agent(_user(resources=("/srv/data/**",), role="analyst"))
    async with house.host(door, key) as client:
        assert await client.text("open__echo", message="/srv/data/x") == "/srv/data/x"
        assert await _refusal(client, "open__echo", message="/etc/passwd") == (
            "1010 Path not in allowed list"
        )
    ended = house.gateway.audit("--agent", name)
    assert [one["details"]["constraints"]["allowed_resources"] for one in ended] == [
        [["/srv/data/**"]]
    ] * 2


async def test_resources_outside_are_hidden_and_not_read(house: House) -> None:
    """GRH-sec-5"""
    name, key = house.agent(_user(resources=("asker:///alpha",)))
    async with house.operator() as client:
        grant = {"agent_id": name, "server_id": "asker", "entry_type": "server_grant"}
        await client.request("mgp/access/grant", grant)
    async with house.host("http 2025-11-25", key) as client:
        listed = (await client.request("resources/list"))["resources"]
        assert [one["uri"] for one in listed] == ["asker:///alpha"]
        found = await client.request("resources/read", {"uri": "asker:///alpha"})
        assert found["contents"][0]["uri"] == "asker:///alpha"
        for method in ("resources/read", "resources/subscribe"):
            with pytest.raises(RpcError) as caught:
                await client.request(method, {"uri": "asker:///beta"})
            assert caught.value.code == 1010


async def test_a_prompt_is_not_told_of_what_leads_outside_the_allowed_resources(
    house: House,
) -> None:
    """GRH-sec-5"""
    name, key = house.agent(_user(resources=("/srv/data/**",)))
    async with house.operator() as client:
        grant = {"agent_id": name, "server_id": "asker", "entry_type": "server_grant"}
        await client.request("mgp/access/grant", grant)
    async with house.host("http 2025-11-25", key) as client:
        asked = {"name": "asker__greet", "arguments": {"who": "/srv/data/x"}}
        found = await client.request("prompts/get", asked)
        assert found["messages"][0]["content"]["text"] == "Hello /srv/data/x"
        with pytest.raises(RpcError) as caught:
            await client.request("prompts/get", {**asked, "arguments": {"who": "/etc/passwd"}})
        assert caught.value.code == 1010


async def test_what_the_configuration_says_holds_at_every_door_and_from_a_reload_on(
    tmp_path: Path,
) -> None:
    """GRH-sec-4: those whom nobody trusts call what is known to be safe."""
    can = {"mgp": {"version": "0.2.0", "extensions": []}}
    with running(tmp_path, config(server("echo"))) as gateway:
        async with host(gateway, DOORS[0], can=can) as client:
            assert await client.text("echo__echo", message="x") == "x"
            gateway.reload(config(server("echo"), agents={"*": {"trust_level": "untrusted"}}))
            assert (await _refusal(client, "echo__echo", message="x")).startswith("1001")
        for door in DOORS:
            async with host(gateway, door, can=can) as client:
                assert await client.tools() == []
                assert (await _refusal(client, "echo__echo", message="x")).startswith("1001")


@pytest.mark.parametrize("door", ["http 2025-11-25", "websocket 2025-11-25", "sse 2025-11-25"])
async def test_a_session_is_seen_by_operators_and_by_its_caller_alone(
    house: House, door: str
) -> None:
    """GRH-sec-1 and GRH-sec-3"""
    name, key = house.agent(_user("read:filesystem", role="analyst", trust="community"))
    _, other = house.agent()
    async with house.host(door, key) as client, house.operator() as operator:
        for asked in (client, operator):
            found = (await asked.request("gatewright/session/list"))["sessions"]
            (mine,) = [one for one in found if one["user_context"]["user_id"] == name]
            assert mine["door"] == door.split(maxsplit=1)[0]
            assert mine["user_context"]["role"] == "analyst"
            assert mine["permissions"] == ["filesystem.read"]
            assert (mine["expires_at"] is None) != (door.startswith("http"))
        async with house.host("http 2026-07-28", other) as stranger:
            found = (await stranger.request("gatewright/session/list"))["sessions"]
            assert found == []


@pytest.mark.parametrize("door", ["http 2025-11-25", "http 2026-07-28", "websocket 2025-11-25"])
async def test_whoever_may_read_the_registry_sees_all_of_it(house: House, door: str) -> None:
    """GGEN-auth-8: AdminRead reads all registrations, and gives nothing else."""
    can = {"mgp": {"version": "0.2.0", "extensions": ["discovery", "access_control"]}}
    _, plain = house.agent()
    _, reader = house.agent(_user("AdminRead"))
    seen: dict[str, dict[str, list[str]]] = {}
    for key in (plain, reader):
        async with house.host(door, key, can) as client:
            listed = (await client.request("mgp/discovery/list"))["servers"]
            seen[key] = {one["id"]: one["tools"] for one in listed}
            assert all("reason" not in one for one in listed)
    assert set(seen[plain]) == {"open"}
    assert {"echo", "open", "asker"} <= set(seen[reader])
    assert seen[reader]["echo"] == ["echo__echo"]
    async with house.host(door, reader, can) as client:
        assert (await _refusal(client, "open__echo", message="x")).startswith("1000")
