"""Calls as tasks of the gateway: when one is made, what it does instead of its caller, how it ends."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from gatewright.approvals.asked_calls import AskedCalls
from gatewright.approvals.queue import ApprovalQueue
from gatewright.approvals.request import Approval, Asked
from gatewright.call import (
    Answer,
    Back,
    Call,
    CannotAsk,
    Client,
    Failure,
    Outcome,
    Question,
    Refusal,
    Tool,
    Unrecorded,
)
from gatewright.limits.polls import Polls
from gatewright.mcp.protocol.tasks import EXTENSION, TASK
from gatewright.tasks.store import EACH, TaskBook
from gatewright.tasks.tasks import Tasks
from tests.approvals.voting import Voting
from tests.gate_parts import AGENT, Mute, Withholding, a_call, a_tool
from tests.storage.parts import operated_state_in

MODERN = Client("2026-07-28", {"extensions": {EXTENSION: {}}})
RAN = Answer(b'{"content":[],"isError":false}')
THEIRS = Answer(b'{"theirs":true}')
MORE: dict[str, Any] = {"arguments": "{}", "risk": "dangerous", "reason": "", "quorum": 1}


class World:
    """A kernel that asks operators about every call, with the queue that they decide in."""

    def __init__(self, folder: Path) -> None:
        self.store = Voting(operated_state_in(folder), clock=lambda: 100.0, random=os.urandom)
        self.askers = AskedCalls()
        self.desk = ApprovalQueue(self.store, lambda *_, **__: 1, alone=self.askers.alone)
        self.desk.adopt(lasts_s=3600.0, tell=None, offered=True)
        self.calls: list[Call] = []
        self.policy = "p1"
        self.taken_back = False
        self.ends: Outcome | Exception = RAN
        self.asked: list[str] = []
        self.tool: Tool | None = a_tool("echo")
        self.going = asyncio.Event()
        self.going.set()
        self.tasks = Tasks(
            self.desk,
            TaskBook(lambda: 100.0, os.urandom),
            Polls(lambda: 0.0),
            tool=lambda _: self.tool,
            info=lambda: {"name": "gw"},
            random=os.urandom,
            kept=Withholding(lambda: self.taken_back),
        )
        self.handled = partial(self.tasks.around, further=self.handle)

    async def handle(self, call: Call, back: Back) -> Outcome:
        """As the gate `confirm` would have it end."""
        self.calls.append(call)
        asked = Asked(call.caller.id, "srv", "echo", "a", "d", self.policy)
        if self.desk.redeem(asked) is not None:
            await self.going.wait()
            if isinstance(self.ends, Exception):
                raise self.ends
            return self.ends
        made = self.desk.ask(asked, **MORE, began=lambda id: self.askers.began(id, call))
        assert made is not None
        if made.state == "denied":
            return Refusal("permission_denied", f"denied: {made.comment}")
        self.askers.note(made.id, call, a_tool("echo"))
        details = {"status": "pending_approval", "approval_id": made.id}
        return Refusal("permission_deferred", "come again", details)

    @property
    def waiting(self) -> Approval:
        return self.store.waiting()[0]

    def approve(self) -> None:
        self.store.approve(self.waiting.id, by="olga")
        self.desk.look()

    async def ask(self, verb: str, id: str, client: Client = MODERN, **more: Any) -> Outcome:
        params = {"taskId": id}
        call = a_call("method", "", method=f"tasks/{verb}", client=client, facts={}, **more)
        return await self.tasks.methods[f"tasks/{verb}"](
            replace(call, params=params), Mute(), self.elsewhere
        )

    async def elsewhere(self, call: Call, back: Back) -> Outcome:
        self.asked.append(call.method)
        return THEIRS

    async def stands(self, id: str) -> dict[str, Any]:
        found = await self.ask("get", id)
        assert isinstance(found, Answer)
        return dict(json.loads(found.raw))

    async def ended(self, id: str) -> dict[str, Any]:
        async with asyncio.timeout(20):
            while (found := await self.stands(id))["status"] == "working":
                await asyncio.sleep(0.001)
        return found


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    made = World(tmp_path)
    yield made
    await made.tasks.close()
    made.desk.close()


def wanting(client: Client = MODERN, **more: Any) -> Call:
    call = a_call(client=client, arguments={"a": 1}, facts={}, **more)
    return call if client is MODERN else replace(call, params={**call.params, "task": {}})


async def made(world: World, call: Call | None = None) -> str:
    found = await world.handled(call or wanting(), Mute())
    assert isinstance(found, Answer)
    body = json.loads(found.raw)
    return str(body.get("task", body)["taskId"])


async def test_the_call_is_made_once_more_when_it_is_decided_on(world: World) -> None:
    id = await made(world)
    first = world.calls[0]
    assert first.facts == {TASK: "taken"}
    assert (await world.stands(id))["status"] == "working"
    world.approve()
    found = await world.ended(id)
    assert (found["status"], found["statusMessage"]) == ("completed", "it has run")
    again = world.calls[1]
    assert again.facts == {TASK: id}
    assert again.id != first.id
    assert (again.params, again.credential, again.session) == (
        first.params,
        first.credential,
        first.session,
    )
    assert EXTENSION not in again.client.capabilities["extensions"]


async def test_nobody_is_asked_in_the_middle_of_a_task(world: World) -> None:
    asked: list[str] = []

    async def handle(call: Call, back: Back) -> Outcome:
        if TASK in call.facts and call.facts[TASK] != "taken":
            with pytest.raises(CannotAsk) as caught:
                await back.ask(Question("elicitation/create"))
            asked.append(caught.value.message)
        return await World.handle(world, call, back)

    world.handled = partial(world.tasks.around, further=handle)
    id = await made(world)
    world.approve()
    await world.ended(id)
    assert asked == ["nobody can be asked in the middle of a task of the gateway"]


async def test_other_rules_ask_once_more(world: World) -> None:
    id = await made(world)
    before = world.waiting.id
    world.policy = "p2"
    world.approve()
    async with asyncio.timeout(20):
        while not world.store.waiting():
            await asyncio.sleep(0.001)
    assert world.waiting.id != before
    while "once more" not in (found := await world.stands(id))["statusMessage"]:
        await asyncio.sleep(0.001)
    assert world.waiting.id in found["statusMessage"]
    world.approve()
    assert (await world.ended(id))["status"] == "completed"


@pytest.mark.parametrize("how", ["forgotten", "used"])
async def test_a_request_that_is_over_ends_its_task_and_nobody_is_asked_again(
    world: World, how: str
) -> None:
    id = await made(world)
    one = world.waiting
    if how == "used":
        world.store.approve(one.id, by="olga")
        world.store.redeem(Asked(AGENT.id, "srv", "echo", "a", "d", "p1"))
    else:
        world.store.withdraw(one.id)
    world.desk.look()
    assert "nobody decided" in (await world.ended(id))["statusMessage"]
    assert len(world.calls) == 1


@pytest.mark.parametrize(
    ("ends", "status", "member"),
    [
        (Failure("upstream_timeout", "too slow"), "completed", "result"),
        (Failure("upstream_error", error=b'{"code":-1,"message":"no"}'), "failed", "error"),
        (RuntimeError("broke"), "failed", "error"),
    ],
)
async def test_whatever_goes_wrong_is_the_end_of_the_task(
    world: World, ends: Outcome | Exception, status: str, member: str
) -> None:
    world.ends = ends
    id = await made(world)
    world.approve()
    found = await world.ended(id)
    assert found["status"] == status
    assert {"result", "error"} & set(found) == {member}


async def test_a_task_that_is_cancelled_stops_its_call_and_takes_the_request_back(
    world: World,
) -> None:
    id = await made(world)
    other = await made(world)  # the same call twice waits by one request
    one = world.waiting
    assert await world.ask("cancel", id) == Answer(b'{"resultType":"complete"}', modern=True)
    assert world.waiting == one
    await world.ask("cancel", other)
    assert world.store.waiting() == []
    assert (await world.stands(id))["status"] == "cancelled"
    third = await made(world)
    world.going.clear()
    world.approve()
    async with asyncio.timeout(20):
        while len(world.calls) < 4:
            await asyncio.sleep(0.001)
    await world.ask("cancel", third)
    assert (await world.stands(third))["status"] == "cancelled"
    await world.ask("cancel", third)


@pytest.mark.parametrize("fails", [False, True])
async def test_a_task_is_cancelled_once_that_is_recorded(world: World, fails: bool) -> None:
    recorded, running = asyncio.Event(), asyncio.Event()

    async def unwritten(call: Call, back: Back) -> Outcome:
        if world.desk.redeem(Asked(call.caller.id, "srv", "echo", "a", "d", world.policy)) is None:
            return await world.handle(call, back)
        running.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError as stopped:
            await recorded.wait()
            if fails:
                stopped.__cause__ = Unrecorded("the disk is full")
            raise
        return RAN

    world.handled = partial(world.tasks.around, further=unwritten)
    id = await made(world)
    world.approve()
    async with asyncio.timeout(20):
        await running.wait()
        asking = [asyncio.create_task(world.ask("cancel", id)) for _ in range(2)]
        await asyncio.sleep(0.02)
        assert (await world.stands(id))["status"] == "working"
        assert not any(one.done() for one in asking)
        recorded.set()
        await asyncio.gather(*asking)
    found = await world.stands(id)
    assert (found["status"] == "cancelled") is not fails
    assert ("the disk is full" in json.dumps(found)) is fails


async def test_what_is_not_ours_is_asked_elsewhere(world: World) -> None:
    for verb in ("get", "result", "cancel", "update"):
        assert await world.ask(verb, "t-1") is THEIRS
        unknown = await world.ask(verb, "gwtask_1")
        assert isinstance(unknown, Failure)
        assert unknown.reason == "invalid_params"
    assert world.asked == ["tasks/get", "tasks/result", "tasks/cancel", "tasks/update"]


async def test_a_tool_that_its_server_runs_as_a_task_is_left_to_it(world: World) -> None:
    core = Client("2025-11-25")
    said = {"execution": msgspec.Raw(b'{"taskSupport":"required"}')}
    world.tool = replace(a_tool("echo"), definition=said)
    call = wanting(core)
    found = await world.handled(call, Mute())
    assert isinstance(found, Refusal)
    assert world.calls == [call]


async def test_only_who_speaks_mcp_is_given_a_task(world: World) -> None:
    found = await world.handled(wanting(door="groundhog"), Mute())
    assert isinstance(found, Refusal)


async def test_who_has_too_many_is_told_to_come_back(world: World) -> None:
    for _ in range(EACH):
        await made(world)
    found = await world.handled(wanting(), Mute())
    assert isinstance(found, Refusal)
    assert found.reason == "permission_deferred"


async def test_a_call_that_ends_at_once_is_a_task_only_where_that_is_offered(world: World) -> None:
    core = Client("2025-11-25")
    world.tool = replace(a_tool("echo"), as_task=True)
    await made(world, wanting(core))
    world.approve()
    async with asyncio.timeout(20):
        while len(world.calls) < 2:
            await asyncio.sleep(0.001)
    await made(world, wanting(core))
    world.store.approve(world.waiting.id, by="olga", scope="arguments", lasts_s=60)
    id = await made(world, wanting(core))
    found = await world.ask("result", id, core)
    assert isinstance(found, Answer)
    assert json.loads(found.raw)["isError"] is False
    world.tool = a_tool("echo")
    assert await world.handled(wanting(core), Mute()) == RAN
    assert await world.handled(wanting(), Mute()) == RAN


async def test_the_result_of_a_task_is_not_handed_out_past_its_grant(world: World) -> None:
    id = await made(world)
    world.approve()
    async with asyncio.timeout(10):
        while (await world.stands(id))["status"] == "working":
            await asyncio.sleep(0)
    assert "result" in await world.stands(id)
    world.taken_back = True
    found = await world.stands(id)
    assert "not for this caller any more" in json.dumps(found)
    assert RAN.raw.decode() not in json.dumps(found)
    world.taken_back = False
    assert "result" in await world.stands(id)
