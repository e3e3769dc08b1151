"""Rooms with a gateway in them: every flow of MCPx §9, with people, agents and tool servers that run.

People and agents are participants of our own library and, where that is the point, the foreign guest that was written
from the text alone. The worker of a room is the gateway itself, in front of a real server.
"""

from __future__ import annotations

import asyncio
import json
import time
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from typing import Any

import pytest

from gatewright.rooms.participants import NotAllowedError, Participant
from gatewright.rooms.participants.dial import join
from gatewright.rooms.participants.participant import Heard
from gatewright.transport.websocket import CannotConnect
from tests.behaviour.gateway import Gateway, config, running, server
from tests.rooms.foreign import Guest

TOKENS = {
    name: f"token-of-{name}-0123456789"
    for name in ("ana", "bob", "eve", "watcher", "reader", "service")
}
PROFILES = {
    "ana": "full",
    "bob": "full",
    "eve": "proposal-only",
    "watcher": "read-only",
    "reader": "read-only",
    "service": "response-only",
}
SECONDS = 30.0


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway that sits in two rooms, in front of a real server; the person there is Ana."""
    grants = [
        {"agent": name, "server": "echo"} for name in ("ana", "eve", "watcher", "orchestrator")
    ]
    content = config(
        server("echo"),
        server("asker"),
        grants=[*grants, {"agent": "ana", "server": "asker"}],
        gateway={"anonymous": "deny"},
        rooms={
            "participants": [
                {"id": name, "token": TOKENS[name], "profile": PROFILES[name]} for name in TOKENS
            ],
            "kernel": {"topics": ["deploys", "quiet"]},
            "orchestrator": {"topics": ["deploys"], "people": ["ana"], "suggest_after": 3},
        },
    )
    with running(tmp_path_factory.mktemp("rooms"), content) as gateway:
        yield gateway


@pytest.fixture
def url(gateway: Gateway) -> str:
    """Where rooms are."""
    return gateway.urls["rooms"]


class Table:
    """Everybody at one topic."""

    def __init__(self, url: str, topic: str, stack: AsyncExitStack) -> None:
        self._url = url
        self._topic = topic
        self._stack = stack

    async def seat(self, name: str, **options: Any) -> Participant:
        """Somebody sits down."""
        place = join(self._url, topic=self._topic, token=TOKENS[name], **options)
        return await self._stack.enter_async_context(place)


@pytest.fixture
async def table(url: str) -> AsyncIterator[Table]:
    """The room in which the orchestrator sits."""
    async with AsyncExitStack() as stack:
        yield Table(url, "deploys", stack)


def echo(text: str) -> dict[str, Any]:
    """The params of a call that gives a text back."""
    return {"name": "echo__echo", "arguments": {"message": text}}


async def within(work: Any) -> Any:
    """The result of something that must not take longer."""
    async with asyncio.timeout(SECONDS):
        return await work


async def heard(participant: Participant, wanted: Any) -> Heard:
    """The next message that is wanted."""
    found: asyncio.Future[Heard] = asyncio.get_running_loop().create_future()

    def watch(one: Heard) -> None:
        if not found.done() and wanted(one):
            found.set_result(one)

    participant.watchers.append(watch)
    result: Heard = await within(found)
    participant.watchers.remove(watch)
    return result


def said_about(id: str) -> Any:
    """A chat message about an envelope."""
    return lambda one: one.envelope.kind == "chat" and one.envelope.correlation_id == id


def recorded(gateway: Gateway, trace: str, *, kinds: set[str]) -> list[dict[str, Any]]:
    """The records of a trace, once all kinds of them are there."""
    deadline = time.monotonic() + SECONDS
    while True:
        found = gateway.audit("--trace", trace)
        if kinds <= {one["event_type"] for one in found} or time.monotonic() > deadline:
            return found


async def test_tools_behind_the_gateway_are_listed_and_called_in_a_room(table: Table) -> None:
    """MCPX-2.1-3, MCPX-8.2-2: the kernel as a participant; the sender is the caller."""
    ana = await table.seat("ana")
    assert {"gatewright", "orchestrator"} <= set(ana.roster.others)
    hello = await within(
        ana.request(
            "gatewright", "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}}
        )
    )
    assert hello["serverInfo"]["name"] == "gatewright"
    listed = await within(ana.request("gatewright", "tools/list"))
    assert "echo__echo" in [tool["name"] for tool in listed["tools"]]
    found = await within(ana.request("gatewright", "tools/call", echo("hello")))
    assert found["content"][0]["text"] == "hello"


async def test_a_room_is_governed_like_every_other_door(table: Table) -> None:
    """MGP-5.5-3: what the caller may not use is not listed and not called, whatever its capabilities in the room."""
    bob = await table.seat("bob")
    listed = await within(bob.request("gatewright", "tools/list"))
    assert "echo__echo" not in [tool["name"] for tool in listed["tools"]]
    found = await within(bob.request("gatewright", "tools/call", echo("hello")))
    assert found["isError"]
    assert json.loads(found["content"][0]["text"].splitlines()[1])["reason"] == "access_denied"


async def test_a_question_of_a_server_reaches_the_participant_who_called(table: Table) -> None:
    """MCPX-2.1-3 the other way: the participant answers as a client of MCP."""
    asked: list[str] = []

    async def answer(frame: bytes, envelope: Any) -> bytes | None:
        message = json.loads(frame)
        asked.append(message["method"])
        if "id" not in message:
            return None
        result = {"action": "accept", "content": {"name": "Ana"}}
        return json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()

    ana = await table.seat("ana", responder=answer)
    await within(
        ana.request(
            "gatewright",
            "initialize",
            {
                "protocolVersion": "2025-06-18",
                "capabilities": {"elicitation": {}},
                "clientInfo": {"name": "ana", "version": "1"},
            },
        )
    )
    found = await within(
        ana.request("gatewright", "tools/call", {"name": "asker__ask_elicitation", "arguments": {}})
    )
    assert "elicitation/create" in asked
    assert not found.get("isError")


async def test_a_proposal_is_made_after_a_refusal_and_fulfilled_by_somebody_else(
    table: Table, gateway: Gateway
) -> None:
    """MCPX-9.1-1 in six steps, MCPX-3.2.1-5, MCPX-3.2.1-6, MCPX-7.1-2: blocked, proposed, fulfilled, and recorded."""
    ana, eve = await table.seat("ana"), await table.seat("eve")
    with pytest.raises(NotAllowedError):
        await eve.request("gatewright", "tools/call", echo("x"))
    pending = eve.propose("tools/call", echo("proposed"), to=["gatewright"])
    dry = await heard(ana, said_about(pending.id))
    assert json.loads(dry.envelope.payload)["text"].endswith("passes every gate for ana")
    result, outcome = await within(asyncio.gather(ana.fulfil(pending.id), pending.outcome()))
    assert result == outcome
    assert result["content"][0]["text"] == "proposed"
    found = recorded(gateway, pending.id, kinds={"dev.gatewright.room.message", "TOOL_EXECUTED"})
    (executed,) = [one for one in found if one["event_type"] == "TOOL_EXECUTED"]
    assert (executed["actor"]["id"], executed["door"]) == ("ana", "room")
    messages = [one for one in found if one["event_type"] == "dev.gatewright.room.message"]
    kinds = [one["details"]["kind"] for one in messages]
    assert {"mcp/proposal:tools/call:echo__echo", "mcp/request:tools/call:echo__echo"} <= set(kinds)


async def test_a_dry_run_names_the_gate_that_would_refuse(table: Table) -> None:
    """A proposal shows what the kernel would say next to it: nothing is called."""
    ana, eve = await table.seat("ana"), await table.seat("eve")
    bad = {"name": "echo__echo", "arguments": {"message": 5}}
    pending = eve.propose("tools/call", bad, to=["gatewright"])
    both = (heard(one, said_about(pending.id)) for one in (ana, eve))
    dry, told = await asyncio.gather(*both)
    assert "refused for ana: schema" in json.loads(dry.envelope.payload)["text"]
    assert json.loads(told.envelope.payload)["text"].endswith("passes the gates for nobody here")


async def test_a_person_teaches_the_orchestrator_which_then_decides_by_itself(
    table: Table, gateway: Gateway
) -> None:
    """MCPX-9.4-1, MCPX-9.4-2: delegated fulfilment, a suggestion with its evidence, a rule, an escalation, an end."""
    ana, bob = await table.seat("ana"), await table.seat("bob")

    async def tell(tool: str, **arguments: Any) -> Any:
        params = {"name": tool, "arguments": arguments}
        result = await within(ana.request("orchestrator", "tools/call", params))
        assert not result["isError"], result
        return result["structuredContent"]

    for number in range(3):
        pending = bob.propose("tools/call", echo(f"report {number}"), to=["gatewright"])
        await heard(ana, said_about(pending.id))
        approved, outcome = await within(
            asyncio.gather(tell("approve", proposal=pending.id), pending.outcome())
        )
        assert approved == outcome
    (suggestion,) = (await tell("suggestions"))["suggestions"]
    assert suggestion["where"]["arguments.message"] == "report *"
    assert suggestion["evidence"]["by"] == ["ana"]
    rule = await tell("accept", id=suggestion["id"])
    kept = json.loads((gateway.folder / "state" / "room-rules" / "deploys.json").read_text())
    assert [one["id"] for one in kept["rules"]] == [rule["id"]]
    alone = bob.propose("tools/call", echo("report 99"), to=["gatewright"])
    assert (await within(alone.outcome()))["content"][0]["text"] == "report 99"
    other = bob.propose("tools/call", echo("something else"), to=["gatewright"])
    await heard(ana, said_about(other.id))
    await tell("reject", proposal=other.id, reason="not a report")
    await tell("revoke", id=rule["id"])
    found = recorded(gateway, alone.id, kinds={"dev.gatewright.room.approved", "TOOL_EXECUTED"})
    (decided,) = [one for one in found if one["event_type"] == "dev.gatewright.room.approved"]
    assert (decided["actor"], decided["details"]["rule"]) == (
        {"type": "orchestrator", "id": "orchestrator"},
        rule["id"],
    )
    (executed,) = [one for one in found if one["event_type"] == "TOOL_EXECUTED"]
    assert executed["actor"]["id"] == "orchestrator"


async def test_four_profiles_sit_at_one_table_each_with_its_own_rights(table: Table) -> None:
    """MCPX-9.3-1: administrator, service, new agent, monitor."""
    service_asked: list[str] = []

    async def serve(frame: bytes, envelope: Any) -> bytes | None:
        message = json.loads(frame)
        service_asked.append(envelope.sender)
        return json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"ok": True}}).encode()

    ana, eve = await table.seat("ana"), await table.seat("eve")
    watcher = await table.seat("watcher")
    service = await table.seat("service", responder=serve)
    assert await within(ana.request("service", "tools/call", {"name": "x"})) == {"ok": True}
    assert await within(watcher.request("service", "tools/list")) == {"ok": True}
    for who, method in ((watcher, "tools/call"), (eve, "tools/list"), (service, "tools/list")):
        with pytest.raises(NotAllowedError):
            await who.request("gatewright", method, {"name": "x"})
    with pytest.raises(NotAllowedError):
        watcher.propose("tools/list")
    assert eve.propose("tools/list", to=["service"]).proposal.status == "pending"
    assert service_asked == ["ana", "watcher"]


async def test_capabilities_grow_without_a_new_connection(url: str, gateway: Gateway) -> None:
    """MCPX-9.2-1, MCPX-8.2-5: observed, expanded by an administrator, and the new operation works."""
    async with join(url, topic="quiet", token=TOKENS["eve"]) as eve:
        with pytest.raises(NotAllowedError):
            await eve.request("gatewright", "tools/list")
        told = asyncio.create_task(heard(eve, lambda one: one.envelope.kind == "system/welcome"))
        await asyncio.sleep(0)
        await asyncio.to_thread(_promote, gateway, "eve", ["mcp/request:tools/*"])
        await told
        try:
            listed = await within(eve.request("gatewright", "tools/list"))
            assert "echo__echo" in [tool["name"] for tool in listed["tools"]]
        finally:
            await asyncio.to_thread(_promote, gateway, "eve", [], ["mcp/request:tools/*"])


def _promote(
    gateway: Gateway, participant: str, add: list[str], remove: list[str] | None = None
) -> None:
    """What an administrator does."""
    base = gateway.url.removesuffix("/mcp")
    body = json.dumps(
        {"add": add, "remove": remove or [], "reason": "observed for a while"}
    ).encode()
    request = urllib.request.Request(  # noqa: S310 - loopback
        f"{base}/admin/participants/{participant}/capabilities",
        data=body,
        headers={
            "Authorization": f"Bearer {gateway.operator_token}",
            "Content-Type": "application/json",
        },
    )
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:  # noqa: S310 - loopback
        assert json.load(answer)["participantId"] == participant


async def test_a_foreign_client_calls_tools_and_proposes_in_the_same_room(
    table: Table, url: str
) -> None:
    """MCPX-9.5-1 with a client written from the text: request, response, proposal, fulfilment."""
    ana = await table.seat("ana")
    guest = await Guest(url, "deploys", TOKENS["eve"]).connect()
    try:
        body = {"method": "tools/call", "params": echo("from afar")}
        envelope = {
            "protocol": "mcpx/v0.1",
            "id": "foreign-1",
            "from": "eve",
            "to": ["gatewright"],
            "kind": "mcp/proposal:tools/call:echo__echo",
            "payload": body,
        }
        await guest.socket.send(json.dumps(envelope))
        await heard(ana, said_about("foreign-1"))
        await within(ana.fulfil("foreign-1"))
        answer = await guest.next("mcp/response:tools/call:echo__echo")
        assert answer["to"] == ["ana", "eve"]
        assert answer["payload"]["result"]["content"][0]["text"] == "from afar"
    finally:
        await guest.socket.close()


async def test_nobody_can_be_called_as_the_gateway_is_and_strangers_stay_outside(url: str) -> None:
    with pytest.raises(CannotConnect) as refused:
        async with join(url, topic="deploys", token="a-token-of-nobody-at-all"):
            pass
    assert refused.value.status == 401
