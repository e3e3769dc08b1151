"""How long servers stay that are registered while the gateway runs, and how many there may be (MGP §15.4)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import aiohttp

from tests.behaviour.registration_house import REGISTERS, registry_in, said, seed_request

REGISTER, BOUND = "mgp/discovery/register", "http 2025-11-25"


def tool(ident: str, name: str = "shout") -> str:
    return f"{ident.replace('.', '_')}__{name}"


async def test_bounds_hold_for_each_caller_and_for_all(tmp_path: Path) -> None:
    with registry_in(tmp_path, said(per_caller=1, total=2)) as registry:
        keys = [registry.agent(REGISTERS)[1] for _ in range(3)]
        for number, key in enumerate(keys):
            async with registry.host(BOUND, key) as client:
                if number < 2:
                    await client.request(REGISTER, seed_request(f"dynamic.a{number}x"))
                refused = await registry.refused(client, seed_request("dynamic.b"))
                assert refused.code == 3001


async def test_it_survives_reload_and_restart_and_a_configured_id_wins(tmp_path: Path) -> None:
    with registry_in(tmp_path) as registry:
        _, key = registry.agent(REGISTERS)
        async with registry.host(BOUND, key) as client:
            await client.request(REGISTER, seed_request())
            await client.request(REGISTER, seed_request("dynamic.other"))
            registry.gateway.reload({**said(), "limits": {"call_timeout_s": 20}})
            assert await client.text(tool("dynamic.custom_tool"), text="a") == "A"
    with registry_in(tmp_path) as registry:
        (tmp_path / "scripts" / "mcp_custom.py").unlink()
        async with registry.host(BOUND, key) as client:
            async with asyncio.timeout(20):
                while tool("dynamic.other") not in await client.tools():
                    await asyncio.sleep(0.05)
            assert await client.text(tool("dynamic.custom_tool"), text="b") == "B"
        content = said()
        mine = {**content["servers"][0], "id": "dynamic.custom_tool"}
        registry.gateway.reload({**content, "servers": [*content["servers"], mine]})
        async with registry.operator() as operator:
            entry = await registry.listed(operator, "dynamic.custom_tool")
            assert entry is not None
            assert (entry["tools"], "created_by" in entry) == (
                [tool("dynamic.custom_tool", "echo")],
                False,
            )
            assert await registry.listed(operator, "dynamic.other") is not None
        registry.gateway.reload(content)
        async with registry.operator() as operator:
            assert await registry.listed(operator, "dynamic.custom_tool") is None


async def test_it_ends_with_the_session_of_its_creator(tmp_path: Path) -> None:
    with registry_in(tmp_path, said(lifetime="session")) as registry:
        _, key = registry.agent(REGISTERS)
        async with registry.operator() as operator:

            async def gone(ident: str) -> None:
                async with asyncio.timeout(20):
                    while await registry.listed(operator, ident) is not None:
                        await asyncio.sleep(0.1)

            for number, door in enumerate((BOUND, "websocket 2025-11-25")):
                ident = f"dynamic.s{number}x"
                async with registry.host(door, key) as client:
                    refused = await registry.refused(client, seed_request(lifetime="persistent"))
                    assert refused.code == 1000
                    made = await client.request(REGISTER, seed_request(ident))
                    assert made["lifetime"] == "session"
                    assert await client.text(tool(ident), text="here") == "HERE"
                    if door == BOUND:
                        headers = {
                            "authorization": f"Bearer {key}",
                            "mcp-session-id": str(client.session),
                        }
                        async with aiohttp.ClientSession(headers=headers) as http:
                            assert (await http.delete(registry.gateway.url)).status < 300
                await gone(ident)
        async with registry.host("http 2026-07-28", key) as client:
            assert (await registry.refused(client, seed_request("dynamic.b"))).code == -32602
