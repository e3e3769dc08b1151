"""Delegated fulfilment: people decide, the orchestrator does it, and learns (MCPx §9.4)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import pytest

from gatewright.call import Unrecorded
from gatewright.rooms.participants import CallError, NotFulfillableError, Participant
from gatewright.rooms.participants.orchestrator import Decided, Orchestrator
from gatewright.rooms.participants.rules import Rule, RuleBook
from tests.rooms.participants.bus import FULL, Bus, call, within
from tests.rooms.participants.test_participant import PROPOSAL_ONLY, Worker

WRITE = "mcp/request:tools/call:write_file"


class Scene:
    """A worker, a proposer, a person, and an orchestrator in one room."""

    def __init__(self, *rules: Rule, may: Sequence[str] = FULL) -> None:
        self.bus = Bus()
        self.worker = Worker()
        self.bus.join("worker", responder=self.worker)
        self.eve = self.bus.join("eve", PROPOSAL_ONLY)
        self.ana = self.bus.join("ana")
        self.book = RuleBook()
        for one in rules:
            self.book.add(one)
        self.decided: list[Decided] = []
        self.saved: list[bytes] = []
        self.broken = False
        self.full = False
        self.orchestrator = Orchestrator(
            self.book,
            topic="t",
            people=["ana", "eve-person"],
            record=self._record,
            save=self._save,
            clock=lambda: self.bus.now,
        )
        tools = self.orchestrator.tools
        self.me: Participant = self.bus.join("orchestrator", may, responder=tools)
        self.orchestrator.attach(self.me)

    def _record(self, decided: Decided) -> None:
        if self.broken:
            raise Unrecorded("the disk is full")
        self.decided.append(decided)

    def _save(self, text: bytes) -> None:
        if self.full:
            raise OSError("no space left")
        self.saved.append(text)

    def propose(self, path: str = "/srv/a/1", *, by: Participant | None = None) -> Any:
        """Somebody wants to write a file."""
        who = by or self.eve
        return who.propose("tools/call", call("write_file", path=path), to=["worker"])

    async def tell(self, tool: str, *, by: Participant | None = None, **arguments: Any) -> Any:
        """A person directs the orchestrator."""
        who = by or self.ana
        result = await within(who.request("orchestrator", "tools/call", call(tool, **arguments)))
        if result["isError"]:
            raise AssertionError(result["content"][0]["text"])
        return result["structuredContent"]

    def chats(self) -> list[str]:
        """What the orchestrator said."""
        return [
            one["payload"]["text"] for one in self.bus.of("orchestrator") if one["kind"] == "chat"
        ]


async def settled(scene: Scene) -> None:
    """Let everything that was begun come to its end."""
    for _ in range(20):
        await asyncio.sleep(0)
    assert scene is not None


async def test_a_person_directs_and_the_proposer_gets_the_result() -> None:
    """MCPX-9.4-1: proposer, human, orchestrator, worker."""
    scene = Scene()
    pending = scene.propose()
    listed = (await scene.tell("proposals"))["proposals"]
    assert [(one["proposalId"], one["status"]) for one in listed] == [(pending.id, "pending")]
    result, outcome = await within(
        asyncio.gather(scene.tell("approve", proposal=pending.id), pending.outcome())
    )
    assert result == outcome == {"did": "tools/call", "for": "orchestrator"}
    assert [message["params"] for _, message in scene.worker.asked] == [
        call("write_file", path="/srv/a/1")
    ]
    assert [(one.what, one.by, one.proposal, one.rule) for one in scene.decided] == [
        ("asked", "orchestrator", pending.id, None),
        ("approved", "ana", pending.id, None),
    ]


async def test_after_people_agreed_for_a_while_it_suggests_and_then_decides_by_itself() -> None:
    """MCPX-9.4-2: the rule is named in what it says and in the record; what does not match is put to a person."""
    scene = Scene()
    for number in range(5):
        pending = scene.propose(f"/srv/a/{number}")
        await scene.tell("approve", proposal=pending.id)
    (suggestion,) = (await scene.tell("suggestions"))["suggestions"]
    assert suggestion["where"]["arguments.path"] == "/srv/a/*"
    assert suggestion["evidence"]["decisions"] == 5
    assert any(text.startswith("suggestion-1: approve") for text in scene.chats())
    untaught = scene.propose("/srv/a/9")
    await settled(scene)
    assert untaught.proposal.status == "pending"
    await scene.tell("accept", id="suggestion-1")
    assert RuleBook(scene.saved[-1]).rules == scene.book.rules
    pending = scene.propose("/srv/a/10")
    assert (await within(pending.outcome()))["did"] == "tools/call"
    escalated = scene.propose("/etc/passwd")
    await settled(scene)
    assert escalated.proposal.status == "pending"
    own = [one for one in scene.decided if one.by == "orchestrator" and one.what == "approved"]
    assert [(one.proposal, one.rule) for one in own] == [(pending.id, "rule-1")]
    assert any(text.startswith("approved by rule-1") for text in scene.chats())
    await scene.tell("revoke", id="rule-1", reason="enough")
    after = scene.propose("/srv/a/11")
    await settled(scene)
    assert after.proposal.status == "pending"
    assert scene.decided[-2].what == "rule_revoked"


async def test_a_person_who_fulfils_by_hand_teaches_as_well() -> None:
    """MCPX-9.4-2: it learns from what it sees in the room."""
    scene = Scene()
    for number in range(5):
        pending = scene.propose(f"/srv/a/{number}")
        await within(scene.ana.fulfil(pending.id))
    assert list(scene.orchestrator.learning.suggestions) == ["suggestion-1"]


@pytest.mark.parametrize("action", ["approve", "reject"])
async def test_a_proposal_that_is_heard_again_is_decided_once_and_costs_a_rule_nothing(
    action: Literal["approve", "reject"],
) -> None:
    """MCPX-9.4-2: nothing is recorded or said that was none, and the hour's allowance is left for others."""
    scene = Scene(Rule("", action, WRITE, "ana", per_hour=2))
    body = {"method": "tools/call", "params": call("write_file", path="/srv/a/1")}
    for _ in range(3):
        scene.bus.raw("eve", WRITE.replace("request", "proposal"), body, id="one", to=["worker"])
    await settled(scene)
    what = {"approve": "approved", "reject": "rejected"}[action]
    assert [(one.what, one.proposal) for one in scene.decided] == [(what, "one")]
    assert len(scene.worker.asked) == (action == "approve")
    other = scene.propose("/srv/a/2")
    await settled(scene)
    assert scene.decided[-1].proposal == other.id
    assert scene.decided[-1].rule == "rule-1"


