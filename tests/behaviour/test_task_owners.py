"""Tasks of servers between callers: heard of by the owner alone, there after a restart, and nobody else's then either."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.behaviour.gateway import ROOT, Gateway, config, running, server
from tests.behaviour.hosts import Host, RpcError, host
from tests.behaviour.test_task_handles import keys

DOORS = ("http 2025-11-25", "websocket 2025-11-25")
VERBS = ("get", "result", "cancel", "update")
STATUS = "notifications/tasks/status"


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """Two such servers would count alike; this one outlives every gateway."""
    script = str(ROOT / "tests" / "tool_servers" / "worker.py")
    process = subprocess.Popen([sys.executable, script, "--http", "0"], stdout=subprocess.PIPE)
    assert process.stdout is not None
    word, url = process.stdout.readline().decode().split()
    assert word == "ready"
    yield url
    process.kill()
    process.wait()
    process.stdout.close()


def content(url: str) -> dict[str, Any]:
    servers = {"id": "far", "url": url}, server("worker", "near"), server("worker", "other")
    return config(*servers, gateway={"anonymous": "deny"})


async def begun(client: Host, name: str) -> str:
    asked = {"name": f"{name}__work", "arguments": {}, "task": {"ttl": 600_000}}
    return str((await client.request("tools/call", asked))["task"]["taskId"])


async def refused(client: Host, task: str) -> set[tuple[int, str]]:
    said = set()
    for verb in VERBS:
        with pytest.raises(RpcError) as caught:
            await client.request(f"tasks/{verb}", {"taskId": task})
        said.add((caught.value.code, caught.value.message))
    return said


@pytest.mark.parametrize("door", DOORS)
async def test_each_hears_of_its_own_tasks_and_knows_no_other(
    tmp_path: Path, site: str, door: str
) -> None:
    """Three servers that all count from one."""
    with running(tmp_path, content(site)) as gateway:
        mine, theirs = keys(gateway.folder, "ann", "bob")
        async with (
            host(gateway, door, headers=mine) as ann,
            host(gateway, door, headers=theirs) as bob,
        ):
            if door.startswith("http"):
                await bob.wire.listen(bob)  # type: ignore[attr-defined]
                await ann.wire.listen(ann)  # type: ignore[attr-defined]
            hers = [await begun(ann, name) for name in ("far", "near")]
            his = [await begun(bob, name) for name in ("other", "far")]
            assert len({*hers, *his}) == 4
            none = await refused(bob, "task_" + "0" * 32)
            for task in (*hers, "T-1", "T-2"):
                assert await refused(bob, task) == none
            for task in hers:
                found = await ann.request("tasks/get", {"taskId": task})
                assert found["taskId"] == task
                note = await ann.note(STATUS)
                assert note["params"]["taskId"] == task
                assert "statusMessage" in found
                assert "statusMessage" not in note["params"]
            assert {one["taskId"] for one in (await ann.request("tasks/list"))["tasks"]} == {*hers}
            assert {one["taskId"] for one in (await bob.request("tasks/list"))["tasks"]} == {*his}
            assert [one for one in bob.frames if b"private" in one] == []


async def test_a_restart_changes_no_owner(tmp_path: Path, site: str) -> None:
    """What the gateway does not know is nobody's, and it knows what it knew."""
    door = "http 2025-11-25"

    async def visit(gateway: Gateway, headers: dict[str, str], task: str) -> Any:
        async with host(gateway, door, headers=headers) as client:
            return await client.request("tasks/get", {"taskId": task})

    with running(tmp_path, content(site)) as gateway:
        mine, theirs = keys(gateway.folder, "ann", "bob")
        async with host(gateway, door, headers=mine) as ann:
            task, near = await begun(ann, "far"), await begun(ann, "near")
        with pytest.raises(RpcError) as before:
            await visit(gateway, theirs, task)
    with running(tmp_path, content(site)) as gateway:
        assert (await visit(gateway, mine, task))["taskId"] == task
        for headers, name in ((theirs, task), (mine, near), (mine, "T-1"), (theirs, "T-1")):
            with pytest.raises(RpcError) as after:
                await visit(gateway, headers, name)
            told = after.value.code, after.value.message
            assert told == (before.value.code, before.value.message)
            assert "private" not in json.dumps(after.value.data)
