"""What becomes of an answer whose asker has left the room meanwhile."""

from __future__ import annotations

import asyncio

import pytest

from gatewright.rooms.participants import CallError
from tests.rooms.participants.bus import Bus, call, within
from tests.rooms.participants.test_participant import PROPOSAL_ONLY, Worker


async def _turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def _presence(bus: Bus, event: str, name: str) -> None:
    told = {"event": event, "participant": {"id": name, "capabilities": ["mcp/*"]}}
    bus.system("presence", told)


async def test_who_proposed_hears_the_outcome_also_where_who_asked_for_it_has_left() -> None:
    bus, worker = Bus(), Worker()
    worker.hold = asyncio.Event()
    bus.join("worker", responder=worker)
    ada, watching = bus.join("ada"), bus.join("carl")
    pending = bus.join("eve", PROPOSAL_ONLY).propose("tools/call", call("dig"), to=["worker"])
    outcome = asyncio.create_task(pending.outcome())
    asking = asyncio.create_task(ada.fulfil(pending.id))
    await _turns()
    _presence(bus, "leave", "ada")
    _presence(bus, "join", "ada")
    worker.hold.set()
    assert await within(outcome) == {"did": "tools/call", "for": "ada"}
    assert [one["to"] for one in bus.of("worker")] == [["eve"]]
    for ledger in (watching.proposals, pending.proposal):
        found = ledger if ledger is pending.proposal else watching.proposals.find(pending.id)
        assert getattr(found, "status", "") == "fulfilled"
    asking.cancel()


@pytest.mark.parametrize("turns", [0, 5])
async def test_who_proposed_hears_that_it_was_given_up_when_who_asked_for_it_left(
    turns: int,
) -> None:
    """Before it began, or by a responder that ends what was asked by who leaves."""
    bus, worker = Bus(), Worker()
    worker.hold = asyncio.Event()
    at = bus.join("worker", responder=worker)
    ada = bus.join("ada")
    pending = bus.join("eve", PROPOSAL_ONLY).propose("tools/call", call("dig"), to=["worker"])
    outcome = asyncio.create_task(pending.outcome())
    asking = asyncio.create_task(ada.fulfil(pending.id))
    while not at._answering._tasks:
        await asyncio.sleep(0)
    if turns:
        await _turns(turns)
    _presence(bus, "leave", "ada")
    for task in list(at._answering._tasks):
        task.cancel()
    with pytest.raises(CallError, match="has left"):
        await within(outcome, 3)
    assert pending.proposal.status == "failed"
    assert [one["to"] for one in bus.of("worker")] == [["eve"]]
    asking.cancel()


async def test_an_answer_to_one_who_left_is_said_to_nobody_where_nobody_proposed_it() -> None:
    """A message without `to` would be for everybody."""
    bus, worker = Bus(), Worker()
    worker.hold = asyncio.Event()
    bus.join("worker", responder=worker)
    asking = asyncio.create_task(bus.join("ada").request("worker", "tools/call", call("dig")))
    await _turns()
    _presence(bus, "leave", "ada")
    worker.hold.set()
    await _turns()
    assert bus.of("worker") == []
    asking.cancel()


async def test_who_comes_back_and_says_it_again_is_told_that_it_was_heard() -> None:
    """Its first answer goes to nobody, so an error in its place misleads nobody."""
    bus, worker = Bus(), Worker()
    worker.hold = asyncio.Event()
    bus.join("worker", responder=worker)
    bus.join("ada")
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call("dig")}
    kind = "mcp/request:tools/call:dig"
    id = bus.raw("ada", kind, body, to=["worker"])
    await _turns()
    bus.raw("ada", kind, body, to=["worker"], id=id)
    assert bus.of("worker") == []  # the first answer comes yet
    _presence(bus, "leave", "ada")
    _presence(bus, "join", "ada")
    bus.raw("ada", kind, body, to=["worker"], id=id)
    worker.hold.set()
    await _turns()
    ((said),) = bus.of("worker")
    assert "was heard before" in said["payload"]["error"]["message"]
    assert len(worker.asked) == 1


async def test_who_comes_back_and_says_it_again_takes_no_answer_from_who_proposed_it() -> None:
    """Of each who is asked the gateway passes on one answer to a request."""
    bus, worker = Bus(), Worker()
    worker.hold = asyncio.Event()
    bus.join("worker", responder=worker)
    bus.join("ada")
    pending = bus.join("eve", PROPOSAL_ONLY).propose("tools/call", call("dig"), to=["worker"])
    outcome = asyncio.create_task(pending.outcome())
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call("dig")}
    kind, about = "mcp/request:tools/call:dig", pending.id
    id = bus.raw("ada", kind, body, to=["worker"], correlation_id=about)
    await _turns()
    _presence(bus, "leave", "ada")
    _presence(bus, "join", "ada")
    for ident in (1, 2):
        again = {**body, "id": ident}
        bus.raw("ada", kind, again, to=["worker"], id=id, correlation_id=about)
    await _turns()
    assert bus.of("worker") == []
    worker.hold.set()
    assert await within(outcome) == {"did": "tools/call", "for": "ada"}
    assert len(worker.asked) == 1
