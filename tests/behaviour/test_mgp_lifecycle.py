"""MGP §11 from outside: health, graceful shutdown and transitions of servers, through every endpoint that offers it."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gatewright.servers.states import CAUSES, allowed
from tests.behaviour.gateway import Gateway, config, running, server
from tests.behaviour.hosts import Host, RpcError, host

OFFER = {"mgp": {"version": "0.2.0", "extensions": ["lifecycle", "discovery"]}}
LIFECYCLE = "notifications/mgp.lifecycle"
PUSHING = ("http 2025-11-25", "stdio 2025-11-25", "websocket 2025-11-25", "sse 2024-11-05")
MODERN_DOORS = ("http 2026-07-28", "websocket 2026-07-28")
SPEAKS = {"extensions": ["security", "lifecycle"]}
POLICY = {"extensions": [], "backoff_base_ms": 10, "backoff_max_ms": 40}


def living(ident: str, *arguments: str, **mgp: Any) -> dict[str, Any]:
    return (
        server("living", ident, *arguments, mgp=mgp) if mgp else server("living", ident, *arguments)
    )


@asynccontextmanager
async def operator(
    gateway: Gateway, door: str = "http 2025-11-25", can: Any = OFFER
) -> AsyncIterator[Host]:
    """An operator, where the endpoint takes a credential."""
    headers = {"Authorization": f"Bearer {gateway.operator_token}"}
    async with host(gateway, door, can=can, headers=headers) as client:
        yield client


async def shut_down(client: Host, ident: str, reason: str = "operator_request", **more: Any) -> Any:
    params = {"server_id": ident, "reason": reason, "timeout_ms": 20_000, **more}
    return await client.request("mgp/lifecycle/shutdown", params)


async def steps(client: Host, ident: str, last: str) -> list[dict[str, Any]]:
    """What was told of a server, up to a state; each follows from the one before, as the table has it."""
    found: list[dict[str, Any]] = []
    while not found or found[-1]["new_state"] != last:
        note = await client.note(LIFECYCLE, lambda one: one["params"]["server_id"] == ident)
        found.append(note["params"])
    for one in found:
        assert allowed(one["previous_state"], one["new_state"]), one
        assert one["reason"] in CAUSES
        assert set(one) >= {"server_id", "previous_state", "new_state", "reason", "timestamp"}
        assert one["timestamp"].endswith("Z")
    for before, after in itertools.pairwise(found):
        assert before["new_state"] == after["previous_state"]
    return found


def states(found: list[dict[str, Any]]) -> list[str]:
    return [found[0]["previous_state"], *(one["new_state"] for one in found)]


async def state_of(client: Host, ident: str) -> dict[str, Any]:
    listed = (await client.request("mgp/discovery/list", {}))["servers"]
    return next(one for one in listed if one["id"] == ident)


async def until_pending(client: Host, count: int) -> None:
    """Wait until so many calls are with their servers, as an operator sees it."""
    async with asyncio.timeout(30):
        while (await client.request("mgp/health/status", {}))["pending_requests"] < count:
            await asyncio.sleep(0.05)


async def refused(work: Any) -> int:
    """The code of an error."""
    with pytest.raises(RpcError) as caught:
        await work
    return caught.value.code


# -- shutdown -------------------------------------------------------------------------------------


@pytest.mark.parametrize("door", [PUSHING[0], *PUSHING[2:]])
async def test_a_server_drains_and_is_down(tmp_path: Path, door: str) -> None:
    """MGP-11.2-5, MGP-11.2-7, MGP-11.4-1, MGP-11.4-4 and MGP-14.3-8."""
    with running(tmp_path, config(living("s"))) as gateway:
        async with operator(gateway) as chief, host(gateway, door, can=OFFER) as client:
            call = {"name": "s__slow", "arguments": {"seconds": 1.5}}
            slow = await client.start("tools/call", call)
            await until_pending(chief, 1)
            said = await shut_down(chief, "s")
            assert (said["accepted"], said["pending_requests"]) == (True, 1)
            assert 0 < said["estimated_drain_ms"] <= 20_000
            assert await refused(client.call("s__pid")) == 2001
            done = await client.finish(slow)
            assert done["content"][0]["text"] == "done"
            found = await steps(client, "s", "disconnected")
            assert states(found) == ["connected", "draining", "disconnected"]
            assert {one["reason"] for one in found} == {"operator_request"}
            assert await refused(client.call("s__pid")) == 5002
            listed = await state_of(client, "s")
            assert listed["status"] == "disconnected"
            gateway.cli("server", "start", "s")
            assert (await client.text("s__pid")).isdigit()
            assert states(await steps(client, "s", "connected"))[-1] == "connected"


async def test_a_server_that_always_runs_comes_back_after_another_configuration(
    tmp_path: Path,
) -> None:
    """MGP-11.2-6, and MGP-11.2-8: 2002 meanwhile, where the call does not wait for it."""
    content = config(living("s", "--slow-start", "0.5", **POLICY, restart_policy="always"))
    with running(tmp_path, content) as gateway:
        async with operator(gateway) as client:
            before = await client.text("s__pid")
            await shut_down(client, "s", "configuration_change")
            found = await steps(client, "s", "connected")
            assert states(found) == ["connected", "draining", "restarting", "connected"]
            assert await client.text("s__pid") != before


async def test_one_that_restarts_on_failure_comes_back_when_it_is_called(tmp_path: Path) -> None:
    content = config(living("s", **POLICY, restart_policy="on_failure"))
    with running(tmp_path, content) as gateway:
        async with operator(gateway) as client:
            before = await client.text("s__pid")
            await shut_down(client, "s", "resource_limit")
            assert states(await steps(client, "s", "disconnected"))[-1] == "disconnected"
            assert await client.text("s__pid") != before


async def test_a_call_that_hangs_is_answered_when_the_time_is_over(tmp_path: Path) -> None:
    """MGP-11.4-3: closed after half a second, and the call answered with 3003."""
    with running(tmp_path, config(living("s"))) as gateway:
        async with operator(gateway) as client:
            call = {"name": "s__slow", "arguments": {"seconds": 60}}
            slow = await client.start("tools/call", call)
            await until_pending(client, 1)
            began = time.monotonic()
            await shut_down(client, "s", timeout_ms=500)
            with pytest.raises(RpcError) as caught:
                await client.finish(slow)
            took = time.monotonic() - began
            assert caught.value.code == 3003
            assert caught.value.data["_mgp"]["retryable"] is False
            assert 0.45 <= took <= 1.5
            await steps(client, "s", "disconnected")
            assert time.monotonic() - began <= 2.0


async def test_a_shutdown_is_passed_on_to_a_server_that_knows_it(tmp_path: Path) -> None:
    """MGP-11.4-1: how long it takes is its own word."""
    with running(tmp_path, config(living("s", "--mgp", **SPEAKS))) as gateway:
        async with operator(gateway) as client:
            call = {"name": "s__slow", "arguments": {"seconds": 1}}
            slow = await client.start("tools/call", call)
            await until_pending(client, 1)
            said = await shut_down(client, "s")
            assert said == {
                "accepted": True,
                "pending_requests": 1,
                "estimated_drain_ms": 123,
                **({"resultType": "complete"} if client.modern else {}),
            }
            await client.finish(slow)


async def test_who_may_not_is_refused_by_name_and_nothing_happens(tmp_path: Path) -> None:
    """MGP-11.4-2: and reasons that there are not."""
    with running(tmp_path, config(living("s"))) as gateway:
        async with host(gateway, can=OFFER) as agent, operator(gateway) as chief:
            for target in ("s", "nobody", None):
                params = {"reason": "operator_request"} | ({"server_id": target} if target else {})
                with pytest.raises(RpcError) as caught:
                    await agent.request("mgp/lifecycle/shutdown", params)
                assert caught.value.code == 1001
                assert "server drain" in caught.value.message
            for wrong in (
                {"reason": "boredom"},
                {},
                {"reason": "idle_timeout", "timeout_ms": -1},
                {"reason": "idle_timeout", "timeout_ms": 0.5},
                {"reason": "idle_timeout", "timeout_ms": True},
                {"reason": "idle_timeout", "server_id": "nobody"},
            ):
                asked = chief.request("mgp/lifecycle/shutdown", {"server_id": "s"} | wrong)
                assert await refused(asked) == -32602
            assert (await state_of(agent, "s"))["status"] == "connected"
            await shut_down(chief, "s")
        events = gateway.audit("--event", "dev.gatewright.server.shutdown")
        assert [(one["actor"]["type"], one["target"]["server_id"]) for one in events] == [
            ("operator", "s")
        ]


async def test_a_server_that_says_that_it_drains_gets_no_more_calls(tmp_path: Path) -> None:
    """What it says goes to nobody: clients hear of it from the gateway, under the gateway's own name for it."""
    with running(tmp_path, config(living("s", "--mgp", **SPEAKS), living("other"))) as gateway:
        async with operator(gateway) as client:
            said = {"server_id": "other", "new_state": "draining", "reason": "resource_limit"}
            slow = await client.start(
                "tools/call", {"name": "s__slow", "arguments": {"seconds": 1}}
            )
            assert await client.text("s__drains", **said) == "done"
            assert await refused(client.call("s__pid")) == 2001
            await client.finish(slow)
            found = await steps(client, "s", "disconnected")
            assert states(found) == ["connected", "draining", "disconnected"]
            assert (await state_of(client, "other"))["status"] == "connected"
            assert (await client.text("s__pid")).isdigit()


