"""`Orchestrator` of a room: decides proposals by people's tool calls and saved rules, records decisions, suggests rules (MCPx §9.4).

It is a participant like any other. People direct it through tools that it offers over MCP: `approve`, `reject`, `rules`,
`suggestions`, `accept`, `dismiss`, `revoke`, `stop`, `resume`. Only those whom the configuration names as people are
listened to, and nobody decides about a proposal of their own. What it decides by itself is said in the room and
recorded, with the rule that says so; a rule is suggested with its evidence, and holds once a person has accepted it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Collection, Iterator
from typing import Any, Literal

import msgspec

from gatewright.mcpx.payload import Chat, Proposed, Requested
from gatewright.rooms.participants.errors import NotAllowedError, NotFulfillableError, RoomError
from gatewright.rooms.participants.learning import Learning
from gatewright.rooms.participants.participant import Heard, Participant
from gatewright.rooms.participants.proposals import Proposal
from gatewright.rooms.participants.rules import Rule, RuleBook, Verdict
from gatewright.rooms.participants.tool_responder import ToolError, Tools

__all__ = ["Decided", "Orchestrator"]

log = logging.getLogger("gatewright.rooms.participants")

_LISTED_BYTES, _SHOWN_BYTES, _RECORD_BYTES = 128 * 1024, 8 * 1024, 512
"""What a list of proposals has at most, the longest params that it shows, and what a record takes besides them."""


class Decided(msgspec.Struct, frozen=True):
    """What the record is told of a decision. `by` is a person, or the orchestrator itself; `rule` is then why."""

    what: Literal[
        "approved",
        "rejected",
        "asked",
        "failed",
        "rule_accepted",
        "rule_revoked",
        "stopped",
        "resumed",
    ]
    by: str
    proposal: str | None = None
    proposer: str | None = None
    kind: str | None = None
    rule: str | None = None
    reason: str = ""


class Orchestrator:
    """See the module's text. `attach` gives it its place in the room."""

    def __init__(
        self,
        book: RuleBook,
        *,
        topic: str,
        people: Collection[str],
        record: Callable[[Decided], None],
        save: Callable[[bytes], None] = lambda text: None,
        clock: Callable[[], float] = time.time,
        learning: Learning | None = None,
        timeout_s: float = 30.0,
    ) -> None:
        """`record` may raise: then nothing is decided. `save` keeps the text of the book, or raises `OSError`. `clock` gives
        Unix seconds."""
        self._book = book
        self._topic = topic
        self._people = frozenset(people)
        self._record = record
        self._save = save
        self._clock = clock
        self._timeout_s = timeout_s
        self.learning = learning or Learning(topic=topic)
        self.tools = Tools("orchestrator")
        self._tasks: set[asyncio.Task[None]] = set()
        self._offer()

    def attach(self, participant: Participant) -> None:
        """From now on it listens in this room. The participant's responder has to be `tools`."""
        self._me = participant
        participant.watchers.append(self._heard)

    # -- what it hears

    def _heard(self, heard: Heard) -> None:
        envelope, content = heard.envelope, heard.content
        if envelope.sender == self._me.id or self._me.conduct.is_ignored(envelope.sender):
            return
        if isinstance(content, Proposed):
            proposal = self._me.proposals.find(envelope.id)
            if proposal is not None and proposal.status == "pending":
                self._start(self._judge(proposal))
        elif isinstance(content, (Requested, Chat)):
            self._learn(envelope.sender, envelope.correlation_id)

    def _learn(self, sender: str, about: str | None) -> None:
        """A person fulfilled or rejected a proposal: the participant's ledger knows already."""
        proposal = self._me.proposals.find(about)
        if sender not in self._people or proposal is None or proposal.decided_by != sender:
            return
        if proposal.status == "fulfilling":
            self._note(proposal, "approve", sender)
        elif proposal.status == "rejected":
            self._note(proposal, "reject", sender)

    def _note(self, proposal: Proposal, action: Literal["approve", "reject"], by: str) -> None:
        if by == proposal.proposer:
            return
        suggested = self.learning.note(proposal, action, by, self._clock())
        if suggested is not None:
            count = suggested.evidence["decisions"]
            self._say(
                f"{suggested.id}: {action} {suggested.pattern} of {suggested.proposer} by itself? People decided so "
                f"{count} times. To take it on: tools/call accept {{id: {suggested.id}}}"
            )

    async def _judge(self, proposal: Proposal) -> None:
        if not self._me.proposals.is_open(proposal):
            return  # it was said again, or decided, since it was heard: a second decision would be none
        verdict = self._book.judge(proposal, self._topic, self._clock())
        if verdict.action == "ask":
            self._tell("asked", self._me.id, proposal, verdict)
            return
        why = f"by {verdict.rule}" if verdict.rule else verdict.reason
        if verdict.action == "reject":
            with self._deciding("rejected", self._me.id, proposal, verdict):
                self._me.decline(proposal.id, why)
            return
        try:
            with self._deciding("approved", self._me.id, proposal, verdict):
                how = f"tools/call revoke {{id: {verdict.rule}}} ends that"
                self._say(f"approved {why}; {how}", proposal.id)
                await self._me.fulfil(proposal.id, timeout_s=self._timeout_s)
        except RoomError as problem:
            self._say(f"could not be fulfilled: {problem}", proposal.id)

    @contextlib.contextmanager
    def _deciding(
        self,
        what: Literal["approved", "rejected"],
        by: str,
        proposal: Proposal,
        verdict: Verdict,
    ) -> Iterator[None]:
        """Record a decision, then that nothing came of it where that is so."""
        self._tell(what, by, proposal, verdict)
        if (
            verdict.rule is not None
        ):  # what cannot be recorded is no decision, and costs the rule nothing
            self._book.note(verdict.rule, self._clock())
        try:
            yield
        except RoomError as problem:
            failed = Verdict(verdict.action, verdict.rule, str(problem))
            self._tell("failed", by, proposal, failed)
            raise

    # -- what people direct

    def _offer(self) -> None:
        id = {"id": {"type": "string", "description": "what the list calls it"}}
        proposal = {"proposal": {"type": "string", "description": "id of the proposal's envelope"}}
        reason = {"reason": {"type": "string"}}
        who = {"participant": {"type": "string"}}
        offer = self.tools.offer
        offer(
            "approve",
            "Fulfil a proposal.",
            {**proposal, "to": {"type": "string"}},
            self._approve,
            ("proposal",),
        )
        offer("reject", "Reject a proposal.", {**proposal, **reason}, self._reject, ("proposal",))
        said = "The proposals of this room: the last ones, and how many are `older`."
        offer("proposals", said, {}, self._proposals)
        offer("rules", "The rules that hold, and who is stopped.", {}, self._rules)
        offer("suggestions", "Rules that people's decisions suggest.", {}, self._suggestions)
        offer("accept", "Make a suggestion a rule.", id, self._accept, ("id",))
        offer("dismiss", "Forget a suggestion.", id, self._dismiss, ("id",))
        offer("add_rule", "Write a rule.", {"rule": {"type": "object"}}, self._add, ("rule",))
        offer("revoke", "Take a rule away.", {**id, **reason}, self._revoke, ("id",))
        offer(
            "stop",
            "Reject all proposals of a participant.",
            {**who, **reason},
            self._stop,
            ("participant",),
        )
        offer("resume", "Go on with a participant.", who, self._resume, ("participant",))

    def _person(self, sender: str) -> None:
        if sender not in self._people:
            raise ToolError("only people of this room direct the orchestrator; ask one of them")

    def _open(self, sender: str, id: str) -> Proposal:
        self._person(sender)
        proposal = self._me.proposals.find(id)
        if proposal is None or not self._me.proposals.is_open(proposal):
            state = "unknown" if proposal is None else proposal.status
            raise ToolError(
                f"the proposal is {state}; the tool `proposals` lists those that are open"
            )
        if proposal.proposer == sender:  # separation of duties
            raise ToolError("nobody decides about a proposal of their own; ask somebody else")
        return proposal

    async def _approve(self, sender: str, proposal: str, to: str | None = None) -> Any:
        found = self._open(sender, proposal)
        stopped = self._book.stopped.get(found.proposer)
        if stopped is not None:
            raise ToolError(f"{found.proposer} is stopped: {stopped}; resume it first")
        try:
            with self._deciding("approved", sender, found, Verdict("approve")):
                result = await self._me.fulfil(proposal, to=to, timeout_s=self._timeout_s)
        except (NotFulfillableError, NotAllowedError) as problem:  # nothing was sent
            raise ToolError(str(problem)) from None
        except RoomError as problem:
            raise ToolError(f"it was sent, and went wrong: {problem}") from None
        self._note(found, "approve", sender)
        return result

    async def _reject(self, sender: str, proposal: str, reason: str = "") -> Any:
        found = self._open(sender, proposal)
        try:
            with self._deciding("rejected", sender, found, Verdict("reject", None, reason)):
                self._me.decline(proposal, f"{sender}: {reason}" if reason else f"by {sender}")
        except RoomError as problem:
            raise ToolError(f"the proposal could not be rejected, and is open: {problem}") from None
        self._note(found, "reject", sender)
        return {"rejected": proposal}

    def _may_see(self, sender: str, one: Proposal) -> bool:
        mine = sender in self._people or sender == one.proposer
        return mine or not one.named or sender in one.named

    async def _proposals(self, sender: str) -> Any:
        shown: list[dict[str, Any]] = []
        left = _LISTED_BYTES
        # A proposal to somebody is heard by those alone whom messages to others reach; who directs the room sees them all.
        every = [one for one in self._me.proposals if self._may_see(sender, one)]
        for one in reversed(every):
            left -= _RECORD_BYTES + (one.size if one.size <= _SHOWN_BYTES else 0)
            if left < 0:
                break
            record = one.record()
            if one.size > _SHOWN_BYTES:  # they stand in its message
                record |= {"params": None, "paramsBytes": one.size}
            shown.append(record)
        older = len(every) - len(shown)
        return {"proposals": shown[::-1]} | ({"older": older} if older else {})

    async def _rules(self, sender: str) -> Any:
        del sender
        return {"rules": msgspec.to_builtins(self._book.rules), "stopped": dict(self._book.stopped)}

    async def _suggestions(self, sender: str) -> Any:
        del sender
        return {"suggestions": msgspec.to_builtins(list(self.learning.suggestions.values()))}

    async def _accept(self, sender: str, id: str) -> Any:
        self._person(sender)
        if id not in self.learning.suggestions:
            raise ToolError(f"there is no {id}; the tool `suggestions` lists them")
        wanted = msgspec.structs.replace(self.learning.suggestions[id], by=sender)
        added = self._added(sender, wanted)
        self.learning.take(id, sender)
        return added

    async def _add(self, sender: str, rule: dict[str, Any]) -> Any:
        self._person(sender)
        try:
            wanted = msgspec.convert({**rule, "id": "", "by": sender, "evidence": {}}, Rule)
        except msgspec.ValidationError as problem:
            raise ToolError(f"this is no rule: {problem}") from None
        return self._added(sender, wanted)

    def _added(self, sender: str, wanted: Rule) -> Any:
        if flaw := wanted.flaw():
            raise ToolError(f"this is no rule: {flaw}")
        added = self._book.add(wanted)
        try:  # a rule that is not recorded, or would be forgotten, does not hold
            what, why = added.pattern, added.action
            self._record(Decided("rule_accepted", sender, kind=what, rule=added.id, reason=why))
            self._save(self._book.text)
        except Exception as problem:
            self._book.revoke(added.id)
            if isinstance(problem, OSError):
                said = f"the rule does not hold, it cannot be kept: {problem}"
                raise ToolError(said) from None
            raise
        self._say(
            f"{added.id} holds, accepted by {sender}: {added.action} {added.pattern} of {added.proposer}"
        )
        return msgspec.to_builtins(added)

    def _ended(self, decided: Decided, said: str) -> None:
        """Keep, record and tell what a person took back, stopped or resumed. It holds already, whatever goes wrong here.
        Raises `ToolError` where it will be forgotten."""
        flaw = None
        try:
            self._save(self._book.text)
        except OSError as problem:
            flaw = f"it holds until the gateway stops, and cannot be kept: {problem}"
        self._record(decided)
        self._say(said)
        if flaw is not None:
            raise ToolError(flaw)

    async def _dismiss(self, sender: str, id: str) -> Any:
        self._person(sender)
        if id not in self.learning.suggestions:
            raise ToolError(f"there is no {id}; the tool `suggestions` lists them")
        self.learning.dismiss(id)
        return {"dismissed": id}

    async def _revoke(self, sender: str, id: str, reason: str = "") -> Any:
        self._person(sender)
        try:
            revoked = self._book.revoke(id)
        except KeyError:
            raise ToolError(f"there is no {id}; the tool `rules` lists them") from None
        ended = Decided("rule_revoked", sender, kind=revoked.pattern, rule=id, reason=reason)
        self._ended(ended, f"{id} holds no longer, revoked by {sender}")
        return {"revoked": id}

    async def _stop(self, sender: str, participant: str, reason: str = "") -> Any:
        self._person(sender)
        self._book.stop(participant, reason or f"by {sender}")
        stopped = Decided("stopped", sender, proposer=participant, reason=reason)
        self._ended(stopped, f"{participant} is stopped by {sender}")
        return {"stopped": participant}

    async def _resume(self, sender: str, participant: str) -> Any:
        self._person(sender)
        if not self._book.resume(participant):
            raise ToolError(f"{participant} is not stopped")
        resumed = Decided("resumed", sender, proposer=participant)
        self._ended(resumed, f"{participant} goes on, says {sender}")
        return {"resumed": participant}

    # -- what it says

    def _tell(
        self,
        what: Literal["approved", "rejected", "asked", "failed"],
        by: str,
        proposal: Proposal,
        verdict: Verdict,
    ) -> None:
        kind = f"{proposal.operation.method}:{proposal.operation.context or ''}".rstrip(":")
        self._record(
            Decided(what, by, proposal.id, proposal.proposer, kind, verdict.rule, verdict.reason)
        )

    def _say(self, text: str, about: str | None = None) -> None:
        if self._me.capabilities.allows("chat"):
            self._me.chat(text, about=about)

    def _start(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(self._safely(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _safely(self, work: Any) -> None:
        try:
            await work
        except RoomError as problem:
            log.warning("the orchestrator could not decide: %s", problem)
        except Exception:
            log.exception("the orchestrator broke on a proposal, which waits for a person")
