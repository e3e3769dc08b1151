"""Health of the gateway and its servers (MGP §11.3) from outside, through every endpoint."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest

from tests.behaviour.event_house import EVERY, bearer, made_key
from tests.behaviour.gateway import Gateway, config, running, server
from tests.behaviour.hosts import host
from tests.behaviour.test_mgp_lifecycle import (
    OFFER,
    POLICY,
    SPEAKS,
    living,
    operator,
    refused,
    until_pending,
)

EXPECTED = {
    "gov": "healthy",
    "tired": "degraded",
    "plain": "healthy",
    "picky": "healthy",
    "deaf": "healthy",
    "deafer": "healthy",
    "broken": "unhealthy",
}


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Any:
    content = config(
        living("gov", "--mgp", **SPEAKS),
        living("tired", "--mgp", "--status", "degraded", **SPEAKS),
        living("plain"),
        living("picky", "--unsupported", "-32602", **SPEAKS),
        living("deaf", "--mgp", "--deaf", **SPEAKS),
        living("deafer", "--mgp", "--deaf", "--unsupported", "-32602", **SPEAKS),
        server("bad", "broken", "exit-at-start", mgp={**POLICY, "max_restarts": 0}),
    )
    with running(tmp_path_factory.mktemp("healthy"), content) as gateway:
        yield gateway


@pytest.mark.parametrize("door", EVERY)
async def test_the_gateway_and_each_server_answer_a_ping(healthy: Gateway, door: str) -> None:
    """MGP-11.3-1, MGP-11.3-2, MGP-11.3-3 and C-56: also while a long call runs."""
    async with host(healthy, door, can=OFFER) as client:
        slow = await client.start(
            "tools/call", {"name": "plain__slow", "arguments": {"seconds": 2}}
        )
        began = time.monotonic()
        own = await client.request("mgp/health/ping", {"timestamp": "2026-02-27T12:00:00.000Z"})
        assert own["server_id"] == "gatewright"
        assert own["status"] == "degraded"  # one of its servers is broken
        assert own["timestamp"].endswith("Z")
        assert isinstance(own["uptime_secs"], int)
        for ident, status in EXPECTED.items():
            found = await client.request("mgp/health/ping", {"server_id": ident})
            assert (found["server_id"], found["status"]) == (ident, status)
        assert time.monotonic() - began < 5
        found = await client.request("mgp/health/ping", {"server_id": "gov"})
        assert found["uptime_secs"] == 77  # its own word
        await client.finish(slow)


async def test_the_uptime_grows(healthy: Gateway) -> None:
    """MGP-11.3-2"""
    async with host(healthy, can=OFFER) as client:
        first = (await client.request("mgp/health/ping", {}))["uptime_secs"]
        await asyncio.sleep(1.1)
        assert (await client.request("mgp/health/ping", {}))["uptime_secs"] > first


@pytest.mark.parametrize("door", EVERY)
async def test_the_status_says_what_is_there_and_what_is_in_flight(
    healthy: Gateway, door: str
) -> None:
    """MGP-11.3-4. Where there are no sessions, calls without a name are anybody's, and none is told of."""
    headers = bearer(made_key(healthy, "ann")["key"]) if door == "http 2026-07-28" else None
    async with host(healthy, door, can=OFFER, headers=headers) as client:
        call = {"name": "plain__slow", "arguments": {"seconds": 2}}
        slow = await client.start("tools/call", call)
        await until_pending(client, 1)
        before = (await client.request("mgp/health/ping", {}))["uptime_secs"]
        own = await client.request("mgp/health/status", {})
        after = (await client.request("mgp/health/ping", {}))["uptime_secs"]
        assert own["status"] == "degraded"  # one of its servers is broken
        assert before <= own["uptime_secs"] <= after
        assert own["pending_requests"] >= 1
        assert own["tools_total"] >= own["tools_available"] == 30
        assert own["checks"]["record_writable"] is True
        assert own["checks"]["server:broken"] is False
        assert own["resources"] == {}
        of_plain = await client.request("mgp/health/status", {"server_id": "plain"})
        assert of_plain["pending_requests"] == 1
        assert (of_plain["tools_available"], of_plain["tools_total"]) == (5, 5)
        assert (of_plain["resources"], of_plain["checks"]) == ({}, {"connected": True})
        for ident, status in EXPECTED.items():
            found = await client.request("mgp/health/status", {"server_id": ident})
            assert (found["server_id"], found["status"]) == (ident, status)
            assert isinstance(found["uptime_secs"], int)
            if ident in ("gov", "tired"):
                assert found["uptime_secs"] == 77  # their own word
            else:
                # None of them is older than the gateway, and what never ran has no time at all.
                assert 0 <= found["uptime_secs"] <= (0 if ident == "broken" else after + 2)
        await client.finish(slow)
        after = await client.request("mgp/health/status", {"server_id": "plain"})
        assert after["pending_requests"] == 0


