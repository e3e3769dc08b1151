"""Tasks of the gateway and what holds for calls: whose they are, what they cost, what ends them, who hears of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.behaviour.access_house import House
from tests.behaviour.gateway import Gateway, config, running, server
from tests.behaviour.hosts import Host, RpcError, host
from tests.behaviour.test_approvals import queue_of, waiting
from tests.behaviour.test_tasks import CAN, EXTENSION, begun, content, ended, task
from tests.storage.parts import operators_in

BOTH = ("http 2025-11-25", "http 2026-07-28")
NEVER = "gwtask_" + "0" * 32


def keyed(**approvals: Any) -> dict[str, Any]:
    """The same, where every caller needs a key."""
    return {**content(**approvals), "gateway": {"anonymous": "deny"}}


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with running(tmp_path_factory.mktemp("keyed"), keyed()) as gateway:
        yield House(gateway)


@asynccontextmanager
async def agent(house: House, door: str, key: str = "") -> AsyncIterator[Host]:
    """A host of an agent that takes tasks."""
    headers = {"authorization": f"Bearer {key or house.agent()[1]}"}
    can = CAN if door.endswith("07-28") else {}
    async with host(house.gateway, door, can=can, headers=headers) as client:
        yield client


async def code_of(asking: Any) -> tuple[int, str]:
    with pytest.raises(RpcError) as caught:
        await asking
    return caught.value.code, caught.value.message


@pytest.mark.parametrize("door", BOTH)
async def test_a_task_of_another_caller_is_one_that_does_not_exist(house: House, door: str) -> None:
    async with agent(house, door) as ann, agent(house, door) as bob:
        made = await begun(ann, f"ann's at {door}")
        for verb in ("get", "cancel", "result", "update"):
            found = await code_of(task(bob, verb, made["taskId"]))
            assert found == await code_of(task(bob, verb, NEVER))
            assert found[0] == -32602
        if not ann.modern:
            listed = (await ann.request("tasks/list"))["tasks"]
            assert [one["taskId"] for one in listed] == [made["taskId"]]
            assert (await bob.request("tasks/list"))["tasks"] == []
        assert (await task(ann, "get", made["taskId"]))["status"] == "working"
        await task(ann, "cancel", made["taskId"])


@pytest.mark.parametrize("door", BOTH)
async def test_a_task_outlives_the_connection_that_made_it(house: House, door: str) -> None:
    """The request is its caller's, and so is the task. What a session has belongs to that, though."""
    _, key = house.agent()
    async with agent(house, door, key) as client:
        made = await begun(client, f"left at {door}")
        with queue_of(house.gateway, client) as queue:
            one = await waiting(queue)
            async with agent(house, door, key) as other:
                assert (await task(other, "get", made["taskId"]))["status"] == "working"
                queue.approve(one.id, by="olga")
                found = await ended(other, made["taskId"])
                assert found["status"] == "completed"


@pytest.mark.parametrize("door", BOTH)
async def test_whose_key_was_revoked_meanwhile_runs_nothing(house: House, door: str) -> None:
    """MGP-3.6-4: what waits is judged by what holds when it runs."""
    _, key = house.agent()
    async with agent(house, door, key) as client:
        await begun(client, f"revoked at {door}")
        with queue_of(house.gateway, client) as queue:
            one = await waiting(queue)
            house.gateway.cli(
                "key", "revoke", key.split("_")[1], "--key", house.gateway.operator_token
            )
            queue.approve(one.id, by="olga")
            async with asyncio.timeout(30):
                while not (found := _made_for_tasks(house.gateway, one.arguments_digest)):
                    await asyncio.sleep(0.1)
            assert [call["decision"]["gate"] for call in found] == ["authenticate"]
            left = queue.get(one.id)
            assert left is not None
            assert (left.state, left.uses) == ("approved", 0)


def _made_for_tasks(gateway: Gateway, arguments: str) -> list[dict[str, Any]]:
    """The records of calls that a task made with these arguments."""
    return [
        one
        for one in gateway.audit()
        if str(one.get("details", {}).get("task", "")).startswith("gwtask_")
        and (one.get("request") or {}).get("digest") == arguments
    ]