@pytest.mark.parametrize("word", ["withdrawn", "rejected"])
async def test_what_was_withdrawn_or_rejected_before_it_was_judged_is_not_approved(
    word: str,
) -> None:
    scene = Scene(Rule("", "approve", WRITE, "ana"))
    pending = scene.propose()
    (scene.eve if word == "withdrawn" else scene.ana).decline(pending.id)
    await settled(scene)
    assert pending.proposal.status == word
    assert (scene.decided, scene.chats(), scene.worker.asked) == ([], [], [])


async def test_a_rule_that_rejects_does_so_and_says_why() -> None:
    scene = Scene(Rule("", "reject", WRITE, "ana"))
    pending = scene.propose()
    with pytest.raises(NotFulfillableError, match="orchestrator rejected the proposal: by rule-1"):
        await within(pending.outcome())
    assert scene.worker.asked == []
    assert [(one.what, one.rule) for one in scene.decided] == [("rejected", "rule-1")]


async def test_only_people_direct_it_and_nobody_in_their_own_case() -> None:
    scene = Scene()
    bob = scene.bus.join("bob")
    pending = scene.propose()
    for tool, arguments in (
        ("approve", {"proposal": pending.id}),
        ("accept", {"id": "suggestion-1"}),
        ("revoke", {"id": "rule-1"}),
        ("stop", {"participant": "eve"}),
        ("add_rule", {"rule": {"action": "approve", "pattern": WRITE}}),
    ):
        with pytest.raises(AssertionError, match="only people"):
            await scene.tell(tool, by=bob, **arguments)
    mine = scene.propose(by=scene.ana)
    with pytest.raises(AssertionError, match="of their own"):
        await scene.tell("approve", proposal=mine.id)
    assert scene.worker.asked == []


async def test_the_kill_switch_stops_a_participant_at_once_and_above_every_rule() -> None:
    scene = Scene(Rule("", "approve", WRITE, "ana"))
    assert (await within(scene.propose().outcome()))["did"] == "tools/call"
    waiting = scene.eve.propose("tools/call", call("other"), to=["worker"])
    await scene.tell("stop", participant="eve", reason="odd")
    with pytest.raises(NotFulfillableError, match="eve is stopped: odd"):
        await within(scene.propose().outcome())
    with pytest.raises(AssertionError, match="eve is stopped"):
        await scene.tell("approve", proposal=waiting.id)
    await scene.tell("resume", participant="eve")
    assert (await within(scene.propose().outcome()))["did"] == "tools/call"
    assert [one.what for one in scene.decided if one.what in ("stopped", "resumed")] == [
        "stopped",
        "resumed",
    ]


