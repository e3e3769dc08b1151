"""What a participant does with what it hears, and what it lets itself say."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.mcpx.envelope import Envelope
from gatewright.rooms.participants import (
    AnswerTimeoutError,
    CallError,
    GoneError,
    NotAllowedError,
    NotFulfillableError,
    Participant,
    RoomRefusedError,
)
from gatewright.rooms.participants.conduct import Conduct
from gatewright.rooms.participants.participant import Heard
from tests.rooms.participants.bus import Bus, call, within

PROPOSAL_ONLY = ("mcp/proposal:*", "mcp/response:*", "chat")


class Worker:
    """Answers every request, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.hold: asyncio.Event | None = None

    async def __call__(self, frame: bytes, envelope: Envelope) -> bytes | None:
        message, sender = json.loads(frame), envelope.sender
        self.asked.append((sender, message))
        if self.hold is not None:
            await self.hold.wait()
        if "id" not in message:
            return None
        if message["method"] == "tools/broken":
            raise ZeroDivisionError
        result = {"did": message["method"], "for": sender}
        return json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()


async def test_a_request_is_answered_to_who_asked_with_both_ids() -> None:
    """MCPX-2.1-3, MCPX-3.1.2-1, MCPX-3.1.2-2, MCPX-3.1.2-3, MCPX-8.2-2."""
    bus, worker = Bus(), Worker()
    bus.join("worker", responder=worker)
    ada = bus.join("ada")
    found = await within(ada.request("worker", "tools/call", call("dig", deep=3)))
    assert found == {"did": "tools/call", "for": "ada"}
    (request,) = [one for one in bus.of("ada") if one["kind"].startswith("mcp/")]
    (answer,) = [one for one in bus.of("worker") if one["kind"].startswith("mcp/")]
    assert request["kind"] == "mcp/request:tools/call:dig"
    assert (answer["kind"], answer["to"]) == ("mcp/response:tools/call:dig", ["ada"])
    assert answer["correlation_id"] == request["id"]
    assert answer["payload"]["id"] == request["payload"]["id"]
    assert request["ts"] == "2026-09-21T14:13:20.000Z"


async def test_what_is_put_to_others_and_what_comes_back_from_the_gateway_is_only_watched() -> None:
    """MCPX-8.2-7: nobody answers their own requests, or those of others, though the room echoes them."""
    bus, mine, theirs = Bus(), Worker(), Worker()
    bus.join("worker", responder=theirs)
    ada = bus.join("ada", responder=mine)
    seen: list[Heard] = []
    ada.watchers.append(seen.append)
    await within(ada.request("worker", "tools/list"))
    assert mine.asked == []
    assert [one.envelope.kind for one in seen] == [
        "mcp/request:tools/list",
        "mcp/response:tools/list",
    ]


async def test_a_request_to_everybody_is_answered_only_where_it_changes_nothing() -> None:
    bus, worker = Bus(), Worker()
    bus.join("worker", responder=worker)
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    bus.raw("eve", "mcp/request:tools/list", body)
    bus.raw(
        "eve", "mcp/request:tools/call", {**body, "method": "tools/call", "params": call("dig")}
    )
    await asyncio.sleep(0)
    assert [message["method"] for _, message in worker.asked] == ["tools/list"]


@pytest.mark.parametrize(
    ("kind", "params"),
    [
        ("tools/call:safe", call("dangerous")),
        ("tools/list", call("dangerous")),
        ("tools/call:x", {}),
    ],
)
async def test_a_forged_request_is_answered_with_an_error_counted_and_never_executed(
    kind: str, params: dict[str, Any]
) -> None:
    """MCPX-4.3-1, MCPX-4.3-2, MCPX-4.3-3, MCPX-4.3-4, MCPX-8.2-3, MCPX-4.2-1 as the receiver sees it."""
    bus, worker = Bus(), Worker()
    participant = bus.join("worker", responder=worker)
    body = {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params}
    sent = bus.raw("eve", f"mcp/request:{kind}", body, to=["worker"])
    await asyncio.sleep(0)
    assert worker.asked == []
    (answer,) = bus.of("worker")
    assert (answer["correlation_id"], answer["to"]) == (sent, ["eve"])
    assert (answer["payload"]["id"], answer["payload"]["error"]["code"]) == (5, -32600)
    assert participant.conduct.counts == {"eve": 1}


