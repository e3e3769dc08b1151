"""MGP §16.6, the status `creating`, from outside: an agent makes the tool that there is not, under the guards of registration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gatewright.call import UserContext
from tests.behaviour.hosts import Host, RpcError
from tests.behaviour.registration_house import REGISTERS, Registry, registry_in, said, seed_request

EXTENSIONS = ["security", "access_control", "discovery", "tool_discovery"]
OFFER = {"mgp": {"version": "0.2.0", "extensions": EXTENSIONS}}
MAKES = UserContext(permissions=(*REGISTERS.permissions, "code_execution"))
DOORS = ("http 2025-11-25", "websocket 2025-11-25")
REGISTER = "mgp/discovery/register"


async def asks(client: Host, capability: str) -> dict[str, Any]:
    requirements = {"capabilities": [capability]}
    found: dict[str, Any] = await client.request(
        "mgp/tools/request", {"reason": "capability_gap", "requirements": requirements}
    )
    return found


def content(policy: str) -> dict[str, Any]:
    return {**said(trust_level="sandboxed"), "permissions": {"policy": policy}}


async def make(registry: Registry, client: Host, door: str) -> None:
    """Submit code: what is unsafe is refused, and what was mended is there."""
    ident = f"dynamic.{door.partition(' ')[0]}"
    sandboxed = {"mgp": {"extensions": ["security"], "trust_level": "sandboxed"}}
    unsafe = registry.text().replace("import json\n", "import json\nimport socket\n")
    request = seed_request(ident, args=[registry.script("made", unsafe)], **sandboxed)
    with pytest.raises(RpcError) as caught:
        await client.request(REGISTER, request)
    assert caught.value.code == 1011
    assert (await asks(client, "capitals"))["status"] == "creating"
    registry.script("made", registry.text())
    assert (await client.request(REGISTER, request))["status"] == "connected"


async def test_an_agent_makes_the_tool_that_it_lacks(tmp_path: Path) -> None:
    """MGP-16.6-6, MGP-16.6-7, MGP-16.6-8: discover, request, create, use; nobody else may, nor under another policy."""
    with registry_in(tmp_path, content("auto_approve")) as registry:
        _, plain = registry.agent(REGISTERS)
        _, useless = registry.agent(UserContext(permissions=("code_execution",)))
        for door in DOORS:
            _, key = registry.agent(MAKES)
            async with registry.host(door, key, OFFER) as client:
                told = await asks(client, "capitals")
                assert told["status"] == "creating"
                assert told["tools_loaded"] == []
                assert told["creation"]["method"] == REGISTER
                await make(registry, client, door)
                found = await asks(client, "capitals")
                assert found["status"] == "fulfilled"
                assert await client.text(found["tools_loaded"][0]["name"], text="made") == "MADE"
            for other in (plain, useless):
                async with registry.host(door, other, OFFER) as client:
                    assert (await asks(client, "capitals"))["status"] == "unavailable"
        _, key = registry.agent(MAKES)
        registry.gateway.reload(content("interactive"))
        async with registry.host(DOORS[0], key, OFFER) as client:
            assert (await asks(client, "weather"))["status"] == "unavailable"
