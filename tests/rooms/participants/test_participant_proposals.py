"""What becomes of a proposal in the hands of those who do not keep to the rules, or give up."""

from __future__ import annotations

import asyncio

import pytest

from gatewright.rooms.participants import GoneError, NotFulfillableError, RoomRefusedError
from tests.rooms.participants.bus import Bus, call, within
from tests.rooms.participants.test_participant import PROPOSAL_ONLY, Worker


async def test_the_outcome_of_a_proposal_comes_from_who_was_asked_for_it() -> None:
    """MCPX-3.2.1-4: whoever may respond sees the fulfilment, and could answer in another's place."""
    bus, worker = Bus(), Worker()
    worker.hold = asyncio.Event()
    bus.join("worker", responder=worker)
    eve, ada = bus.join("eve", PROPOSAL_ONLY), bus.join("ada")
    pending = eve.propose("tools/call", call("dig"), to=["worker"])
    work = asyncio.gather(ada.fulfil(pending.id), pending.outcome())
    await asyncio.sleep(0)
    fulfilment = bus.of("ada")[-1]["id"]
    forged = {"jsonrpc": "2.0", "id": 1, "result": {"did": "nothing"}}
    kind = "mcp/response:tools/call:dig"
    bus.raw("mal", kind, forged, to=["ada", "eve"], correlation_id=fulfilment)
    worker.hold.set()
    assert await within(work) == [{"did": "tools/call", "for": "ada"}] * 2


@pytest.mark.parametrize("to", [["mal"], ["mal", "worker"], []])
async def test_who_asks_itself_for_what_was_put_to_another_has_not_fulfilled_it(
    to: list[str],
) -> None:
    """Whoever may call tools would otherwise give the outcome of what it was never asked for."""
    bus, worker = Bus(), Worker()
    bus.join("worker", responder=worker)
    eve, ada = bus.join("eve", PROPOSAL_ONLY), bus.join("ada")
    pending = eve.propose("tools/call", call("dig"), to=["worker"])
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call("dig")}
    kind = "tools/call:dig"
    own = bus.raw("mal", f"mcp/request:{kind}", body, to=to, correlation_id=pending.id)
    forged = {"jsonrpc": "2.0", "id": 1, "result": {"did": "nothing"}}
    bus.raw("mal", f"mcp/response:{kind}", forged, to=["eve"], correlation_id=own)
    await asyncio.sleep(0)
    assert (pending.proposal.status, worker.asked) == ("pending", [])
    assert await within(ada.fulfil(pending.id)) == {"did": "tools/call", "for": "ada"}
    assert await within(pending.outcome()) == {"did": "tools/call", "for": "ada"}


async def test_what_everybody_may_do_is_not_done_by_who_asks_for_it() -> None:
    bus = Bus()
    eve, worker = bus.join("eve", PROPOSAL_ONLY), Worker()
    bus.join("worker", responder=worker)
    pending = eve.propose("tools/call", call("dig"))
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call("dig")}
    to = ["mal", "worker"]
    own = bus.raw("mal", "mcp/request:tools/call:dig", body, to=to, correlation_id=pending.id)
    forged = {"jsonrpc": "2.0", "id": 1, "result": {"did": "nothing"}}
    bus.raw("mal", "mcp/response:tools/call:dig", forged, to=["eve"], correlation_id=own)
    assert await within(pending.outcome()) == {"did": "tools/call", "for": "mal"}


async def test_an_answer_is_not_for_whoever_takes_the_name_of_who_asked_or_proposed() -> None:
    for gone, hear in (("eve", ["ada"]), ("ada", ["eve"])):
        bus, worker = Bus(), Worker()
        worker.hold = asyncio.Event()
        bus.join("worker", responder=worker)
        ada = bus.join("ada")
        pending = bus.join("eve", PROPOSAL_ONLY).propose("tools/call", call("dig"), to=["worker"])
        asking = asyncio.create_task(ada.fulfil(pending.id))
        for _ in range(5):
            await asyncio.sleep(0)
        for event in ("leave", "join"):
            told = {"event": event, "participant": {"id": gone, "capabilities": ["mcp/*"]}}
            bus.system("presence", told)
        worker.hold.set()
        for _ in range(5):
            await asyncio.sleep(0)
        assert [name for one in bus.of("worker") for name in one["to"]] == hear
        asking.cancel()


async def test_who_fulfils_cannot_have_another_do_it_than_the_proposal_says() -> None:
    bus = Bus()
    ada = bus.join("ada")
    pending = bus.join("eve", PROPOSAL_ONLY).propose("tools/call", call("dig"), to=["worker"])
    with pytest.raises(NotFulfillableError, match="was not put to other"):
        await ada.fulfil(pending.id, to="other")
    assert [one for one in bus.of("ada") if one["kind"].startswith("mcp/")] == []


