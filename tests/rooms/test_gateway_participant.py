"""The gateway's own place in a room, in front of a scripted owner of tools."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from gatewright.call import Answer, Back, Call, Caller, CannotAsk, Event, Outcome, Question, Refusal
from gatewright.mcp.wire import jsonrpc
from gatewright.rehearsal import Verdict
from gatewright.rooms import gateway_participant
from gatewright.rooms.callers import RoomCallers
from gatewright.rooms.gateway_participant import DOOR, GatewayParticipant
from gatewright.rooms.participants import CallError, Participant
from gatewright.rooms.participants.dial import join
from gatewright.rooms.participants.participant import Heard
from tests.dialects.client import within
from tests.dialects.house import House, text
from tests.rooms.hall import FULL, Hall, token_of

PEOPLE = {"ann": FULL, "bob": FULL, "eve": ("mcp/proposal:*", "mcp/response:*", "chat")}
DIG = {"name": "dig", "arguments": {"deep": 3}}


class _NoKeys:
    def verify(self, credential: str) -> Caller | str:
        return "unknown"


class Stage:
    """A hall in which the kernel sits, and the house behind it."""

    def __init__(self, hall: Hall, house: House) -> None:
        self.hall = hall
        self.house = house
        self.rehearsed: list[Call] = []
        self.refused: dict[str, Refusal] = {}
        callers = RoomCallers(_NoKeys(), "secret", hall.hub)
        self.kernel = GatewayParticipant(
            house.front, hall.hub, callers, self._rehearse, topic="lobby", name="house"
        )
        self.kernel.seat.sit()

    async def _rehearse(self, call: Call) -> Sequence[Verdict]:
        self.rehearsed.append(call)
        refusal = self.refused.get(call.caller.id)
        return [Verdict("access", call, refusal)]

    def guest(self, name: str, **options: Any) -> Any:
        """A participant over a real connection."""
        return join(self.hall.url, topic="lobby", token=token_of(name), **options)


@asynccontextmanager
async def stage() -> AsyncIterator[Stage]:
    """Everything, for as long as the block."""
    async with House() as house, Hall(PEOPLE) as hall:
        yield Stage(hall, house)
        hall.hub.close()


async def about(participant: Participant, id: str) -> str:
    """The text of the next chat message about an envelope."""
    found: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def watch(heard: Heard) -> None:
        envelope = heard.envelope
        if envelope.kind == "chat" and envelope.correlation_id == id and not found.done():
            found.set_result(jsonrpc.decode(envelope.payload)["text"])

    participant.watchers.append(watch)
    said: str = await within(found)
    return said


async def test_a_request_in_the_room_is_a_call_of_its_sender() -> None:
    """MCPX-2.1-3: the same kernel, the sender as the caller, the envelope's id as the trace."""
    async with stage() as scene, scene.guest("ann") as ann:
        scene.house.script.does("dig", text("done"))
        found = await within(ann.request("house", "tools/call", DIG))
        assert found["content"][0]["text"] == "done"
        (call,) = scene.house.script.calls
        assert (call.caller, call.door, call.params["arguments"]) == (
            Caller("ann"),
            DOOR,
            {"deep": 3},
        )
        with pytest.raises(CallError):
            await within(ann.request("house", "no/such"))


async def test_more_may_ask_than_are_remembered_as_long_as_not_all_ask_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """MCPX-2.1-3: in a large room the first to ask do not keep out the others."""
    monkeypatch.setattr(gateway_participant, "HOSTS", 1)

    async def forever(call: Call, back: Back) -> Outcome:
        await asyncio.Event().wait()
        raise AssertionError

    async with stage() as scene, scene.guest("ann") as ann, scene.guest("bob") as bob:
        scene.house.script.does("dig", text("done"))
        for guest in (ann, bob, ann):
            found = await within(guest.request("house", "tools/call", DIG))
            assert found["content"][0]["text"] == "done"
        scene.house.script.does("dig", forever)
        ann.say(
            "mcp/request:tools/call:dig", jsonrpc.request(b"7", "tools/call", DIG), to=["house"]
        )
        while len(scene.house.script.calls) < 4:
            await asyncio.sleep(0)
        with pytest.raises(CallError, match="too many participants ask at once"):
            await within(bob.request("house", "tools/list"))


