"""How many requests a participant answers at once, and what becomes of an answer that nobody gets."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gatewright.rooms.participants import CallError
from tests.rooms.participants.bus import Bus, within
from tests.rooms.participants.test_participant import Worker


def _ask(bus: Bus, sender: str, ident: int | None, method: str = "tools/list") -> None:
    body: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    if ident is not None:
        body["id"] = ident
    bus.raw(sender, f"mcp/request:{method}", body, to=["worker"])


async def test_one_who_asks_too_much_at_once_leaves_room_for_others_and_can_give_up() -> None:
    """MCPX-2.1-3."""
    bus, worker = Bus(), Worker()
    worker.hold = asyncio.Event()
    bus.join("worker", responder=worker)
    for number in range(200):
        _ask(bus, "eve", number)
    _ask(bus, "eve", None, "notifications/cancelled")
    ada = bus.join("ada")
    asking = asyncio.create_task(ada.request("worker", "tools/list"))
    for _ in range(5):
        await asyncio.sleep(0)
    assert worker.asked[-1][0] == "ada"
    assert worker.asked[-2][1]["method"] == "notifications/cancelled"
    assert [sender for sender, _ in worker.asked].count("eve") == 65
    worker.hold.set()
    assert (await within(asking))["for"] == "ada"
    _ask(bus, "eve", 300)
    for _ in range(5):
        await asyncio.sleep(0)
    assert bus.of("worker")[-1]["payload"]["result"]["for"] == "eve"


async def test_who_waits_for_an_answer_that_is_not_passed_on_is_told() -> None:
    """MCPX-3-10, MCPX-8.2-3: once; an error that is not passed on either is let be."""
    bus = Bus()
    bus.join("worker", responder=Worker())
    ada = bus.join("ada")
    asking = asyncio.create_task(ada.request("worker", "tools/list"))

    take = bus._takers["ada"]
    bus._takers["ada"] = lambda text: None
    for _ in range(5):
        await asyncio.sleep(0)
    bus._takers["ada"] = take
    refused = {"error": "payload_too_large", "message": "a message may have 262144 bytes"}
    answer = bus.of("worker")[-1]
    bus.system("error", refused, to=["worker"], about=answer["id"])
    said = "the answer was not passed on: payload_too_large: a message may have 262144 bytes"
    with pytest.raises(CallError, match=said):
        await within(asking)
    last = bus.of("worker")[-1]
    assert (last["correlation_id"], last["kind"]) == (answer["correlation_id"], answer["kind"])
    bus.system("error", refused, to=["worker"], about=last["id"])
    bus.system("error", refused, to=["worker"], about=answer["id"])
    assert bus.of("worker")[-1] == last


async def test_of_what_was_answered_nothing_long_is_kept() -> None:
    """Who waits can be told that an answer was not passed on, for which its request is not needed."""
    bus = Bus()
    worker = bus.join("worker", responder=Worker())
    others = [f"guest-{number}" for number in range(50)]
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"long": "x" * 10_000}}
    bus.raw("eve", "mcp/request:tools/list", body, to=["worker", *others])
    for _ in range(5):
        await asyncio.sleep(0)
    ((envelope, ident),) = worker._answering._sent.values()
    assert (envelope.payload, envelope.text, envelope.to, ident) == (b"", b"", (), b"1")
    bus.system("error", {"error": "x", "message": "y"}, about=bus.of("worker")[-1]["id"])
    said = bus.of("worker")[-1]
    assert (said["to"], said["payload"]["error"]["code"]) == (["eve"], -32603)


async def test_what_one_asks_who_has_left_before_it_is_begun_is_not() -> None:
    """Its answer would be for whoever is called so next. What it only tells is heard."""
    bus, worker = Bus(), Worker()
    bus.join("worker", responder=worker)
    for ident in (1, None):
        _ask(bus, "eve", ident)
    bus.system("presence", {"event": "leave", "participant": {"id": "eve"}})
    _ask(bus, "ann", 2)
    for _ in range(5):
        await asyncio.sleep(0)
    assert [(sender, "id" in body) for sender, body in worker.asked] == [
        ("eve", False),
        ("ann", True),
    ]