async def test_an_answer_that_names_no_request_is_dropped_and_reported() -> None:
    """MCPX-3-8: it answers nothing, also where its payload has the id of what is waited for; the administrator is told."""
    bus, worker = Bus(), Worker()
    asking = bus.join("asking", report_to="admin")
    bus.join("worker", responder=worker)
    waiting = asyncio.create_task(asking.request("nobody", "tools/list", {}))
    await asyncio.sleep(0)
    (sent,) = (one for one in bus.of("asking") if one["kind"].startswith("mcp/request"))
    body = {"jsonrpc": "2.0", "id": sent["payload"]["id"], "result": {"tools": []}}
    bus.raw("nobody", "mcp/response:tools/list", body, to=["asking"])
    await asyncio.sleep(0)
    assert not waiting.done()
    assert asking.conduct.counts == {"nobody": 1}
    assert [one["to"] for one in bus.of("asking") if one["kind"] == "chat"] == [["admin"]]
    bus.raw("nobody", "mcp/response:tools/list", body, to=["asking"], correlation_id=sent["id"])
    assert await asyncio.wait_for(waiting, 10) == {"tools": []}
    assert asking.conduct.counts == {"nobody": 1}


async def test_misbehaviour_is_reported_by_chat_and_ends_with_not_being_heard() -> None:
    """MCPX-4.3-4: a score, a report to an administrator, a threshold; no kind of its own (C-59)."""
    bus, worker = Bus(), Worker()
    conduct = Conduct(ignored_at=10)
    bus.join("worker", responder=worker, conduct=conduct, report_to="admin")
    for _ in range(12):
        bus.raw("eve", "chat", {"no": "text"})
    reports = [one for one in bus.of("worker") if one["kind"] == "chat"]
    assert [one["to"] for one in reports] == [["admin"], ["admin"]]
    assert [one["payload"]["text"].split(" that")[0] for one in reports] == [
        "eve has sent a message",
        "eve has sent 10 messages",
    ]
    assert conduct.counts == {"eve": 10}
    honest = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    bus.raw("eve", "mcp/request:tools/list", honest, to=["worker"])
    await asyncio.sleep(0)
    assert worker.asked == []


async def test_an_answer_counts_only_from_who_was_asked() -> None:
    """MCPX-4.3-5, and the hazard of an echoing room: somebody else answers first."""
    bus, worker = Bus(), Worker()
    worker.hold = asyncio.Event()
    bus.join("worker", responder=worker)
    ada = bus.join("ada")
    asking = asyncio.create_task(ada.request("worker", "tools/list"))
    await asyncio.sleep(0)
    request = bus.of("ada")[-1]
    fake = {"jsonrpc": "2.0", "id": request["payload"]["id"], "result": {"did": "evil"}}
    bus.raw("eve", "mcp/response:tools/list", fake, to=["ada"], correlation_id=request["id"])
    bus.raw("eve", "mcp/response:tools/list", fake, to=["ada"], correlation_id="never-asked")
    worker.hold.set()
    assert (await within(asking))["did"] == "tools/list"


async def test_a_response_without_its_context_or_the_right_kind_still_is_one() -> None:
    """MCPX-3.1.2-2: peers that do not repeat the context are matched by the id."""
    bus = Bus()
    ada = bus.join("ada")
    asking = asyncio.create_task(ada.request("old", "tools/call", call("dig")))
    await asyncio.sleep(0)
    request = bus.of("ada")[-1]
    answer = {"jsonrpc": "2.0", "id": request["payload"]["id"], "result": 1}
    bus.raw("old", "mcp/response:tools/call", answer, correlation_id=request["id"])
    assert await within(asking) == 1


