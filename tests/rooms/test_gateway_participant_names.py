"""Two who may be called the same in a room, one after the other: neither asks, hears or answers in the place of the other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from gatewright.call import (
    Answer,
    Back,
    Call,
    Caller,
    CannotAsk,
    Event,
    Outcome,
    Question,
    UserContext,
)
from gatewright.mcp.wire import jsonrpc
from gatewright.mcpx.batches import Batch
from gatewright.mcpx.envelope import compose
from gatewright.rooms.policy import Identity
from tests.dialects.client import within
from tests.dialects.house import text
from tests.rooms.hall import FULL
from tests.rooms.test_gateway_participant import DIG, Stage, stage

AGENT = Identity("ann", FULL, caller=Caller("ann"))
OPERATOR = Identity("ann", FULL, caller=Caller("ann", "operator"))
LIMITED = Identity("ann", FULL, caller=Caller("ann", user=(UserContext(trust="untrusted"),)))


class Seat:
    """Somebody in the room without a socket, and all that is said to it."""

    def __init__(self, stage: Stage, identity: Identity) -> None:
        self.heard: list[dict[str, Any]] = []
        self.place = stage.hall.hub.join(identity, "lobby", self)

    def deliver(self, batch: Batch) -> None:
        self.heard += [jsonrpc.decode(one.text) for one in batch.messages]

    def close(self, code: int, reason: str) -> None:
        """The place is lost."""

    def say(self, ident: int, method: str, params: dict[str, Any], **more: Any) -> None:
        kind = f"mcp/request:{method}"
        payload = jsonrpc.request(b"%d" % ident, method, params)
        self.put(ident, kind, payload, **more)

    def put(self, ident: int, kind: str, payload: bytes, **more: Any) -> None:
        id, ts = f"00000000-0000-4000-8000-{ident:012}", "2026-01-01T00:00:00Z"
        self.place.say(
            compose(id=id, ts=ts, sender="ann", kind=kind, payload=payload, to=["house"], **more)
        )

    @property
    def kinds(self) -> list[str]:
        """What the kernel said."""
        return [one["kind"] for one in self.heard if one["from"] == "house"]


async def rest() -> None:
    for _ in range(50):
        await asyncio.sleep(0)


async def until(true: Callable[[], object]) -> None:
    """What the kernel does takes as long as the machine has it take."""
    async with asyncio.timeout(30):
        while not true():
            await asyncio.sleep(0.001)


LATER = {**DIG, "arguments": {"deep": 4}}


@pytest.mark.parametrize("rests", [False, True])
@pytest.mark.parametrize("second", [OPERATOR, LIMITED, AGENT])
async def test_what_one_asked_who_is_replaced_is_not_made_a_call_of_the_other(
    second: Identity, rests: bool
) -> None:
    """The kernel hears a little later: of the request as well, or (it `rests`) only of who has left. Who comes back as the same one has
    asked it, and is answered."""
    async with stage() as scene:
        scene.house.script.does("dig", text("done"))
        kernel, others = scene.kernel.seat, list[Seat]()
        deliver = kernel.deliver

        def heard(batch: Batch) -> None:
            kernel.deliver = deliver  # type: ignore[method-assign]
            deliver(batch)
            kernel._rest = asyncio.get_running_loop().call_later(0.05, kernel._hear)
            others.append(Seat(scene, second))

        if rests:
            kernel.deliver = heard  # type: ignore[method-assign]
        Seat(scene, AGENT).say(1, "tools/call", DIG)
        if not rests:
            others.append(Seat(scene, second))
        await until(lambda: others)
        others[0].say(2, "tools/call", LATER)
        expected = [*([DIG] if second is AGENT else []), LATER]
        while others[0].kinds.count("mcp/response:tools/call") < len(expected):
            await asyncio.sleep(0)
        calls = [(one.caller, one.params["arguments"]) for one in scene.house.script.calls]
        assert calls == [(second.caller, one["arguments"]) for one in expected]


@pytest.mark.parametrize("second", [OPERATOR, LIMITED])
async def test_neither_answer_nor_question_nor_event_of_a_call_reaches_who_has_the_name_since(
    second: Identity,
) -> None:
    async with stage() as scene:
        begun, goes, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()
        refused: list[str] = []

        async def dig(call: Call, back: Back) -> Any:
            begun.set()
            await goes.wait()
            back.emit(Event("notifications/message", {"level": "info", "data": "found"}))
            try:
                await back.ask(Question("roots/list"))
            except CannotAsk as no:
                refused.append(no.message)
            ended.set()
            return Answer(b'{"content":[]}')

        scene.house.script.does("dig", dig)
        first = Seat(scene, AGENT)
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {"roots": {}},
            "clientInfo": {"name": "x", "version": "1"},
        }
        first.say(1, "initialize", hello)
        await rest()
        first.say(2, "tools/call", DIG)
        await asyncio.wait_for(begun.wait(), 10)
        # It rests, as after much that was said, and has not heard yet that the first one has left.
        resting = asyncio.get_running_loop().call_later(60, begun.set)
        scene.kernel.seat._rest = resting
        other = Seat(scene, second)
        goes.set()
        await asyncio.wait_for(ended.wait(), 10)
        await rest()
        assert other.kinds == []
        assert refused == ["ann is not the one here who called"]
        resting.cancel()


@pytest.mark.parametrize(
    ("second", "ended"), [(LIMITED, ["dig"]), (OPERATOR, ["dig"]), (AGENT, [])]
)
async def test_a_call_ends_when_one_with_other_rights_takes_the_name_of_its_caller(
    second: Identity, ended: list[str]
) -> None:
    """And goes on where somebody with equal ones does, as a client does that connects anew."""

    async def forever(call: Call, back: Back) -> Outcome:
        await asyncio.Event().wait()
        raise AssertionError

    async with stage() as scene:
        scene.house.script.does("dig", forever)
        Seat(scene, AGENT).say(1, "tools/call", DIG)
        await within(scene.house.script.began.get())
        other = Seat(scene, second)
        gone = jsonrpc.notification("notifications/cancelled", {"requestId": 7})
        other.put(2, "mcp/request:notifications/cancelled", gone)
        await rest()
        if ended:
            await until(lambda: scene.house.script.cancelled)
        assert scene.house.script.cancelled == ended
        assert other.kinds == []


@pytest.mark.parametrize("ends", ["dig", "dug"])
async def test_of_two_requests_of_one_id_the_end_of_one_leaves_the_other_within_reach(
    ends: str,
) -> None:
    """A room tells them apart by their envelopes; either may end first."""
    goes = asyncio.Event()

    async def work(call: Call, back: Back) -> Outcome:
        await (goes if call.name == ends else asyncio.Event()).wait()
        return Answer(b'{"content":[]}')

    async with stage() as scene:
        seat = Seat(scene, AGENT)
        for envelope, name in ((1, "dig"), (2, "dug")):
            scene.house.script.does(name, work)
            body = jsonrpc.request(b"7", "tools/call", {"name": name, "arguments": {}})
            seat.put(envelope, f"mcp/request:tools/call:{name}", body)
            await within(scene.house.script.began.get())
        goes.set()
        await until(lambda: f"mcp/response:tools/call:{ends}" in seat.kinds)
        gone = jsonrpc.notification("notifications/cancelled", {"requestId": 7})
        seat.put(3, "mcp/request:notifications/cancelled", gone)
        await until(lambda: scene.house.script.cancelled)
        await rest()
        assert scene.house.script.cancelled == [{"dig": "dug", "dug": "dig"}[ends]]


async def test_a_cancelled_id_ends_all_requests_that_have_it() -> None:
    async def forever(call: Call, back: Back) -> Outcome:
        await asyncio.Event().wait()
        raise AssertionError

    async with stage() as scene:
        seat = Seat(scene, AGENT)
        for envelope, name in ((1, "dig"), (2, "dug")):
            scene.house.script.does(name, forever)
            body = jsonrpc.request(b"7", "tools/call", {"name": name, "arguments": {}})
            seat.put(envelope, f"mcp/request:tools/call:{name}", body)
            await within(scene.house.script.began.get())
        gone = jsonrpc.notification("notifications/cancelled", {"requestId": 7})
        seat.put(3, "mcp/request:notifications/cancelled", gone)
        await until(lambda: len(scene.house.script.cancelled) == 2)
        assert sorted(scene.house.script.cancelled) == ["dig", "dug"]


async def test_of_several_requests_the_one_that_is_named_is_given_up() -> None:
    async def forever(call: Call, back: Back) -> Outcome:
        await asyncio.Event().wait()
        raise AssertionError

    async with stage() as scene:
        seat = Seat(scene, AGENT)
        for ident, name in ((1, "dig"), (2, "dug"), (3, "deg")):
            scene.house.script.does(name, forever)
            seat.say(ident, "tools/call", {"name": name, "arguments": {}})
        async with asyncio.timeout(10):
            while len(scene.house.script.calls) < 3:
                await asyncio.sleep(0.001)
        gone = jsonrpc.notification("notifications/cancelled", {"requestId": 2})
        seat.put(4, "mcp/request:notifications/cancelled", gone)
        async with asyncio.timeout(10):
            while not scene.house.script.cancelled:
                await asyncio.sleep(0.001)
        assert scene.house.script.cancelled == ["dug"]
        gone = jsonrpc.notification("notifications/cancelled", {"requestId": 9})
        seat.put(5, "mcp/request:notifications/cancelled", gone)
        await rest()
        assert scene.house.script.cancelled == ["dug"]
