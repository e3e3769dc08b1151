"""Calls that wait for an operator, as tasks of MCP: those of the core of 2025-11-25, and the extension of 2026-07-28."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.approvals.voting import Voting
from tests.behaviour.event_house import bearer, made_key
from tests.behaviour.gateway import Gateway, config, running, server
from tests.behaviour.hosts import Host, RpcError, host
from tests.behaviour.test_approvals import queue_of, waiting

EXTENSION = "io.modelcontextprotocol/tasks"
RELATED = "io.modelcontextprotocol/related-task"
CORE = ("http 2025-11-25", "stdio 2025-11-25", "websocket 2025-11-25")
MODERN = ("http 2026-07-28", "stdio 2026-07-28", "websocket 2026-07-28")
CAN: dict[str, Any] = {"extensions": {EXTENSION: {}}}


def content(**approvals: Any) -> dict[str, Any]:
    """A configuration in which one tool waits for operators, for longer than any test."""
    return config(
        server("echo", tools={"echo": {"risk_level": "dangerous"}}),
        grants=[{"agent": "*", "server": "echo"}],
        approvals={"approver": "operator", "hold_s": 600, **approvals},
    )


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with running(tmp_path_factory.mktemp("tasks"), content()) as found:
        yield found


@asynccontextmanager
async def meeting(gateway: Gateway, door: str, **more: Any) -> AsyncIterator[tuple[Host, Voting]]:
    can = CAN if door in MODERN else {}
    async with host(gateway, door, **{"can": can, **more}) as client:
        with queue_of(gateway, client) as queue:
            yield client, queue


async def begun(client: Host, message: str, **more: Any) -> dict[str, Any]:
    """The task that a call is answered with."""
    params = {"name": "echo__echo", "arguments": {"message": message}, **more}
    if client.modern:
        found = await client.request("tools/call", params)
        assert found["resultType"] == "task"
        return dict(found)
    found = await client.request("tools/call", {**params, "task": {"ttl": 60_000}})
    assert set(found) == {"task", "_meta"}
    assert found["_meta"][RELATED] == {"taskId": found["task"]["taskId"]}
    return dict(found["task"])


async def task(client: Host, verb: str, id: str) -> dict[str, Any]:
    found: dict[str, Any] = await client.request(f"tasks/{verb}", {"taskId": id})
    return found


async def ended(client: Host, id: str, every_s: float = 0.05) -> dict[str, Any]:
    """The task once it no longer works."""
    async with asyncio.timeout(30):
        while (found := await task(client, "get", id))["status"] == "working":
            await asyncio.sleep(every_s)
    return found


@pytest.mark.parametrize("door", CORE)
async def test_a_call_that_needs_an_operator_is_a_task_and_its_result_waits(
    gateway: Gateway, door: str
) -> None:
    """MGP-3.6-4, for a caller that takes tasks: it is not asked to repeat anything."""
    async with meeting(gateway, door) as (client, queue):
        made = await begun(client, door)
        one = await waiting(queue)
        assert made["status"] == "working"
        assert one.id in made["statusMessage"]
        assert made["ttl"] == pytest.approx((one.expires - one.requested) * 1000, abs=10_000)
        assert (await task(client, "get", made["taskId"]))["status"] == "working"
        result = asyncio.ensure_future(task(client, "result", made["taskId"]))
        await task(client, "get", made["taskId"])
        assert not result.done()
        queue.approve(one.id, by="olga")
        found = await result
        assert found["content"] == [{"type": "text", "text": door}]
        assert found["_meta"][RELATED] == {"taskId": made["taskId"]}
        assert (await task(client, "get", made["taskId"]))["status"] == "completed"
        used = queue.get(one.id)
        assert used is not None
        assert (used.state, used.uses) == ("used", 1)


@pytest.mark.parametrize("door", MODERN)
async def test_a_modern_caller_that_declares_tasks_polls_until_the_result_is_there(
    gateway: Gateway, door: str
) -> None:
    async with meeting(gateway, door) as (client, queue):
        made = await begun(client, door)
        one = await waiting(queue)
        assert (made["status"], made["pollIntervalMs"]) == ("working", 5000)
        found = await task(client, "get", made["taskId"])
        assert (found["resultType"], found["status"]) == ("complete", "working")
        queue.approve(one.id, by="olga")
        found = await ended(client, made["taskId"])
        assert (found["status"], found["resultType"]) == ("completed", "complete")
        assert found["result"]["content"] == [{"type": "text", "text": door}]
        assert found["result"]["resultType"] == "complete"
        with pytest.raises(RpcError) as caught:
            await task(client, "result", made["taskId"])
        assert caught.value.code == -32602
        assert await task(client, "update", made["taskId"]) == {"resultType": "complete"}


@pytest.mark.parametrize("door", ["http 2025-11-25", "http 2026-07-28"])
async def test_a_no_is_the_result_of_the_task(gateway: Gateway, door: str) -> None:
    async with meeting(gateway, door) as (client, queue):
        made = await begun(client, f"no {door}")
        one = await waiting(queue)
        queue.deny(one.id, by="olga", comment="not today")
        found = await ended(client, made["taskId"])
        assert "not today" in found["statusMessage"]
        assert found["status"] == ("completed" if client.modern else "failed")
        result = found["result"] if client.modern else await task(client, "result", made["taskId"])
        assert result["isError"] is True
        assert "not today" in result["content"][0]["text"]


@pytest.mark.parametrize("door", ["http 2025-11-25", "http 2026-07-28"])
async def test_whoever_cancels_its_task_withdraws_the_request(gateway: Gateway, door: str) -> None:
    # Of who has neither a session nor a name it is not known whether others asked for it, too.
    headers = bearer(made_key(gateway, "ann")["key"]) if door in MODERN else None
    async with meeting(gateway, door, headers=headers) as (client, queue):
        made = await begun(client, f"cancel {door}")
        one = await waiting(queue)
        found = await task(client, "cancel", made["taskId"])
        assert queue.waiting() == []
        gone = queue.get(one.id)
        assert gone is not None
        assert gone.state == "expired"
        if client.modern:
            assert found == {"resultType": "complete"}
        else:
            assert found["status"] == "cancelled"
            with pytest.raises(RpcError) as caught:
                await task(client, "cancel", made["taskId"])
            assert caught.value.code == -32602
            assert (await task(client, "result", made["taskId"]))["isError"] is True
        assert (await task(client, "get", made["taskId"]))["status"] == "cancelled"
    events = [one["event_type"] for one in gateway.audit()]
    assert "dev.gatewright.approval.withdrawn" in events


async def test_who_takes_no_tasks_gets_none(gateway: Gateway) -> None:
    """A caller of the modern revision that does not declare the extension, and one of the other that does not ask."""
    for door in ("http 2026-07-28", "http 2025-11-25", "http 2025-06-18"):
        async with meeting(gateway, door, can={}) as (client, queue):
            params = {"name": "echo__echo", "arguments": {"message": f"plain {door}"}}
            more: dict[str, Any] = {"task": {}} if door == "http 2025-06-18" else {}
            calling = asyncio.ensure_future(client.request("tools/call", {**params, **more}))
            queue.approve((await waiting(queue)).id, by="olga")
            assert (await calling)["content"][0]["text"] == f"plain {door}"