async def test_errors_refusals_silence_and_the_end_each_have_a_name() -> None:
    bus, worker = Bus(), Worker()
    bus.join("worker", responder=worker)
    ada = bus.join("ada")
    with pytest.raises(CallError, match="internal error") as broken:
        await within(ada.request("worker", "tools/broken"))
    assert broken.value.code == -32603
    bus.join("empty")
    with pytest.raises(CallError, match="offers nothing"):
        await within(ada.request("empty", "tools/list"))
    with pytest.raises(AnswerTimeoutError, match="nobody did not answer tools/list"):
        await ada.request("nobody", "tools/list", timeout_s=0.01)
    asking = asyncio.create_task(ada.request("nobody", "tools/list"))
    await asyncio.sleep(0)
    about = bus.of("ada")[-1]["id"]
    bus.system("error", {"error": "rate_limited", "message": "wait"}, to=["ada"], about=about)
    with pytest.raises(RoomRefusedError, match="rate_limited: wait"):
        await within(asking)
    asking = asyncio.create_task(ada.request("nobody", "tools/list"))
    await asyncio.sleep(0)
    ada.lost("closed")
    with pytest.raises(GoneError, match="closed"):
        await within(asking)
    with pytest.raises(GoneError):
        ada.chat("anybody?")


async def test_who_and_what_one_is_comes_from_the_welcome_and_others_from_presence() -> None:
    """MCPX-8.2-5, MCPX-8.2-6."""
    bus = Bus()
    ada = bus.join("ada", PROPOSAL_ONLY)
    bob = bus.join("bob", ("chat",))
    assert (ada.id, ada.capabilities.patterns) == ("ada", PROPOSAL_ONLY)
    assert (bob.id, bob.roster.others) == ("bob", {"ada": PROPOSAL_ONLY})
    assert ada.roster.others == {"bob": ("chat",)}
    with pytest.raises(NotAllowedError, match="propose it instead") as refused:
        await ada.request("bob", "tools/list")
    assert refused.value.kind == "mcp/request:tools/list"
    assert [one for one in bus.of("ada") if one["kind"] != "chat"] == []
    you = {"id": "ada", "capabilities": ["mcp/*"]}
    bus.system("welcome", {"you": you, "participants": []}, to=["ada"])
    assert (ada.capabilities.patterns, ada.roster.others, bob.id) == (("mcp/*",), {}, "bob")
    bus.system("presence", {"event": "leave", "participant": {"id": "ada"}})
    assert bob.roster.others == {}


async def test_a_proposal_is_fulfilled_and_its_result_comes_to_both() -> None:
    """MCPX-3.2-1, MCPX-3.2.1-2, MCPX-3.2.1-3, MCPX-3.2.1-4, MCPX-3.2.1-5, MCPX-3-9, MCPX-8.2-4, MCPX-9.1-1."""
    bus, worker = Bus(), Worker()
    bus.join("worker", responder=worker)
    eve = bus.join("eve", PROPOSAL_ONLY)
    ada = bus.join("ada")
    pending = eve.propose("tools/call", call("dig"), to=["worker"])
    (proposal,) = [one for one in bus.of("eve") if one["kind"].startswith("mcp/")]
    assert proposal["payload"] == {"method": "tools/call", "params": call("dig")}
    assert "correlation_id" not in proposal
    result, outcome = await within(asyncio.gather(ada.fulfil(pending.id), pending.outcome()))
    assert result == outcome == {"did": "tools/call", "for": "ada"}
    (request,) = [one for one in bus.of("ada") if one["kind"].startswith("mcp/")]
    (answer,) = [one for one in bus.of("worker") if one["kind"].startswith("mcp/")]
    assert (request["correlation_id"], request["kind"]) == (
        proposal["id"],
        "mcp/request:tools/call:dig",
    )
    assert {name: request["payload"][name] for name in ("method", "params")} == proposal["payload"]
    assert (answer["correlation_id"], answer["to"]) == (request["id"], ["ada", "eve"])
    chain = [proposal["id"], request["id"], answer["id"]]
    for one in (ada, eve):
        found = one.proposals.find(pending.id)
        assert found is not None
        assert (found.status, found.record()["chain"]) == ("fulfilled", chain)