async def test_an_id_that_stands_for_two_proposals_can_be_approved_for_neither() -> None:
    """MCPX-3-3, MCPX-9.4-1: a person who came later has heard of the second alone."""
    scene = Scene()
    pending = scene.propose("/etc/passwd")
    harmless = {"method": "tools/call", "params": call("write_file", path="/srv/a/1")}
    kind, more = "mcp/proposal:tools/call:write_file", {"id": pending.id, "to": ["worker"]}
    scene.bus.raw("eve", kind, harmless, **more)
    with pytest.raises(AssertionError, match="the proposal is rejected"):
        await scene.tell("approve", proposal=pending.id)
    with pytest.raises(NotFulfillableError, match="its id was used again"):
        await within(scene.ana.fulfil(pending.id))
    assert scene.worker.asked == []
    again = scene.propose()
    body = {"method": "tools/call", "params": call("write_file", path="/srv/a/1")}
    scene.bus.raw("eve", kind, body, **{**more, "id": again.id})
    await scene.tell("approve", proposal=again.id)
    assert len(scene.worker.asked) == 1


async def test_what_cannot_be_recorded_is_not_decided() -> None:
    scene = Scene(Rule("", "approve", WRITE, "ana"))
    scene.broken = True
    pending = scene.propose()
    await settled(scene)
    assert (pending.proposal.status, scene.worker.asked) == ("pending", [])
    with pytest.raises(CallError):
        await scene.tell("approve", proposal=pending.id)
    assert scene.worker.asked == []


async def test_what_cannot_be_recorded_costs_a_rule_nothing_of_its_hour() -> None:
    scene = Scene(Rule("", "approve", WRITE, "ana", per_hour=1))
    scene.broken = True
    scene.propose("/srv/a/1")
    await settled(scene)
    scene.broken = False
    assert (await within(scene.propose("/srv/a/2").outcome()))["did"] == "tools/call"
    assert [(one.what, one.rule) for one in scene.decided] == [("approved", "rule-1")]


async def test_an_approval_that_names_nobody_to_do_it_is_recorded_as_failed() -> None:
    scene = Scene()
    pending = scene.eve.propose("tools/call", call("write_file", path="/x"))
    with pytest.raises(AssertionError, match="say who shall do it"):
        await scene.tell("approve", proposal=pending.id)
    assert pending.proposal.status == "pending"
    assert [(one.what, one.by) for one in scene.decided[1:]] == [
        ("approved", "ana"),
        ("failed", "ana"),
    ]
    await scene.tell("approve", proposal=pending.id, to="worker")
    assert [one.what for one in scene.decided[3:]] == ["approved"]


@pytest.mark.parametrize("by", ["ana", "orchestrator"])
async def test_a_rejection_that_cannot_be_said_is_recorded_as_failed(by: str) -> None:
    rules = [Rule("", "reject", WRITE, "ana")] if by == "orchestrator" else []
    scene = Scene(*rules, may=["mcp/*"])
    pending = scene.propose()
    await settled(scene)
    if by == "ana":
        with pytest.raises(AssertionError, match="could not be rejected, and is open"):
            await scene.tell("reject", proposal=pending.id, reason="no")
    assert pending.proposal.status == "pending"
    assert [(one.what, one.by) for one in scene.decided if one.what != "asked"] == [
        ("rejected", by),
        ("failed", by),
    ]
    assert "chat" in scene.decided[-1].reason


async def test_a_rule_can_be_written_by_hand_and_a_broken_one_says_why() -> None:
    scene = Scene()
    added = await scene.tell(
        "add_rule",
        rule={"action": "approve", "pattern": WRITE, "per_hour": 1, "by": "somebody else"},
    )
    assert (added["id"], added["by"]) == ("rule-1", "ana")
    for rule, said in (
        ({"action": "grant", "pattern": WRITE}, "no rule"),
        ({"action": "ask", "pattern": "*"}, "bare"),
        ({"action": "ask"}, "pattern"),
        ({"action": "approve", "pattern": WRITE, "were": {"arguments.path": "/srv/*"}}, "were"),
    ):
        with pytest.raises(AssertionError, match=said):
            await scene.tell("add_rule", rule=rule)
    assert len((await scene.tell("rules"))["rules"]) == 1
    assert [(one.what, one.rule, one.by) for one in scene.decided] == [
        ("rule_accepted", "rule-1", "ana")
    ]


