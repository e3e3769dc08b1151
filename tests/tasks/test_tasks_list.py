"""The list of tasks: a caller's own and those of servers, told without a look at what they came to."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from gatewright.call import Answer, Back, Call, Client, Failure, Outcome, Refusal
from gatewright.mcp.protocol import tasks
from gatewright.mcp.protocol.tasks import Task
from gatewright.servers.task_owners import EACH as TASKS_OF_SERVERS
from gatewright.transport import slices
from tests.gate_parts import Mute, a_call
from tests.tasks.test_tasks import MODERN, RAN, THEIRS, World, made, wanting


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    found = World(tmp_path)
    yield found
    await found.tasks.close()
    found.desk.close()


async def test_a_list_has_ours_and_those_of_servers(world: World) -> None:
    core = Client("2025-11-25")
    assert await world.ask("list", "") is THEIRS
    assert await world.ask("list", "", core) is THEIRS
    id = await made(world, wanting(core))
    found = await world.ask("list", "", core)
    assert isinstance(found, Answer)
    body = json.loads(found.raw)
    assert body["theirs"] is True
    assert [one["taskId"] for one in body["tasks"]] == [id]
    assert await world.ask("list", "", MODERN) is THEIRS


async def test_where_tasks_are_offered_there_is_a_list(world: World) -> None:
    nobody = Failure("method_not_found")

    async def elsewhere(call: Call, back: Back) -> Outcome:
        return nobody

    call = a_call("method", "", method="tasks/list", facts={})
    found = await world.tasks.methods["tasks/list"](call, Mute(), elsewhere)
    assert found == Answer(b'{"tasks":[]}')
    world.desk.offered = False
    assert await world.tasks.methods["tasks/list"](call, Mute(), elsewhere) is nobody
    assert world.tasks.announced({"tools": {}}, call.client) == {"tools": {}}


async def test_a_list_that_could_not_be_had_is_no_empty_list(world: World) -> None:
    failed = Failure("internal")

    async def elsewhere(call: Call, back: Back) -> Outcome:
        return failed

    call = a_call("method", "", method="tasks/list", facts={})
    assert await world.tasks.methods["tasks/list"](call, Mute(), elsewhere) is failed


async def test_a_list_has_all_tasks_of_servers_that_a_caller_may_have(world: World) -> None:
    await made(world)
    theirs = {"tasks": [{"taskId": str(number)} for number in range(TASKS_OF_SERVERS)]}

    async def elsewhere(call: Call, back: Back) -> Outcome:
        return Answer(json.dumps(theirs).encode())

    asks = a_call("method", "", method="tasks/list", facts={}, client=Client("2025-11-25"))
    found = await world.tasks.methods["tasks/list"](asks, Mute(), elsewhere)
    assert isinstance(found, Answer)
    assert len(json.loads(found.raw)["tasks"]) == 1 + TASKS_OF_SERVERS


async def test_a_list_goes_through_no_result(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A caller has a hundred tasks, and each may have come to megabytes: it was spelled and read over for a word."""
    core, book = Client("2025-11-25"), world.tasks._book
    for outcome in (
        RAN,
        Answer(b'{"content":[],"isError":true}', tool_error=True),
        Failure("internal"),
        Refusal("access_denied", "no"),
    ):
        entry = book.make(wanting(core), "", "it runs")
        assert entry is not None
        book.end(entry, "ended", outcome, "it has ended")
    went_through: list[object] = []
    monkeypatch.setattr(
        "gatewright.mcp.protocol.outcomes.spell", lambda *of: went_through.append(of)
    )

    async def seen() -> list[str]:
        found = await world.ask("list", "", core)
        assert isinstance(found, Answer)
        return [one["status"] for one in json.loads(found.raw)["tasks"]]

    assert await seen() == ["completed", "failed", "failed", "failed"]
    world.taken_back = True
    assert await seen() == ["failed"] * 4
    assert went_through == []


async def test_each_task_of_a_list_is_a_step(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "_SLICE_S", 0.0)
    shown, before = list[Task](), 0
    told = tasks.shown

    def counted(task: Task, *of: Any, **more: Any) -> bytes:
        shown.append(task)
        return told(task, *of, **more)

    monkeypatch.setattr(tasks, "shown", counted)
    for number in range(8):
        assert world.tasks._book.make(wanting(Client("2025-11-25")), str(number), "") is not None
    listing = asyncio.ensure_future(world.ask("list", "", Client("2025-11-25")))
    while not listing.done():
        await asyncio.sleep(0)
        assert len(shown) - before <= 1
        before = len(shown)
    assert before == 8
    await listing