@pytest.mark.parametrize("door", PUSHING[:2])
async def test_an_idle_server_is_shut_down_and_comes_back_when_it_is_called(
    tmp_path: Path, door: str
) -> None:
    """MGP-11.4-5: and a call that runs is no idleness."""
    idle = {**living("s"), "idle_timeout_s": 0.5}
    with running(tmp_path, config(idle, living("busy"))) as gateway:
        async with host(gateway, door, can=OFFER) as client:
            assert await client.text("s__slow", seconds=1.2) == "done"
            before = await client.text("s__pid")
            found = await steps(client, "s", "disconnected")
            while found[0]["previous_state"] != "connected":
                found = found[1:]  # it may have been started again for the first call
            assert states(found)[-3:] == ["connected", "draining", "disconnected"]
            found = found[-2:]
            assert {one["reason"] for one in found} == {"idle_timeout"}
            ping = await client.request("mgp/health/ping", {"server_id": "s"})
            assert ping["status"] == "healthy"
            assert await client.text("s__pid") != before
            assert (await state_of(client, "busy"))["status"] == "connected"
            assert states(await steps(client, "s", "connected"))[-2:] == ["restarting", "connected"]


# -- who hears of it ------------------------------------------------------------------------------


@pytest.mark.parametrize("door", PUSHING)
async def test_each_transition_is_told_to_clients_that_negotiated_it(
    tmp_path: Path, door: str
) -> None:
    """MGP-11.2-2, MGP-11.2-4 and MGP-11.4-4: a crash, through every endpoint that can push."""
    with running(tmp_path, config(living("s", **POLICY))) as gateway:
        async with host(gateway, door, can=OFFER) as client, host(gateway, door) as plain:
            with pytest.raises(RpcError):
                await client.call("s__leave", status=3)
            found = await steps(client, "s", "connected")
            assert states(found) == ["connected", "disconnected", "restarting", "connected"]
            await plain.text("s__pid")
            assert not [one for one in plain.notes if one["method"] == LIFECYCLE]


