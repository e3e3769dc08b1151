"""Tasks that servers make: whoever made one has it, and nobody else (a handle is no login)."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gatewright.identity.keys import KeyStore
from tests.behaviour.gateway import Gateway, config, running
from tests.behaviour.hosts import Host, RpcError, host
from tests.storage.parts import state_in

SERVER = """
import json, sys
made = {}
def send(**message): print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    method, ident, params = asked["method"], asked.get("id"), asked.get("params", {})
    if method == "initialize":
        tasks = {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
        send(id=ident, result={"protocolVersion": "2025-11-25", "capabilities": {"tools": {}, "tasks": tasks},
                               "serverInfo": {"name": "worker", "version": "1"}})
    elif method == "tools/list":
        send(id=ident, result={"tools": [{"name": one, "inputSchema": {"type": "object"}} for one in ("work", "chat")]})
    elif method == "tools/call":
        name = f"task-{len(made)}"
        made[name] = {"taskId": name, "status": "completed", "createdAt": "2026-01-01T00:00:00Z", "ttl": 60000}
        send(id=ident, result={"task": made[name]})
    elif method == "tasks/list":
        send(id=ident, result={"tasks": list(made.values())})
    elif method.startswith("tasks/") and params.get("taskId") in made:
        found = made[params["taskId"]]
        send(id=ident, result=found if method != "tasks/result" else {"content": [{"type": "text", "text": "private, of ann.lee@mail.test"}]})
    elif ident is not None:
        send(id=ident, error={"code": -32602, "message": "no such task"})
"""
METHODS = ("tasks/get", "tasks/result", "tasks/cancel")
DOORS = ("http 2025-11-25", "websocket 2025-11-25")


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    folder = tmp_path_factory.mktemp("worker")
    (folder / "worker.py").write_text(SERVER)
    one = {
        "id": "worker",
        "command": sys.executable,
        "args": [str(folder / "worker.py")],
        "tools": {"work": {"redaction": "personal"}},
    }
    with running(folder, config(one, gateway={"anonymous": "deny"})) as gateway:
        yield gateway


def keys(folder: Path, *names: str) -> list[dict[str, str]]:
    state = state_in(folder / "state")
    with closing(KeyStore(state, clock=time.time, random=os.urandom)) as callers:
        made = [callers.create(name, by="test")[1] for name in names]
    return [{"authorization": f"Bearer {one}"} for one in made]


async def started(client: Host, tool: str = "work") -> str:
    asked: dict[str, Any] = {"name": f"worker__{tool}", "arguments": {}, "task": {"ttl": 60000}}
    made = await client.request("tools/call", asked)
    return str(made["task"]["taskId"])


async def listed(client: Host) -> list[str]:
    return [one["taskId"] for one in (await client.request("tasks/list"))["tasks"]]


@pytest.mark.parametrize("door", DOORS)
async def test_a_task_exists_for_whoever_made_it_and_for_nobody_else(
    worker: Gateway, door: str
) -> None:
    """MGP-5.4-6: the id of a task is no credential."""
    mine, theirs = keys(worker.folder, f"ann {door}", f"bob {door}")
    async with (
        host(worker, door, headers=mine) as ann,
        host(worker, door, headers=theirs) as bob,
    ):
        task = await started(ann)
        other = await started(bob)
        for method in METHODS:
            assert await ann.request(method, {"taskId": task})
            said = []
            for wanted in (task, "task-none"):
                with pytest.raises(RpcError) as caught:
                    await bob.request(method, {"taskId": wanted})
                said.append((caught.value.code, "private" in json.dumps(caught.value.data)))
            assert said[0] == said[1]
        assert await listed(ann) == [task]
        assert await listed(bob) == [other]
    async with host(worker, door, headers=mine) as again:  # another connection of the same caller
        assert await again.request("tasks/get", {"taskId": task})


@pytest.mark.parametrize("door", DOORS)
async def test_what_a_task_comes_to_is_cleaned_as_the_result_of_its_tool(
    worker: Gateway, door: str
) -> None:
    """GRH-out-1: also where it is fetched by the id of the task, which names no tool."""
    (mine,) = keys(worker.folder, f"cleaned {door}")
    async with host(worker, door, headers=mine) as ann:
        said = {}
        for tool in ("work", "chat"):
            result = await ann.request("tasks/result", {"taskId": await started(ann, tool)})
            said[tool] = result["content"][0]["text"]
    assert "ann.lee" not in said["work"]
    assert "[REDACTED:email" in said["work"]
    assert said["chat"] == "private, of ann.lee@mail.test"