async def test_a_fulfilment_has_the_trace_of_its_proposal() -> None:
    """MCPX-3.2.1-6."""
    async with stage() as scene, scene.guest("ann") as ann, scene.guest("eve") as eve:
        scene.house.script.does("dig", text("done"))
        pending = eve.propose("tools/call", DIG, to=["house"])
        await about(ann, pending.id)
        await within(asyncio.gather(ann.fulfil(pending.id), pending.outcome()))
        (call,) = scene.house.script.calls
        assert (call.trace_id, call.caller.id) == (pending.id, "ann")


async def test_requests_with_the_same_id_and_events_do_not_meet() -> None:
    """Ids of JSON-RPC are their sender's own; a progress note goes to who asked."""
    heard: list[str] = []

    async def note(frame: bytes, envelope: Any) -> bytes | None:
        heard.append(envelope.kind)
        return None

    async def slowly(call: Call, back: Back) -> Outcome:
        back.emit(Event("notifications/progress", {"progress": 1}))
        return Answer(b'{"content":[]}')

    async with stage() as scene, scene.guest("ann", responder=note) as ann:
        scene.house.script.does("dig", slowly)
        body = jsonrpc.request(b"1", "tools/call", {**DIG, "_meta": {"progressToken": "p"}})
        ids = [ann.say("mcp/request:tools/call:dig", body, to=["house"]) for _ in range(2)]
        answers: set[str | None] = set()
        done = asyncio.Event()

        def watch(one: Heard) -> None:
            if one.envelope.kind.startswith("mcp/response"):
                answers.add(one.envelope.correlation_id)
                if len(answers) == 2:
                    done.set()

        ann.watchers.append(watch)
        await within(done.wait())
        assert answers == set(ids)
        while len(heard) < 2:
            await asyncio.sleep(0)
        assert heard == ["mcp/request:notifications/progress"] * 2


async def test_a_question_of_a_tool_goes_to_who_called_and_only_where_they_can_answer() -> None:
    async def answer(frame: bytes, envelope: Any) -> bytes | None:
        message = jsonrpc.parse(frame)
        if not isinstance(message, jsonrpc.Request):
            return None
        return jsonrpc.response(message.id, b'{"action":"accept","content":{"name":"Ann"}}')

    async def asking(call: Call, back: Back) -> Outcome:
        try:
            found = await back.ask(Question("elicitation/create", {"message": "who?"}))
        except CannotAsk as no:
            return text(f"cannot: {no}")
        return text(found["content"]["name"])

    hello = {"protocolVersion": "2025-06-18", "capabilities": {"elicitation": {}}}
    hello["clientInfo"] = {"name": "ann", "version": "1"}
    async with stage() as scene, scene.guest("ann", responder=answer) as ann:
        scene.house.script.does("dig", asking)
        found = await within(ann.request("house", "tools/call", DIG))
        assert found["content"][0]["text"].startswith("cannot")
        await within(ann.request("house", "initialize", hello))
        found = await within(ann.request("house", "tools/call", DIG))
        assert found["content"][0]["text"] == "Ann"


async def test_a_question_that_is_taken_back_is_told_under_the_id_that_it_has_in_the_room() -> None:
    """Of two questions that one and nothing else; the other is answered."""
    asked: dict[str, bytes] = {}
    told: list[object] = []
    both, gone = asyncio.Event(), asyncio.Event()

    async def answer(frame: bytes, envelope: Any) -> bytes | None:
        message = jsonrpc.parse(frame)
        if isinstance(message, jsonrpc.Notification):
            told.append(jsonrpc.decode(message.params)["requestId"])
            gone.set()
            return None
        assert isinstance(message, jsonrpc.Request)
        which = jsonrpc.decode(message.params)["message"]
        asked[which] = message.id
        if len(asked) == 2:
            both.set()
        await gone.wait()
        return jsonrpc.response(message.id, b'{"action":"accept","content":{"name":"Ann"}}')

    async def asking(call: Call, back: Back) -> Outcome:
        first = asyncio.ensure_future(
            back.ask(Question("elicitation/create", {"message": "first"}))
        )
        while "first" not in asked:
            await asyncio.sleep(0)
        second = asyncio.ensure_future(
            back.ask(Question("elicitation/create", {"message": "second"}))
        )
        await both.wait()
        second.cancel()
        return text((await first)["content"]["name"])

    hello = {"protocolVersion": "2025-06-18", "capabilities": {"elicitation": {}}}
    hello["clientInfo"] = {"name": "ann", "version": "1"}
    async with stage() as scene, scene.guest("ann", responder=answer) as ann:
        scene.house.script.does("dig", asking)
        await within(ann.request("house", "initialize", hello))
        found = await within(ann.request("house", "tools/call", DIG))
        assert found["content"][0]["text"] == "Ann"
        assert told == [jsonrpc.decode(asked["second"])]