@pytest.mark.parametrize("door", MODERN_DOORS)
async def test_a_modern_client_asks_for_transitions_when_it_listens(
    tmp_path: Path, door: str
) -> None:
    """MGP-11.4-4 where nothing comes unasked."""
    with running(tmp_path, config(living("s"))) as gateway:
        async with operator(gateway, door) as client, operator(gateway) as chief:
            wanted = {"notifications": {"dev.cloto/lifecycle": True}}
            await client.start("subscriptions/listen", wanted)
            told = await client.note("notifications/subscriptions/acknowledged")
            assert told["params"]["notifications"] == {"dev.cloto/lifecycle": True}
            await shut_down(chief, "s")
            found = await steps(client, "s", "disconnected")
            assert states(found) == ["connected", "draining", "disconnected"]


async def test_who_may_not_see_a_server_hears_nothing_of_it(tmp_path: Path) -> None:
    content = config(living("s"), living("t"), grants=[{"agent": "*", "server": "t"}])
    with running(tmp_path, content) as gateway:
        async with operator(gateway) as chief, host(gateway, can=OFFER) as agent:
            await shut_down(chief, "s")
            await shut_down(chief, "t")
            assert states(await steps(agent, "t", "disconnected"))[-1] == "disconnected"
            assert not [n for n in agent.notes if n.get("params", {}).get("server_id") == "s"]
            assert await refused(agent.request("mgp/health/ping", {"server_id": "s"})) == -32602


