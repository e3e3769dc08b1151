"""What the figures of a gateway tell to whom: nothing that a list hides."""

from __future__ import annotations

import json

import aiohttp
import pytest

from tests.behaviour.access_house import House


async def page(house: House, path: str, key: str | None) -> str:
    headers = {} if key is None else {"authorization": f"Bearer {key}"}
    url = house.gateway.url.removesuffix("/mcp") + path
    async with aiohttp.ClientSession() as session, session.get(url, headers=headers) as answer:
        return await answer.text()


@pytest.fixture
async def called(house: House) -> House:
    """The gateway, after a call of a tool that few may use and of one that everybody may."""
    async with house.operator() as client:
        await client.text("echo__echo", message="x")
        await client.text("open__echo", message="x")
    return house


async def test_metrics_name_tools_and_servers_to_who_may_use_them(called: House) -> None:
    """Decision 0030: what a list hides nobody finds out in another way."""
    _, key = called.agent()
    told = await page(called, "/metrics", key)
    assert 'mcp_tool_invocations_total{status="success",tool_id="open__echo"}' in told
    assert 'mcp_tool_invocations_total{status="success",tool_id="_other"}' in told
    assert 'gatewright_server_state{server="open",state="connected"} 1.0' in told
    assert "echo__echo" not in told.replace("open__echo", "")
    assert 'server="asker"' not in told
    whole = await page(called, "/metrics", called.gateway.operator_token)
    assert 'tool_id="echo__echo"' in whole
    assert 'server="asker"' in whole


async def test_readiness_names_servers_to_who_may_use_them(called: House) -> None:
    _, key = called.agent()
    assert json.loads(await page(called, "/readyz", None)) == {"ready": True, "audit": True}
    found = json.loads(await page(called, "/readyz", key))
    assert found["servers"] == {"open": "connected"}
    found = json.loads(await page(called, "/readyz", called.gateway.operator_token))
    assert set(found["servers"]) >= {"open", "echo", "asker"}