async def test_what_runs_for_somebody_who_cancels_or_leaves_is_cancelled() -> None:
    async def forever(call: Call, back: Back) -> Outcome:
        await asyncio.Event().wait()
        raise AssertionError

    async with stage() as scene:
        scene.house.script.does("dig", forever)
        async with scene.guest("ann") as ann:
            ann.say(
                "mcp/request:tools/call:dig", jsonrpc.request(b"7", "tools/call", DIG), to=["house"]
            )
            await within(scene.house.script.began.get())
            ann.notify("house", "notifications/cancelled", {"requestId": 7})
            while not scene.house.script.cancelled:
                await asyncio.sleep(0)
            ann.say(
                "mcp/request:tools/call:dig", jsonrpc.request(b"8", "tools/call", DIG), to=["house"]
            )
            await within(scene.house.script.began.get())
        while len(scene.house.script.cancelled) < 2:
            await asyncio.sleep(0)
        assert scene.house.script.cancelled == ["dig", "dig"]


async def test_requests_that_were_cancelled_leave_room_for_others() -> None:
    """MCPX-2.1-3: MCP answers nothing to a cancelled request, and nobody waits for that answer here."""

    async def forever(call: Call, back: Back) -> Outcome:
        await asyncio.Event().wait()
        raise AssertionError

    async with stage() as scene, scene.guest("ann") as ann, scene.guest("bob") as bob:
        scene.house.script.does("dig", forever)
        scene.house.script.does("fill", text("done"))
        for number in range(300):
            body = jsonrpc.request(b"%d" % number, "tools/call", DIG)
            ann.say("mcp/request:tools/call:dig", body, to=["house"])
            await within(scene.house.script.began.get())
            ann.notify("house", "notifications/cancelled", {"requestId": number})
        fill = {"name": "fill", "arguments": {}}
        found = await within(bob.request("house", "tools/call", fill))
        assert found["content"][0]["text"] == "done"


async def test_nobody_answers_in_the_place_of_the_gateway() -> None:
    """MCPX-3.1.2-1: the forger has the correlation right, and is told why nobody hears it."""

    async def slowly(call: Call, back: Back) -> Outcome:
        await asking.wait()
        return Answer(b'{"content":[{"type":"text","text":"true"}]}')

    asking = asyncio.Event()
    async with stage() as scene, scene.guest("ann") as ann, scene.guest("bob") as bob:
        scene.house.script.does("dig", slowly)
        told: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        def forge(heard: Heard) -> None:
            if heard.envelope.kind == "mcp/request:tools/call:dig":
                lie = jsonrpc.response(b"1", b'{"content":[{"type":"text","text":"a lie"}]}')
                about = heard.envelope.id
                bob.say("mcp/response:tools/call:dig", lie, to=["ann"], about=about)
            elif heard.envelope.kind == "system/error" and not told.done():
                told.set_result(jsonrpc.decode(heard.envelope.payload)["error"])

        bob.watchers.append(forge)
        heard: list[str] = []
        ann.watchers.append(lambda one: heard.append(one.envelope.sender))
        found = asyncio.ensure_future(ann.request("house", "tools/call", DIG))
        assert await within(told) == "auth_violation"
        asking.set()
        assert (await within(found))["content"][0]["text"] == "true"
        assert "bob" not in heard