async def test_a_proposal_to_nobody_in_particular_is_told_to_lack_a_target() -> None:
    scene = Scene(Rule("", "approve", WRITE, "ana"))
    scene.eve.propose("tools/call", call("write_file", path="/x"))
    await settled(scene)
    assert [one.what for one in scene.decided] == ["approved", "failed"]
    assert any("say who shall do it" in text for text in scene.chats())


async def test_a_person_who_goes_on_speaking_of_a_proposal_decided_once() -> None:
    """MCPX-9.4-2."""
    scene = Scene()
    pending = scene.propose()
    await within(scene.ana.fulfil(pending.id))
    for _ in range(9):
        scene.ana.chat("I did that", about=pending.id)
    held = scene.propose()
    scene.worker.hold = asyncio.Event()
    work = asyncio.create_task(scene.ana.fulfil(held.id))
    for _ in range(9):
        await asyncio.sleep(0)
        scene.ana.chat("I am at it", about=held.id)
    scene.worker.hold.set()
    await within(work)
    assert (await scene.tell("suggestions"))["suggestions"] == []


async def test_a_rule_that_cannot_be_kept_does_not_hold_and_one_that_is_revoked_ends() -> None:
    scene = Scene(Rule("", "approve", WRITE, "ana"))
    scene.full = True
    with pytest.raises(AssertionError, match="does not hold, it cannot be kept: no space left"):
        await scene.tell("add_rule", rule={"action": "approve", "pattern": "mcp/request:*"})
    assert [one.id for one in scene.book.rules] == ["rule-1"]
    with pytest.raises(AssertionError, match="until the gateway stops"):
        await scene.tell("stop", participant="eve")
    with pytest.raises(AssertionError, match="until the gateway stops"):
        await scene.tell("revoke", id="rule-1")
    assert (scene.book.rules, list(scene.book.stopped)) == ((), ["eve"])
    assert [one.what for one in scene.decided if one.by == "ana"][-2:] == [
        "stopped",
        "rule_revoked",
    ]


async def test_others_than_people_see_the_proposals_that_they_could_hear() -> None:
    scene = Scene()
    guest, other = scene.bus.join("guest"), scene.bus.join("other")
    one, every = scene.propose(by=other).id, scene.eve.propose("tools/call", call("dig")).id
    for who, ids in ((guest, [every]), (other, [one, every]), (scene.ana, [one, every])):
        listed = await scene.tell("proposals", by=who)
        assert [record["proposalId"] for record in listed["proposals"]] == ids


async def test_the_list_of_proposals_is_short_however_many_and_long_they_are() -> None:
    scene = Scene()
    for number in range(300):
        scene.propose(f"/srv/{number}")
    scene.propose("x" * 100_000)
    for number in range(40):
        scene.propose("y" * 7000 + str(number))
    scene.propose("/srv/last")
    answer = await within(scene.ana.request("orchestrator", "tools/call", call("proposals")))
    found = answer["structuredContent"]
    assert len(answer["content"][0]["text"]) < 200_000
    assert len(found["proposals"]) + found["older"] == 342
    assert found["proposals"][-1]["params"]["arguments"] == {"path": "/srv/last"}
    scene.propose("x" * 100_000)
    answer = await within(scene.ana.request("orchestrator", "tools/call", call("proposals")))
    last = answer["structuredContent"]["proposals"][-1]
    assert (last["params"], last["paramsBytes"] > 100_000) == (None, True)


async def test_who_may_see_a_proposal_is_looked_up_among_those_it_names() -> None:
    """It may name a thousand, and there may be a thousand proposals."""
    walked: list[int] = []

    class Names(frozenset[str]):
        def __iter__(self) -> Iterator[str]:
            walked.append(len(self))
            return super().__iter__()

    scene = Scene()
    scene.propose("/srv/a/1")
    await settled(scene)
    (known,) = scene.me.proposals
    known.named = Names({"worker"})
    shown = [who for who in ("ana", "worker", "bob") if scene.orchestrator._may_see(who, known)]
    assert (shown, walked) == (["ana", "worker"], [])
