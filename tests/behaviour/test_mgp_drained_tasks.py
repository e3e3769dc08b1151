"""A server that is shut down or replaced while a task of it runs: the task ends first, and its caller gets what it came to."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.behaviour.gateway import Gateway, config, running
from tests.behaviour.hosts import Host, RpcError, host
from tests.behaviour.test_mgp_lifecycle import OFFER, operator, refused, shut_down, state_of

SERVER = """
import json, os, sys
done, made = sys.argv[1], {}
def send(**message): print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
def shown(name):
    ended = os.path.exists(done)
    return {"taskId": name, "status": "completed" if ended else "working", "createdAt": "2026-01-01T00:00:00Z", "ttl": 600000}
for line in sys.stdin:
    asked = json.loads(line)
    method, ident, params = asked["method"], asked.get("id"), asked.get("params", {})
    if method == "initialize":
        tasks = {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
        send(id=ident, result={"protocolVersion": "2025-11-25", "capabilities": {"tools": {}, "tasks": tasks},
                               "serverInfo": {"name": "worker", "version": "1"}})
    elif method == "tools/list":
        work = {"name": "work", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "optional"}}
        send(id=ident, result={"tools": [work, {"name": "pid", "inputSchema": {"type": "object"}}]})
    elif method == "tools/call" and "task" in params:
        name = f"task-{len(made)}"
        made[name] = os.getpid()
        send(id=ident, result={"task": shown(name)})
    elif method == "tools/call":
        send(id=ident, result={"content": [{"type": "text", "text": str(os.getpid())}]})
    elif method == "tasks/list":
        send(id=ident, result={"tasks": [shown(one) for one in made]})
    elif method == "tasks/result" and params.get("taskId") in made:
        send(id=ident, result={"content": [{"type": "text", "text": f"made by {os.getpid()}"}]})
    elif method == "tasks/get" and params.get("taskId") in made:
        send(id=ident, result=shown(params["taskId"]))
    elif ident is not None:
        send(id=ident, error={"code": -32602, "message": "no such task"})
