"""MGP §15.4 and §15.5: servers that are registered and deregistered while the gateway runs, through every door."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.behaviour.access_house import KEYED, code_of
from tests.behaviour.event_house import EVERY
from tests.behaviour.hosts import RpcError, host
from tests.behaviour.registration_house import (
    OFFER,
    REGISTERS,
    Registry,
    registry_in,
    said,
    seed_request,
)

REGISTER, DEREGISTER = "mgp/discovery/register", "mgp/discovery/deregister"
_COUNT = itertools.count(1)
NET = "import socket\n"
BOUND = "http 2025-11-25"
BOTH = tuple(door for door in EVERY if door in KEYED)
"""Each door at which a key is shown, in each era."""


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with registry_in(tmp_path_factory.mktemp("registry"), said(total=500)) as found:
        yield found


def fresh(space: str = "dynamic.") -> str:
    return f"{space}tool{next(_COUNT)}x"


def tool(ident: str, name: str = "shout") -> str:
    return f"{ident.replace('.', '_')}__{name}"


@pytest.mark.parametrize("door", KEYED)
async def test_the_request_of_the_specification_starts_and_lists_a_server(
    registry: Registry, door: str
) -> None:
    """MGP-15.4-1, MGP-15.4-3, MGP-15.5-1: registered, listed, called, refused twice, deregistered."""
    ident = fresh()
    async with registry.operator(door) as client:
        made = await client.request(REGISTER, seed_request(ident))
        assert (made["status"], made["tools"]) == ("connected", [tool(ident)])
        entry = await registry.listed(client, ident)
        assert entry is not None
        assert (entry["status"], entry["tools"]) == ("connected", [tool(ident)])
        assert entry["created_by"] == "agent.cloto_default"
        assert await client.text(tool(ident), text="seed") == "SEED"
        again = await registry.refused(client, seed_request(ident))
        assert (again.code, again.data["reason"]) == (4000, "registration_conflict")
        gone = await client.request(DEREGISTER, {"id": ident, "reason": "no_longer_needed"})
        assert (gone["id"], gone["status"]) == (ident, "deregistered")
        assert await registry.listed(client, ident) is None
        assert await code_of(client, DEREGISTER, {"id": ident, "reason": "twice"}) != 0
    (registered,) = registry.records("dev.gatewright.server.registered", ident)
    assert registered["details"]["justification"] == "Agent needs custom data processing tool"
    assert registered["actor"]["type"] == "operator"
    (left,) = registry.records("SERVER_DISCONNECTED", ident)
    assert "no_longer_needed" in str(left["details"])


async def test_the_door_of_the_owners_host_offers_neither(registry: Registry) -> None:
    async with host(registry.gateway, "stdio 2025-11-25", can=OFFER) as client:
        assert await code_of(client, REGISTER, seed_request(fresh())) == -32601
        assert await code_of(client, DEREGISTER, {"id": "echo", "reason": ""}) == -32601


@pytest.mark.parametrize("door", ["stdio 2025-11-25", "stdio 2026-07-28"])
async def test_on_pipes_a_host_registers_that_holds_the_permission(
    tmp_path: Path, door: str
) -> None:
    """MGP-15.4-1, MGP-15.4-2, MGP-15.4-3, MGP-15.5-1, MGP-15.5-2: its gateway takes it for an agent like any other."""
    script = str(tmp_path / "scripts" / "mcp_custom.py")
    blocked = str(tmp_path / "scripts" / "blocked.py")
    holds = ["ToolsListAll", "ToolInvoke(dynamic.*)", "ToolInvoke(echo*)", "AdminWrite"]
    content = said(folders=[str(tmp_path / "scripts")]) | {"agents": {"local": {"permissions": holds}}}  # fmt: skip
    with registry_in(tmp_path, content) as found:
        found.script("blocked", NET)
        async with host(found.gateway, door, can=OFFER) as client:
            ident = fresh()
            sandboxed = {"args": [blocked], "mgp": {"trust_level": "sandboxed"}}
            assert (await found.refused(client, seed_request(ident) | sandboxed)).code == 1011
            made = await client.request(REGISTER, seed_request(ident, args=[script]))
            assert (made["status"], made["tools"]) == ("connected", [tool(ident)])
            assert (await found.listed(client, ident) or {})["status"] == "connected"
            assert await client.text(tool(ident), text="seed") == "SEED"
            again = await found.refused(client, seed_request(ident, args=[script]))
            assert again.data["reason"] == "registration_conflict"
            running = asyncio.create_task(client.text(tool(ident), text="late", wait=1.5))
            await asyncio.sleep(0.3)
            gone = await client.request(DEREGISTER, {"id": ident, "reason": "no_longer_needed"})
            assert (gone["id"], gone["status"]) == (ident, "deregistered")
            with pytest.raises(RpcError):
                await client.call(tool(ident), text="new")
            assert await running == "LATE"
            assert await found.listed(client, ident) is None
            for other in (ident, "echo", "dynamic.none"):
                assert await code_of(client, DEREGISTER, {"id": other, "reason": "x"}) != 0
            assert await client.text("echo__echo", message="still") == "still"


async def test_without_the_extension_the_methods_do_not_exist(registry: Registry) -> None:
    """MGP-1.2-2"""
    plain = {"mgp": {"version": "0.2.0", "extensions": ["security"]}}
    async with registry.host(BOUND, registry.gateway.operator_token, plain) as client:
        assert await code_of(client, REGISTER, seed_request(fresh())) == -32601


# -- what ends


@pytest.mark.parametrize("door", BOTH)
async def test_calls_that_run_come_to_their_end_and_new_ones_do_not_begin(
    registry: Registry, door: str
) -> None:
    """MGP-15.5-1: it is drained."""
    ident = fresh()
    async with registry.operator(door) as client, registry.operator(door) as other:
        await client.request(REGISTER, seed_request(ident))
        running = asyncio.create_task(client.text(tool(ident), text="late", wait=1.5))
        await asyncio.sleep(0.3)
        await other.request(DEREGISTER, {"id": ident, "reason": "drained"})
        with pytest.raises(RpcError):
            await other.call(tool(ident), text="new")
        assert not registry.records("SERVER_DISCONNECTED", ident)
        assert await running == "LATE"
        async with asyncio.timeout(20):
            while not registry.records("SERVER_DISCONNECTED", ident):
                await asyncio.sleep(0.1)


@pytest.mark.parametrize("door", KEYED)
async def test_what_is_configured_or_unknown_is_not_deregistered(
    registry: Registry, door: str
) -> None:
    """MGP-15.5-2"""
    async with registry.operator(door) as client:
        before = await client.request("mgp/discovery/list")
        for ident, reason in (("echo", "registration_conflict"), ("dynamic.none", "not_found")):
            with pytest.raises(RpcError) as caught:
                await client.request(DEREGISTER, {"id": ident, "reason": "x"})
            assert caught.value.data["reason"] == reason
        assert (await client.request("mgp/discovery/list"))["servers"] == before["servers"]
        assert await client.text("echo__echo", message="still") == "still"


# -- who may


async def test_an_agent_needs_the_permission_and_is_recorded_whatever_it_says(
    registry: Registry,
) -> None:
    """C-17, GGEN-auth-7: who registers is known from authentication, and ends what it registered."""
    _, plain = registry.agent()
    name, key = registry.agent(REGISTERS)
    ident = fresh()
    async with registry.host(BOUND, plain) as client:
        assert await code_of(client, REGISTER, seed_request(ident)) == -32601
        assert await code_of(client, DEREGISTER, {"id": "echo"}) == -32601
    async with registry.host(BOUND, key) as client:
        made = await client.request(REGISTER, seed_request(ident, created_by="somebody else"))
        assert made["created_by"] == name
        assert await client.text(tool(ident), text="mine") == "MINE"
        await client.request(DEREGISTER, {"id": ident})
        assert await code_of(client, DEREGISTER, {"id": ident}) != 0
        assert tool(ident) not in await client.tools()
    (registered,) = registry.records("dev.gatewright.server.registered", ident)
    assert registered["actor"]["id"] == name
    assert registered["details"]["created_by"] == "somebody else"
    assert len(registered["details"]["code_sha256"]) == 64


async def test_what_an_agent_registers_is_there_for_itself_alone_by_default(
    registry: Registry,
) -> None:
    ident = fresh()
    _, key = registry.agent(REGISTERS)
    other, others = registry.agent(REGISTERS)
    async with (
        registry.host(BOUND, key) as mine,
        registry.host(BOUND, others) as theirs,
        host(registry.gateway, "stdio 2025-11-25", can=OFFER) as owner,
        registry.operator() as operator,
    ):
        await mine.request(REGISTER, seed_request(ident))
        assert tool(ident) in await mine.tools()
        for stranger in (theirs, owner):
            assert tool(ident) not in await stranger.tools()
            assert await registry.listed(stranger, ident) is None
            with pytest.raises(RpcError):
                await stranger.call(tool(ident), text="x")
        with pytest.raises(RpcError) as caught:
            await theirs.request(DEREGISTER, {"id": ident, "reason": "mischief"})
        assert caught.value.data["reason"] == "not_found"
        grant = {"agent_id": other, "server_id": ident}
        await operator.request("mgp/access/grant", {**grant, "entry_type": "server_grant"})
        assert await theirs.text(tool(ident), text="granted") == "GRANTED"
        with pytest.raises(RpcError) as caught:
            await theirs.request(DEREGISTER, {"id": ident, "reason": "mischief"})
        assert caught.value.code == 1000
        await mine.request(DEREGISTER, {"id": ident, "reason": "done"})
        # Its id stays its own: that grant was for what it registers.
        assert (await registry.refused(theirs, seed_request(ident))).code == 4000
        await mine.request(REGISTER, seed_request(ident))


# -- what may be


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"justification": " "}, -32602),
        ({"justification": None}, -32602),
        ({"id": "own name"}, -32602),
        ({"id": "."}, -32602),
        ({"id": "x" * 65}, -32602),
        ({"command": ""}, -32602),
        ({"transport": "http"}, -32602),
        ({"args": ["a"] * 65}, -32602),
        ({"args": ["${secret:KEY}"]}, -32602),
        ({"env": {"TOKEN": "${HOME}"}}, -32602),
        ({"env": {"LD_PRELOAD": "x.so"}}, -32602),
        ({"env": {"HTTPS_PROXY": "http://x"}}, -32602),
        ({"mgp": {"permissions_required": ["\u0000"]}}, -32602),
        ({"mgp": {"trust_level": "root"}}, -32602),
        ({"id": "echo"}, 4000),
        ({"id": "Echo"}, 4000),
        ({"id": "ech0"}, 4000),
        ({"id": "echo.more"}, 4000),
        ({"id": "echo__more"}, 4000),
        ({"id": "mgp"}, 4000),
        ({"id": "gatewr1ght"}, 4000),
    ],
)
async def test_what_a_configuration_could_not_have_is_not_registered(
    registry: Registry, change: dict[str, Any], code: int
) -> None:
    request = {key: one for key, one in seed_request(fresh(), **change).items() if one is not None}
    async with registry.operator(BOUND) as client:
        assert (await registry.refused(client, request)).code == code


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"id": "custom_tool"}, -32602),
        ({"id": "dynamic."}, -32602),
        ({"command": "sh", "args": ["-c", "id"]}, 1000),
        ({"command": "/usr/bin/python3"}, 1000),
        ({"args": ["-c", "print(1)"]}, -32602),
        ({"args": []}, -32602),
        ({"args": ["/etc/hostname"]}, -32602),
        ({"args": ["../outside.py"]}, -32602),
        ({"args": ["scripts/link.py"]}, -32602),
        ({"args": ["scripts"]}, -32602),
        ({"args": ["scripts/long.py"]}, -32602),
        ({"mgp": {"trust_level": "trusted"}}, 1000),
    ],
)
async def test_what_agents_may_not_register(
    registry: Registry, change: dict[str, Any], code: int
) -> None:
    folder = registry.gateway.folder
    (folder.parent / "outside.py").write_text("")
    link = folder / "scripts" / "link.py"
    if not link.is_symlink():
        link.symlink_to(folder.parent / "outside.py")
    registry.script("long", "#" * 40_000)
    _, key = registry.agent(REGISTERS)
    async with registry.host(BOUND, key) as client:
        refused = await registry.refused(client, seed_request(fresh()) | change)
    assert refused.code == code


@pytest.mark.parametrize("door", BOTH)
async def test_a_sandboxed_script_is_judged_and_a_standard_one_is_not(
    registry: Registry, door: str
) -> None:
    """MGP-15.4-2: a blocked import, sandboxed and standard."""
    blocked = registry.script(
        "blocked", NET + registry.text().replace("from __future__ import annotations", "")
    )
    ident = fresh()
    _, key = registry.agent(REGISTERS)
    async with registry.host(door, key) as client:
        sandboxed = seed_request(ident, args=[blocked], mgp={"trust_level": "sandboxed"})
        refused = await registry.refused(client, sandboxed)
        assert refused.code == 1011
        assert "Blocked import: 'socket'" in refused.data["_mgp"]["details"]["violations"]
        standard = seed_request(ident, args=[blocked], mgp={"trust_level": "standard"})
        assert (await client.request(REGISTER, standard))["status"] == "connected"


LOOKING = """
    if method == "tools/call" and params["arguments"]["text"] == "look":
        import os
        import urllib.request
        found = {"uid": os.getuid(), "here": os.listdir("."), "read": ""}
        try:
            found["read"] = open(PLACE).read()
        except OSError:
            pass
        try:
            urllib.request.urlopen(URL, timeout=5)
            found["net"] = True
        except OSError:
            found["net"] = False
        return {"content": [{"type": "text", "text": json.dumps(found)}]}
    if method == "tools/call" and params["arguments"]["text"] == "eat":
        return {"content": [{"type": "text", "text": str(len(bytearray(2 ** 29)))}]}