async def test_what_a_server_says_of_itself_is_shown_to_operators_alone_and_bounded(
    healthy: Gateway,
) -> None:
    """MGP-11.3-5: names that nobody knows change nothing, and secrets go no further."""
    async with operator(healthy) as client:
        found = await client.request("mgp/health/status", {"server_id": "gov"})
        assert found["resources"] == {"gpu_fans": 3}
        assert found["checks"]["moon_is_up"] is False
        assert "a1B2c3" not in found["checks"]["key"]
    async with host(healthy, can=OFFER) as agent:
        found = await agent.request("mgp/health/status", {"server_id": "gov"})
        assert (found["resources"], found["checks"]) == ({}, {"connected": True})


async def test_a_plain_server_is_asked_in_mcp_whichever_way_it_refuses_ours(
    healthy: Gateway,
) -> None:
    """MGP-11.3-6: a plain one at once, and -32601 and -32602 alike of one that was asked in MGP first."""
    async with host(healthy, can=OFFER) as client:
        for ident in ("plain", "picky"):
            found = await client.request("mgp/health/ping", {"server_id": ident})
            assert found["status"] == "healthy"
            heard = json.loads(await client.text(f"{ident}__requests"))
            assert "ping" in heard
            assert not [one for one in heard if one.startswith("mgp/")]
        for ident in ("deaf", "deafer"):
            for method in ("mgp/health/ping", "mgp/health/status"):
                before = json.loads(await client.text(f"{ident}__requests"))
                found = await client.request(method, {"server_id": ident})
                assert found["status"] == "healthy"
                heard = json.loads(await client.text(f"{ident}__requests"))[len(before) :]
                asked = [one for one in heard if one == "ping" or one.startswith("mgp/")]
                assert asked == [method, "ping"]


async def test_pending_calls_of_others_are_nobodys_business(healthy: Gateway) -> None:
    """MGP-11.3-4: all of them are an operator's."""
    async with operator(healthy) as one, host(healthy, can=OFFER) as other:
        call = {"name": "plain__slow", "arguments": {"seconds": 1}}
        slow = await one.start("tools/call", call)
        await until_pending(one, 1)
        mine = await one.request("mgp/health/status", {"server_id": "plain"})
        theirs = await other.request("mgp/health/status", {"server_id": "plain"})
        assert (mine["pending_requests"], theirs["pending_requests"]) == (1, 0)
        await one.finish(slow)


@pytest.mark.parametrize("method", ["mgp/health/ping", "mgp/health/status"])
async def test_what_is_asked_wrongly_is_refused(healthy: Gateway, method: str) -> None:
    async with host(healthy, can=OFFER) as client:
        assert await refused(client.request(method, {"server_id": "nobody"})) == -32602
        assert await refused(client.request(method, {"server_id": 5})) == -32602
    async with host(healthy, can={"mgp": {"version": "0.2.0", "extensions": []}}) as client:
        assert await refused(client.request(method, {})) == -32601
    async with host(healthy) as plain:
        assert await refused(plain.request(method, {})) == -32601