"""


def content(folder: Path) -> dict[str, Any]:
    (folder / "worker.py").write_text(SERVER)
    arguments = [str(folder / "worker.py"), str(folder / "done")]
    return config({"id": "s", "command": sys.executable, "args": arguments})


async def begun(client: Host) -> tuple[str, str]:
    """The id of a task, and which process runs it."""
    pid = await client.text("s__pid")
    asked = {"name": "s__work", "arguments": {}, "task": {"ttl": 600_000}}
    return (await client.request("tools/call", asked))["task"]["taskId"], pid


async def status(client: Host, task: str) -> str:
    return str((await client.request("tasks/get", {"taskId": task}))["status"])


async def result(client: Host, task: str) -> str:
    found = await client.request("tasks/result", {"taskId": task})
    return str(found["content"][0]["text"])


async def until(client: Host, state: str) -> None:
    async with asyncio.timeout(20):
        while (await state_of(client, "s"))["status"] != state:
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("door", ["http 2025-11-25", "websocket 2025-11-25"])
async def test_a_drain_waits_for_a_task_and_for_who_fetches_its_result(
    tmp_path: Path, door: str
) -> None:
    """MGP-11.2-7: new calls get 2001 meanwhile, those about the task are answered."""
    with running(tmp_path, content(tmp_path)) as gateway:
        async with operator(gateway) as chief, host(gateway, door, can=OFFER) as client:
            task, pid = await begun(client)
            said = await shut_down(chief, "s")
            assert (said["accepted"], said["pending_requests"]) == (True, 0)
            assert said["estimated_drain_ms"] == 20_000
            assert await refused(client.call("s__pid")) == 2001
            another = {"name": "s__work", "arguments": {}, "task": {"ttl": 600_000}}
            assert await refused(client.request("tools/call", another)) == 2001
            for _ in range(3):
                assert await status(client, task) == "working"
            listed = (await client.request("tasks/list"))["tasks"]
            assert [one["taskId"] for one in listed] == [task]
            assert (await state_of(client, "s"))["status"] == "draining"
            (tmp_path / "done").touch()
            assert await status(client, task) == "completed"
            assert await result(client, task) == f"made by {pid}"
            await until(client, "disconnected")


@pytest.mark.parametrize("replaced", [False, True])
async def test_a_gateway_that_drains_waits_for_a_task_and_for_who_fetches_its_result(
    tmp_path: Path, replaced: bool
) -> None:
    """MGP-11.4-3: also for one of a server that a reload has replaced since."""
    with running(tmp_path, content(tmp_path)) as gateway:
        async with operator(gateway) as chief, host(gateway, can=OFFER) as client:
            task, pid = await begun(client)
            if replaced:
                await asyncio.to_thread(reloaded, gateway, tmp_path)
            params = {"reason": "kernel_shutdown", "timeout_ms": 20_000}
            said = await chief.request("mgp/lifecycle/shutdown", params)
            assert said["estimated_drain_ms"] == 20_000
            assert await refused(client.call("s__pid")) == 2001
            await asyncio.sleep(0.3)
            assert await status(client, task) == "working"
            (tmp_path / "done").touch()
            assert await status(client, task) == "completed"
            assert await result(client, task) == f"made by {pid}"
            assert await asyncio.to_thread(gateway.process.wait, 20) == 0


async def test_who_waits_for_a_task_that_waits_for_an_operator_holds_no_drain_up(
    tmp_path: Path,
) -> None:
    """Its call would be refused by now."""
    settings = content(tmp_path)
    settings["servers"][0]["tools"] = {"pid": {"risk_level": "dangerous"}}
    settings["approvals"] = {"approver": "operator", "hold_s": 20}
    with running(tmp_path, settings) as gateway:
        async with operator(gateway) as chief, host(gateway, can=OFFER) as client:
            asked = {"name": "s__pid", "arguments": {}, "task": {"ttl": 600_000}}
            task = (await client.request("tools/call", asked))["task"]["taskId"]
            waiting = asyncio.create_task(refused(result(client, task)))
            await asyncio.sleep(0.3)
            params = {"reason": "kernel_shutdown", "timeout_ms": 60_000}
            await chief.request("mgp/lifecycle/shutdown", params)
            assert await asyncio.wait_for(waiting, 10) == 3003
            assert await asyncio.to_thread(gateway.process.wait, 10) == 0


async def test_a_task_has_no_longer_than_the_drain(tmp_path: Path) -> None:
    """MGP-11.4-3"""
    with running(tmp_path, content(tmp_path)) as gateway:
        async with operator(gateway) as chief, host(gateway, can=OFFER) as client:
            task, _ = await begun(client)
            await shut_down(chief, "s", timeout_ms=300)
            await until(client, "disconnected")
            with pytest.raises(RpcError):
                await status(client, task)
            assert gateway.hears("1 tasks of it run")


async def test_a_result_that_nobody_fetches_holds_a_drain_up_for_some_seconds_only(
    tmp_path: Path,
) -> None:
    with running(tmp_path, content(tmp_path)) as gateway:
        async with operator(gateway) as chief, host(gateway, can=OFFER) as client:
            task, _ = await begun(client)
            await shut_down(chief, "s")
            (tmp_path / "done").touch()
            assert await status(client, task) == "completed"
            await until(client, "disconnected")


def restarted(gateway: Gateway, folder: Path) -> None:
    del folder
    gateway.cli("server", "restart", "s")


def reloaded(gateway: Gateway, folder: Path) -> None:
    changed = content(folder)
    changed["servers"][0]["env"] = {"CHANGED": "1"}
    gateway.reload(changed)


@pytest.mark.parametrize("replace", [restarted, reloaded])
async def test_the_task_of_a_server_that_is_replaced_ends_at_the_process_that_has_it(
    tmp_path: Path, replace: Any
) -> None:
    with running(tmp_path, content(tmp_path)) as gateway:
        async with host(gateway, can=OFFER) as client:
            task, pid = await begun(client)
            await asyncio.to_thread(replace, gateway, tmp_path)
            assert await client.text("s__pid") != pid
            assert await status(client, task) == "working"
            (tmp_path / "done").touch()
            assert await result(client, task) == f"made by {pid}"
            async with asyncio.timeout(20):
                while await asyncio.to_thread(Path(f"/proc/{pid}").exists):
                    await asyncio.sleep(0.05)