async def test_who_may_only_chat_rejects_nothing_and_is_told_so() -> None:
    bus = Bus()
    eve, mal = bus.join("eve", PROPOSAL_ONLY), bus.join("mal", ("mcp/response:*", "chat"))
    pending = eve.propose("tools/call", call("dig"), to=["worker"])
    with pytest.raises(NotFulfillableError, match="it is rejected by those who are to do it"):
        mal.decline(pending.id)
    mal.chat("rejected: no", about=pending.id)
    assert pending.proposal.status == "pending"
    told = {"event": "join", "participant": {"id": "mal", "capabilities": ["mcp/request:*"]}}
    bus.system("presence", told)
    mal.chat("rejected: no", about=pending.id)
    with pytest.raises(NotFulfillableError, match="mal rejected the proposal: no"):
        await within(pending.outcome())


async def test_a_fulfilment_that_was_not_passed_on_can_be_made_again() -> None:
    """MCPX-9.1-1: as one of the gateway that came too soon after others."""
    bus, worker = Bus(), Worker()
    ada = bus.join("ada")
    pending = bus.join("eve", PROPOSAL_ONLY).propose("tools/call", call("dig"), to=["worker"])
    work = asyncio.create_task(ada.fulfil(pending.id))
    await asyncio.sleep(0)
    refused = {"error": "rate_limited", "message": "wait"}
    bus.system("error", refused, to=["ada"], about=bus.of("ada")[-1]["id"])
    with pytest.raises(RoomRefusedError, match="rate_limited"):
        await within(work)
    bus.join("worker", responder=worker)
    assert await within(ada.fulfil(pending.id)) == {"did": "tools/call", "for": "ada"}


async def test_who_waits_no_longer_says_so_and_nobody_does_what_nobody_wants() -> None:
    """MCPX-10.2-1, MCPX-3.1-3: a request is cancelled as MCP has it, a proposal is withdrawn."""
    bus, worker = Bus(), Worker()
    worker.hold = asyncio.Event()
    bus.join("worker", responder=worker)
    eve, ada = bus.join("eve", PROPOSAL_ONLY), bus.join("ada")
    pending = eve.propose("tools/call", call("dig"), to=["worker"])
    waits = [
        asyncio.create_task(pending.outcome()),
        asyncio.create_task(ada.request("worker", "tools/list")),
        asyncio.create_task(ada.request("worker", "initialize")),
    ]
    await asyncio.sleep(0)
    asked = [one["payload"] for one in bus.of("ada")]
    for one in waits:
        one.cancel()
    await asyncio.wait(waits)
    assert all(one.cancelled() for one in waits)
    with pytest.raises(NotFulfillableError, match="the proposal is withdrawn"):
        await ada.fulfil(pending.id)
    assert [one["payload"] for one in bus.of("ada")][len(asked) :] == [
        {
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": asked[0]["id"]},
        }
    ]
    worker.hold.set()


async def test_another_operation_under_the_name_of_a_proposal_is_no_fulfilment() -> None:
    """MCPX-3.2.1-3."""
    bus, worker = Bus(), Worker()
    bus.join("worker", responder=worker)
    eve = bus.join("eve", PROPOSAL_ONLY)
    pending = eve.propose("tools/call", call("dig", deep=1), to=["worker"])
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call("dig", deep=99)}
    bus.raw("mal", "mcp/request:tools/call:dig", body, to=["worker"], correlation_id=pending.id)
    await asyncio.sleep(0)
    assert pending.proposal.status == "pending"


async def test_who_proposed_is_told_at_once_where_who_was_asked_for_it_has_left() -> None:
    """And who is called so next does not give the outcome."""
    bus, worker = Bus(), Worker()
    worker.hold = asyncio.Event()
    bus.join("worker", responder=worker)
    eve, ada = bus.join("eve", PROPOSAL_ONLY), bus.join("ada")
    pending = eve.propose("tools/call", call("dig"), to=["worker"])
    outcome = asyncio.create_task(pending.outcome())
    asking = asyncio.create_task(ada.fulfil(pending.id))
    for _ in range(5):
        await asyncio.sleep(0)
    request = bus.of("ada")[-1]["id"]
    for event in ("leave", "join"):
        told = {"event": event, "participant": {"id": "worker", "capabilities": ["mcp/*"]}}
        bus.system("presence", told)
    forged = {"jsonrpc": "2.0", "id": 1, "result": {"did": "nothing"}}
    bus.raw("worker", "mcp/response:tools/call:dig", forged, to=["eve"], correlation_id=request)
    with pytest.raises(GoneError, match="worker"):
        await within(outcome, 3)
    with pytest.raises(GoneError, match="worker"):
        await within(asking, 3)
    assert pending.proposal.status == "failed"
