"""Parts of this process in a room."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable

import pytest

from gatewright.mcp.wire import jsonrpc
from gatewright.mcpx.batches import Batch, Message
from gatewright.mcpx.envelope import Envelope, compose
from gatewright.rooms.hub import NoPlace
from gatewright.rooms.in_process import WAITING_BYTES, Inside
from gatewright.rooms.policy import Identity
from tests.rooms.hall import FULL, Hall


async def _hello(frame: bytes, envelope: Envelope) -> bytes | None:
    message = jsonrpc.parse(frame)
    assert isinstance(message, jsonrpc.Request)
    return jsonrpc.response(message.id, jsonrpc.encode({"hello": envelope.sender}))


async def test_a_part_of_this_process_answers_in_the_room_and_its_name_is_its_own() -> None:
    """MCPX-2.1-3; and nobody else gets its place."""
    ended: list[str] = []
    async with Hall({"ada": FULL}) as hall:
        inside = Inside(
            hall.hub,
            topic="lobby",
            name="house",
            responder=_hello,
            closed=lambda: ended.append("x"),
        )
        inside.sit()
        ada = await hall.guest("ada")
        assert ada.participants["house"] == ["mcp/*", "chat"]
        body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        await ada.post("mcp/request:ping", body, to=["house"])
        answer = await ada.next("mcp/response:ping")
        assert answer["payload"]["result"] == {"hello": "ada"}
        with pytest.raises(NoPlace, match="the gateway itself is called so"):
            hall.hub.join(Identity("house", FULL), "lobby", inside)
        assert ended == []
    assert ended == ["x"]
    assert inside.participant.id == "house"


async def test_those_who_ask_all_that_they_may_do_not_use_up_the_answers_of_others() -> None:
    """MCPX-2.1-3, decision C-31: the limits are each participant's, and the gateway answers all of them."""
    async with Hall({"ada": FULL, "eve": FULL}, messages_per_s=0.001, burst=20) as hall:
        inside = Inside(hall.hub, topic="lobby", name="house", responder=_hello)
        inside.sit()
        guests = await hall.all("ada", "eve")
        for number in range(15):
            body = {"jsonrpc": "2.0", "id": number, "method": "ping"}
            for guest in guests:
                asked = await guest.post("mcp/request:ping", body, to=["house"])
                answer = await guest.next("mcp/response:ping")
                while answer["correlation_id"] != asked:
                    answer = await guest.next("mcp/response:ping")
                assert answer["payload"]["result"] == {"hello": guest.id}


async def test_a_result_that_is_too_large_for_a_message_is_an_error_and_not_silence() -> None:
    """MCPX-3-10, MCPX-8.2-3, decision C-31, `payload_too_large`."""

    async def much(frame: bytes, envelope: Envelope) -> bytes | None:
        message = jsonrpc.parse(frame)
        assert isinstance(message, jsonrpc.Request)
        return jsonrpc.response(message.id, jsonrpc.encode({"much": "x" * 2000}))

    async with Hall({"ada": FULL}, message_bytes=1000) as hall:
        Inside(hall.hub, topic="lobby", name="house", responder=much).sit()
        ada = await hall.guest("ada")
        body = {"jsonrpc": "2.0", "id": 7, "method": "tools/list"}
        asked = await ada.post("mcp/request:tools/list", body, to=["house"])
        answer = await ada.next("mcp/response:tools/list")
        assert (answer["correlation_id"], answer["payload"]["id"]) == (asked, 7)
        assert "payload_too_large" in answer["payload"]["error"]["message"]
        long = await ada.post("chat", {"text": "x" * 2000})
        error = await ada.error()
        assert (error["payload"]["error"], error["correlation_id"]) == ("payload_too_large", long)


def said(number: int, size: int = 10) -> bytes:
    text = "x" * size
    return compose(
        id=f"m{number}",
        ts=None,
        sender="ada",
        kind="chat",
        payload=jsonrpc.encode({"text": text}),
    )


def slow() -> Callable[[], float]:
    """A clock on which everything takes a second."""
    ticks = itertools.count()
    return lambda: float(next(ticks))


async def heard_by(hall: Hall, name: str) -> tuple[Inside, list[str]]:
    """A part for which everything takes long, and what it has heard of `ada`."""
    inside = Inside(hall.hub, topic="lobby", name=name, responder=_hello, clock=slow())
    found: list[str] = []
    inside.sit()
    async with asyncio.timeout(20):
        await inside.participant.welcomed()
    inside.participant.watchers.append(lambda one: found.append(one.envelope.id))
    return inside, found


async def test_what_takes_long_to_hear_is_heard_one_after_the_other_with_rests_between() -> None:
    """So that whoever is no part of the room has its turn."""
    async with Hall({"ada": FULL}) as hall:
        inside, found = await heard_by(hall, "house")
        inside.deliver(Batch([Message(number, said(number)) for number in range(4)]))
        lengths = [len(found)]
        async with asyncio.timeout(20):
            while len(found) < 4:
                await asyncio.sleep(0.005)
                if len(found) != lengths[-1]:
                    lengths.append(len(found))
        assert found == ["m0", "m1", "m2", "m3"]
        assert lengths[-3:] == [2, 3, 4]


async def test_what_waits_to_be_heard_has_a_bound(caplog: pytest.LogCaptureFixture) -> None:
    """Whoever says more is not heard until there is room, and the log says so once."""
    async with Hall({"ada": FULL}) as hall:
        inside, found = await heard_by(hall, "house")
        size = WAITING_BYTES // 4
        many = [Message(number, said(number, size)) for number in range(9)]
        inside.deliver(Batch([*many, Message(10, said(10))]))
        async with asyncio.timeout(20):
            while "m10" not in found:
                await asyncio.sleep(0.01)
        assert found == ["m0", "m1", "m2", "m10"]  # what is short has more room
        inside.deliver(Batch([Message(11, said(11))]))
        async with asyncio.timeout(20):
            while "m11" not in found:
                await asyncio.sleep(0.01)
        assert [one.message for one in caplog.records] == [
            "house hears no more in lobby until it has caught up"
        ]