async def test_a_proposal_ends_rejected_withdrawn_or_expired_and_then_cannot_be_fulfilled() -> None:
    """MCPX-10.2-1."""
    bus = Bus()
    eve = bus.join("eve", PROPOSAL_ONLY)
    ada = bus.join("ada")
    rejected = eve.propose("tools/call", call("dig"), to=["worker"])
    ada.decline(rejected.id, "not today")
    with pytest.raises(NotFulfillableError, match="ada rejected the proposal: not today"):
        await within(rejected.outcome())
    late = eve.propose("tools/call", call("dig"), to=["worker"])
    with pytest.raises(AnswerTimeoutError):
        await late.outcome(timeout_s=0.01)
    old = eve.propose("tools/call", call("dig"), to=["worker"])
    bus.now += 301
    for one, status in ((rejected, "rejected"), (late, "withdrawn"), (old, "expired")):
        with pytest.raises(NotFulfillableError, match=f"the proposal is {status}"):
            await ada.fulfil(one.id)
    with pytest.raises(NotFulfillableError, match="no proposal"):
        await ada.fulfil("never")
    open_to_all = eve.propose("tools/call", call("dig"))
    with pytest.raises(NotFulfillableError, match="say who shall do it"):
        await ada.fulfil(open_to_all.id)
    open_to_all.withdraw()
    found = ada.proposals.find(open_to_all.id)
    assert found is not None
    assert (found.status, found.decided_by) == ("withdrawn", "eve")


async def test_a_proposal_with_a_correlation_id_is_counted_against_its_sender() -> None:
    """MCPX-3.2.1-1."""
    bus = Bus()
    ada = bus.join("ada")
    body = {"method": "tools/list", "params": {}}
    bus.raw("eve", "mcp/proposal:tools/list", body, correlation_id="x")
    assert (ada.conduct.counts, list(ada.proposals)) == ({"eve": 1}, [])


async def test_a_flood_of_requests_is_answered_busy() -> None:
    bus, worker = Bus(), Worker()
    worker.hold = asyncio.Event()
    bus.join("worker", responder=worker)
    for number in range(70):
        body = {"jsonrpc": "2.0", "id": number, "method": "tools/list"}
        bus.raw("eve", "mcp/request:tools/list", body, to=["worker"])
    busy = [one["payload"]["error"]["code"] for one in bus.of("worker")]
    assert busy == [-32000] * 6
    worker.hold.set()
    while len(bus.of("worker")) < 70:
        await asyncio.sleep(0)


async def test_notifications_reach_the_responder_and_are_not_answered() -> None:
    """MCPX-3.1-3."""
    bus, worker = Bus(), Worker()
    bus.join("worker", responder=worker)
    ada = bus.join("ada")
    ada.notify("worker", "notifications/initialized")
    await asyncio.sleep(0)
    assert [message["method"] for _, message in worker.asked] == ["notifications/initialized"]
    assert bus.of("worker") == []


@given(st.binary(max_size=300))
def test_whatever_arrives_nothing_is_raised(noise: bytes) -> None:
    """MCPX-8.2-1."""
    sent: list[bytes] = []
    participant = Participant(sent.append)
    participant.receive(noise)
    envelope = (
        b'{"protocol":"mcpx/v0.1","id":"a","from":"b","kind":"chat","payload":' + noise + b"}"
    )
    participant.receive(envelope)
    assert sent == []


async def test_a_watcher_that_breaks_and_a_line_that_is_gone_stop_nothing_else(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """MCPX-8.2-1: a participant hears on, whatever becomes of what it would say."""
    bus, worker = Bus(), Worker()
    participant = bus.join("worker", responder=worker)
    heard: list[str] = []

    def breaks(one: Heard) -> None:
        raise ZeroDivisionError

    participant.watchers += [breaks, lambda one: heard.append(one.envelope.sender)]
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    bus.raw("eve", "mcp/request:tools/list", body, to=["worker"])
    assert heard == ["eve"]
    assert "a watcher broke on a message of eve" in caplog.text

    def gone(text: bytes) -> None:
        raise GoneError("no connection")

    participant._send = gone
    bus.raw("eve", "mcp/request:tools/call", body, to=["worker"])
    for _ in range(5):
        await asyncio.sleep(0)
    assert heard == ["eve", "eve"]
    assert "never retrieved" not in caplog.text
    assert len(worker.asked) == 1