async def test_a_replaced_server_is_told_as_one_that_restarts(tmp_path: Path) -> None:
    with running(tmp_path, config(living("s"))) as gateway:
        async with host(gateway, can=OFFER) as client:
            before = await client.text("s__pid")
            gateway.cli("server", "restart", "s")
            found = await steps(client, "s", "connected")
            assert states(found) == ["connected", "draining", "restarting", "connected"]
            assert await client.text("s__pid") != before


# -- the gateway itself ---------------------------------------------------------------------------


async def test_the_gateway_itself_drains_and_ends(tmp_path: Path) -> None:
    """MGP-11.4-1, MGP-11.4-3 and fault test 10, for the gateway: calls in flight are answered, new ones get 2001."""
    with running(tmp_path, config(living("s"))) as gateway:
        async with operator(gateway) as chief, host(gateway, PUSHING[2], can=OFFER) as client:
            call = {"name": "s__slow", "arguments": {"seconds": 5}}
            slow = [await client.start("tools/call", call) for _ in range(200)]
            await until_pending(chief, 200)
            params = {"reason": "kernel_shutdown", "timeout_ms": 30_000}
            said = await chief.request("mgp/lifecycle/shutdown", params)
            assert (said["accepted"], said["pending_requests"]) == (True, 200)
            assert await refused(client.call("s__pid")) == 2001
            told = await client.note(LIFECYCLE)
            assert told["params"]["server_id"] == "gatewright"
            assert told["params"]["new_state"] == "draining"
            ping = await client.request("mgp/health/ping", {})
            assert ping["status"] == "degraded"
            for one in slow:
                assert (await client.finish(one))["content"][0]["text"] == "done"
            code = await asyncio.to_thread(gateway.process.wait, 30)
            assert code == 0


async def test_the_gateway_ends_in_time_whatever_hangs(tmp_path: Path) -> None:
    """MGP-11.4-3"""
    with running(tmp_path, config(living("s"))) as gateway:
        async with operator(gateway) as client:
            call = {"name": "s__slow", "arguments": {"seconds": 60}}
            slow = await client.start("tools/call", call)
            await until_pending(client, 1)
            params = {"reason": "kernel_shutdown", "timeout_ms": 500}
            await client.request("mgp/lifecycle/shutdown", params)
            assert await refused(client.finish(slow)) == 3003
            code = await asyncio.to_thread(gateway.process.wait, 20)
            assert code == 0
