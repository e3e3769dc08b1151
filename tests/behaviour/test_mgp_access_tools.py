"""MGP §5 for hosts that know no MGP: the methods as tools of the kernel."""

from __future__ import annotations

import json

import pytest

from tests.behaviour.access_house import KEYED, House, about, seed_grant
from tests.behaviour.hosts import DOORS, RpcError

SPELLINGS = {
    "mgp_access_query": "mgp_access_grant",
    "mgp.access.query": "mgp.access.grant",
    "mgp/access/query": "mgp/access/grant",
}


@pytest.mark.parametrize("door", KEYED)
async def test_an_operators_host_has_the_methods_as_tools(house: House, door: str) -> None:
    """MGP-5.4-1, MGP-5.4-2 and MGP-5.4-3 for hosts that know no MGP; every spelling of a name is one tool."""
    async with house.host(door, house.gateway.operator_token, {"none": {}}) as client:
        assert {"mgp_access_query", "mgp_access_grant", "mgp_access_revoke"} <= set(
            await client.tools()
        )
        for query, grant in SPELLINGS.items():
            agent, _ = house.agent()
            before = json.loads(await client.text(query, **about(agent)))
            assert (before["permission"], before["source"]) == ("deny", "default_policy")
            await client.call(grant, **seed_grant(agent))
            result = await client.call(query, **about(agent))
            after = json.loads(result["content"][0]["text"])
            assert (after["permission"], after["source"]) == ("allow", "server_grant")
            await client.call("mgp_access_revoke", agent_id=agent, server_id="echo")
            assert json.loads(await client.text(query, **about(agent))) == before
        wrong = seed_grant("x", entry_type="tool_grant")
        if door.endswith(("2025-11-25", "2026-07-28")) and not door.startswith("rpc"):
            refused = await client.call("mgp_access_grant", **wrong)
            assert refused["isError"] is True
            assert '"invalid_args"' in refused["content"][0]["text"]
        else:
            with pytest.raises(RpcError) as caught:
                await client.call("mgp_access_grant", **wrong)
            assert caught.value.data["reason"] == "invalid_args"
    (record, *_) = house.gateway.audit("--tool", "access.query", "--limit", "1")
    assert record["target"] == {"server_id": "mgp", "tool_name": "access.query"}


@pytest.mark.parametrize("door", DOORS)
async def test_the_kernels_tools_are_no_agents(house: House, door: str) -> None:
    """MGP-5.4-6: neither shown nor callable, for the owner of the pipes neither."""
    agent, key = ("local", "") if door.startswith("stdio") else house.agent()
    async with house.host(door, key) as client:
        assert not [name for name in await client.tools() if name.startswith("mgp")]
        with pytest.raises(RpcError) as caught:
            await client.call("mgp_access_grant", **seed_grant(agent))
        assert caught.value.code == 1001


async def test_not_even_a_grant_of_the_tool_lets_an_agent_grant(house: House) -> None:
    """MGP-5.4-6: it may ask about itself, and no more."""
    agent, key = house.agent()
    async with house.operator() as operator, house.host("http 2025-11-25", key) as client:
        given = {"server_id": "mgp", "entry_type": "server_grant"}
        await operator.request("mgp/access/grant", {**seed_grant(agent), **given})
        found = await client.call("mgp_access_query", **about(agent))
        assert found["structuredContent"]["permission"] == "deny"
        with pytest.raises(RpcError) as caught:
            await client.call("mgp_access_grant", **seed_grant(agent))
        assert caught.value.code == 1000