async def test_other_rules_ask_anew_and_the_task_waits_on(tmp_path: Path) -> None:
    """What was approved under one configuration is not approved under the next."""
    with running(tmp_path, content()) as gateway:
        async with host(gateway, "http 2026-07-28", can=CAN) as client:
            with queue_of(gateway, client) as queue:
                made = await begun(client, "x")
                first = await waiting(queue)
                operators_in(queue._rows.state, "olga", "otto")
                gateway.reload(content(quorum=2))
                queue.approve(first.id, by="olga")
                async with asyncio.timeout(30):
                    while not (left := queue.waiting()):
                        await asyncio.sleep(0.05)
                assert left[0].id != first.id
                assert (await task(client, "get", made["taskId"]))["status"] == "working"
                for who in ("olga", "otto"):
                    queue.approve(left[0].id, by=who)
                assert (await ended(client, made["taskId"]))["status"] == "completed"


@pytest.mark.parametrize("door", BOTH)
async def test_a_task_ends_with_its_request(tmp_path: Path, door: str) -> None:
    with running(tmp_path, content(expires_s=1)) as gateway:
        async with host(gateway, door, can=CAN if "07-28" in door else {}) as client:
            made = await begun(client, "x")
            found = await ended(client, made["taskId"])
            assert "nobody decided" in found["statusMessage"]


@pytest.mark.parametrize("door", BOTH)
async def test_asking_how_a_task_stands_costs_nothing_while_it_waits(
    tmp_path: Path, door: str
) -> None:
    """MGP-14.3-10: a caller with two calls an hour waits with one of them and fetches its result."""
    scarce = content() | {"limits": {"calls": {"caller": {"per_hour": 2}}}}
    with running(tmp_path, scarce) as gateway:
        async with host(gateway, door, can=CAN if "07-28" in door else {}) as client:
            made = await begun(client, "x")
            for _ in range(6):
                assert (await task(client, "get", made["taskId"]))["status"] == "working"
            with queue_of(gateway, client) as queue:
                queue.approve((await waiting(queue)).id, by="olga")
            if client.modern:
                found = await ended(client, made["taskId"], every_s=1.0)
                assert found["status"] == "completed"
            else:
                found = await task(client, "result", made["taskId"])
                assert found["content"][0]["text"] == "x"
            assert (await task(client, "get", made["taskId"]))["status"] == "completed"
            with pytest.raises(RpcError) as caught:
                await task(client, "get", made["taskId"])
            assert caught.value.data["reason"] == "rate_limited"


async def test_clients_hear_that_there_are_tasks_where_calls_may_wait_for_operators(
    house: House, tmp_path: Path
) -> None:
    offers: dict[str, Any] = {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
    async with agent(house, BOTH[0]) as client:
        assert client.hello["capabilities"]["tasks"] == offers
        (echo,) = [one for one in await _tools(client) if one["name"] == "echo__echo"]
        assert echo["execution"] == {"taskSupport": "optional"}
        others = [one for one in await _tools(client) if one["name"] != "echo__echo"]
        assert not any("execution" in one for one in others)
    async with agent(house, BOTH[1]) as client:
        assert client.hello["capabilities"]["extensions"][EXTENSION] == {}
    async with agent(house, "http 2025-06-18") as client:
        assert "tasks" not in client.hello["capabilities"]
    with running(tmp_path, content(approver="caller")) as gateway:
        async with host(gateway, BOTH[0]) as client:
            assert "tasks" not in client.hello["capabilities"]
            assert not any("execution" in one for one in await _tools(client))


async def _tools(client: Host) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await client.request("tools/list"))["tools"]
    return found


async def test_a_call_that_waits_for_nobody_is_a_task_that_has_ended(tmp_path: Path) -> None:
    """Who asks for a task for a tool that offers it reads nothing else (MCP 2025-11-25)."""
    granted = config(
        server("echo", tools={"echo": {"risk_level": "dangerous"}}),
        grants=[{"agent": "*", "server": "echo", "tool": "echo"}],
        approvals={"approver": "operator"},
    )
    with running(tmp_path, granted) as gateway:
        async with host(gateway, BOTH[0]) as client:
            made = await begun(client, "at once")
            found = await task(client, "get", made["taskId"])
            assert (made["status"], found["status"]) == ("working", "completed")
            result = await task(client, "result", made["taskId"])
            assert result["content"][0]["text"] == "at once"
        async with host(gateway, BOTH[1], can=CAN) as client:
            assert await client.text("echo__echo", message="at once") == "at once"


async def test_a_modern_client_that_does_not_declare_tasks_learns_what_it_lacks(
    house: House,
) -> None:
    _, key = house.agent()
    async with agent(house, BOTH[1], key) as client:
        made = await begun(client, "undeclared")
        client.capabilities = {}
        with pytest.raises(RpcError) as caught:
            await task(client, "get", made["taskId"])
        assert caught.value.code == -32021
        assert caught.value.data["requiredCapabilities"] == CAN
        client.capabilities = CAN
        await task(client, "cancel", made["taskId"])
