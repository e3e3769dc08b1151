"""MGP §15.3 from outside: what the list of servers says of one before it is started is what the server itself says later."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from tests.behaviour.event_house import EVERY
from tests.behaviour.gateway import config, running, server
from tests.behaviour.hosts import Host, host
from tests.behaviour.wires import DEADLINE

OFFER = {"mgp": {"version": "0.2.0", "extensions": ["security", "discovery"]}}
DECLARED = {
    "extensions": ["security", "lifecycle"],
    "permissions_required": ["network.outbound"],
    "trust_level": "trusted",
}
WANTED = {"extensions": ["lifecycle", "security"], "permissions": ["network.outbound"]}

LATER = """
import os, sys, time
while not os.path.exists(sys.argv[1]):
    time.sleep(0.02)
os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
"""
"""Is the program of its arguments once there is a file."""


async def listed(client: Host, **filter_: Any) -> dict[str, Any]:
    found = await client.request("mgp/discovery/list", {"filter": filter_})
    return {one["id"]: one for one in found["servers"]}


async def test_what_is_declared_is_listed_before_and_said_after_the_connection(
    tmp_path: Path,
) -> None:
    """MGP-15.3-1: extensions, permissions and trust of a server that has said nothing yet; the version is what is negotiated."""
    go = tmp_path / "go"
    late = server("mgp_server", "late", mgp=DECLARED, connect_timeout_s=DEADLINE)
    late |= {"command": sys.executable, "args": ["-c", LATER, str(go), *late["args"]]}
    before: dict[str, dict[str, Any]] = {}
    with running(tmp_path, config(late, server("echo"))) as gateway:
        for door in EVERY:
            async with host(gateway, door, can=OFFER) as client:
                before[door] = (await listed(client))["late"]
                assert (await listed(client, **WANTED)).keys() == {"late"}
                assert await listed(client, extensions=["audit"]) == {}
        events = gateway.audit("--event", "SERVER_CONNECTED")
        assert [one["target"]["server_id"] for one in events] == ["echo"]
        go.touch()
        for door in EVERY:
            async with host(gateway, door, can=OFFER) as client:
                async with asyncio.timeout(DEADLINE):
                    # Connected comes before listed.
                    while not (after := (await listed(client))["late"])["tools"]:
                        await asyncio.sleep(0.02)
                assert after["status"] == "connected"
                early = before[door]
                # It is tried anew while it says nothing.
                assert early["status"] in {"connecting", "restarting"}
                assert early["tools"] == []
                told = json.loads(await client.text("late__hello"))["extensions"]
                assert early["extensions"] == after["extensions"] == told
                assert told == DECLARED["extensions"]
                assert early["trust_level"] == after["trust_level"] == DECLARED["trust_level"]
                assert (await listed(client, **WANTED)).keys() == {"late"}
                assert early.keys() == after.keys()