"""


async def test_a_sandboxed_server_is_isolated_and_its_limits_hold(registry: Registry) -> None:
    """MGP-15.4-2: limited permissions; neither files, nor the network, nor more memory than it was given."""
    ident, url = fresh(), registry.gateway.url
    here = str(registry.gateway.folder / "mgp.toml")
    text = registry.text().replace(
        '    if method == "tools/call":', LOOKING + '    if method == "tools/call":', 1
    )
    name = registry.script(
        "looking",
        f"PLACE, URL = {here!r}, {url!r}\n"
        + text.replace("from __future__ import annotations", ""),
    )
    _, key = registry.agent(REGISTERS)
    async with registry.host(BOUND, key) as client:
        # Nothing is said of trust: what agents register is sandboxed.
        made = await client.request(REGISTER, seed_request(ident, args=[name], mgp=None))
        assert (made["status"], made["trust_level"]) == ("connected", "sandboxed")
        assert await client.text(tool(ident), text="still") == "STILL"
        found = json.loads(await client.text(tool(ident), text="look"))
        assert ("scripts" in found["here"], found["read"], found["net"]) == (False, "", False)
        with pytest.raises(RpcError):
            await client.call(tool(ident), text="eat")


async def test_what_was_judged_runs_whatever_becomes_of_the_file(registry: Registry) -> None:
    ident = fresh()
    text = registry.text()
    name = registry.script("changing", text)
    _, key = registry.agent(REGISTERS)
    async with registry.host(BOUND, key) as client:
        await client.request(REGISTER, seed_request(ident, args=[name]))
        registry.script("changing", text.replace("upper()", "lower()"))
        registry.gateway.cli("server", "restart", ident)
        assert await client.text(tool(ident), text="Same") == "SAME"


async def test_a_server_that_does_not_come_up_is_not_registered(registry: Registry) -> None:
    ident = fresh()
    broken = registry.script("broken", "raise SystemExit('no')")
    async with registry.operator(BOUND) as client:
        request = seed_request(ident, args=[broken])
        assert (await registry.refused(client, request)).data["reason"] == "upstream_error"
        await client.request(REGISTER, seed_request(ident))


async def test_permissions_that_an_agent_names_wait_for_an_operator(registry: Registry) -> None:
    ident = fresh()
    _, key = registry.agent(REGISTERS)
    asks = {"trust_level": "standard", "permissions_required": ["network.outbound"]}
    async with registry.host(BOUND, key) as client:
        made = await client.request(REGISTER, seed_request(ident, mgp=asks))
        assert (made["status"], made["tools"]) == ("connecting", [])
        assert "network.outbound" in made["reason"]
        permit = ("server", "permit", ident, "network.outbound", "--key", registry.operators_key())
        registry.gateway.cli(*permit)
        async with asyncio.timeout(20):
            while tool(ident) not in await client.tools():
                await asyncio.sleep(0.05)
