"""`Ledger`: proposals a participant heard, by state, bounded in number and bytes (MCPx §10.2); `Pending`: one's own, to await or withdraw.

The chain is proposal → fulfilment (a request that names the proposal) → response (which names the fulfilment). Only a
request for the very operation that was proposed, put to those whom the proposal names, is a fulfilment: whoever may call
tools would otherwise ask itself, and answer in the place of who was meant. Version 0.1 has no kind for a decision against a
proposal: by convention it is a chat message that names the proposal and whose text begins with `withdrawn` where
it is the proposer's own, or else with `rejected`: of whoever is to do it, or could ask for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Literal

import msgspec

from gatewright.mcp.wire import jsonrpc
from gatewright.mcpx.payload import Chat, Operation, Responded, kind_of

__all__ = ["EXPIRES_S", "HELD_BYTES", "Ledger", "Pending", "Proposal", "Status"]

Status = Literal["pending", "fulfilling", "fulfilled", "failed", "rejected", "withdrawn", "expired"]

EXPIRES_S = 300.0
"""How long a proposal can be fulfilled, in seconds."""
_AGAINST: Mapping[str, Status] = MappingProxyType(
    {"withdrawn": "withdrawn", "rejected": "rejected"}
)
_KEPT = 1000
HELD_BYTES = 4 * 1024 * 1024
"""What the messages had together whose proposals are remembered; in memory it can be twenty times as much."""


class Proposal(msgspec.Struct):
    """One proposal. Times are Unix seconds."""

    id: str
    """Of its envelope."""
    proposer: str
    operation: Operation
    target: str | None
    """Who is to do it; None where it was put to everybody, or to several."""
    created_at: float
    expires_at: float
    status: Status = "pending"
    decided_by: str | None = None
    reason: str = ""
    fulfilment: str | None = None
    """Envelope id of the request that fulfilled it."""
    asked: frozenset[str] = frozenset()
    """Whom that request was put to."""
    unheard: bool = False
    """Whether none of them was there."""
    response: str | None = None
    """Envelope id of the answer to that."""
    size: int = 0
    """Bytes of its payload."""
    away: bool = False
    """Whether its proposer has left: whoever is called so now is another."""
    strangers: set[str] = msgspec.field(default_factory=set)
    """Of those it was put to by name, those that have left since: whoever is called so now is another."""
    named: frozenset[str] = frozenset()
    """Those to whom it was put, of whom each may do it; nobody: everybody."""

    def may_do(self, asked: Collection[str], by: str) -> bool:
        """Whether a request of `by` to these can fulfil it: some of those it was put to, and nobody else; where it was put to nobody by
        name, somebody other than who asks. What is put to everybody at once has no one answer."""
        if not asked or (by in self.strangers and by in asked):
            return False
        return self.named.issuperset(asked) if self.named else any(one != by for one in asked)

    def lose(self, name: str) -> bool:
        """Somebody has left, and speaks about it no more. True where it fails by that: who was asked for it is gone."""
        if name in self.named:
            self.strangers.add(name)
        if self.status != "fulfilling" or self.unheard or name not in self.asked:
            return False
        self.asked -= {name}
        if self.asked:
            return False
        self.status = "failed"
        self.reason = f"{name} was asked for it and has left; whether it was done is not known"
        return True

    @property
    def state(self) -> str:
        """The status, with the reason where one was given."""
        return f"{self.status}: {self.reason}" if self.reason else self.status

    @property
    def rejection(self) -> str:
        """Who rejected it and why, as a sentence; empty where nobody did."""
        why = self.reason or "no reason given"
        return (
            f"{self.decided_by} rejected the proposal: {why}" if self.status == "rejected" else ""
        )

    def record(self) -> dict[str, Any]:
        """The members of MCPx §10.2, and what is known besides. Times are Unix seconds."""
        return {
            "proposalId": self.id,
            "proposer": self.proposer,
            "target": self.target,
            "method": self.operation.method,
            "params": self.operation.params,
            "status": self.status,
            "createdAt": self.created_at,
            "expiresAt": self.expires_at,
            "decidedBy": self.decided_by,
            "reason": self.reason,
            "chain": [one for one in (self.id, self.fulfilment, self.response) if one],
        }


class Pending:
    """A proposal of one's own. `id` is its envelope's."""

    def __init__(
        self,
        proposal: Proposal,
        *,
        outcome: Callable[[Proposal, float], Awaitable[Any]],
        decline: Callable[[str, str], object],
    ) -> None:
        self.proposal = proposal
        self.id = proposal.id
        self._outcome = outcome
        self._decline = decline

    async def outcome(self, *, timeout_s: float = EXPIRES_S) -> Any:
        """The result of what was proposed, once somebody has fulfilled it. It is withdrawn when that does not happen
        in time. Raises `AnswerTimeoutError`, `CallError`, `RoomRefusedError`, and `NotFulfillableError` where it was
        rejected."""
        return await self._outcome(self.proposal, timeout_s)

    def withdraw(self, reason: str = "") -> None:
        """Tell everybody that it is not wanted any more. Raises `NotFulfillableError` where it is decided."""
        self._decline(self.id, reason)


class Ledger:
    """Proposals by id, the last thousand of them, and no more than so many bytes. Beyond that the oldest of whoever has most of
    them goes, so that one who proposes without end, or at length, pushes out none but its own."""

    def __init__(
        self,
        *,
        clock: Callable[[], float],
        expires_s: float = EXPIRES_S,
        kept: int = _KEPT,
        held_bytes: int = HELD_BYTES,
        there: Callable[[str], bool] = lambda _: True,
        may: Callable[[str, str], bool] = lambda name, kind: True,
    ) -> None:
        """`clock` gives Unix seconds; `there` says whether somebody is in the room, `may` whether somebody there may send a kind."""
        self._clock = clock
        self._there = there
        self._may = may
        self._expires_s = expires_s
        self._kept = kept
        self._room = held_bytes
        self._bytes: Counter[str] = Counter()
        """Proposer → bytes of its proposals."""
        self._proposals: dict[str, Proposal] = {}
        self._by: dict[str, dict[str, None]] = {}
        """Proposer → ids of its proposals, oldest first."""
        self._fulfilments: dict[str, str] = {}

    def __iter__(self) -> Iterator[Proposal]:
        """All of them, oldest first."""
        for one in list(self._proposals.values()):
            self._age(one)
            yield one

    def find(self, id: str | None) -> Proposal | None:
        """A proposal, as it stands now."""
        found = None if id is None else self._proposals.get(id)
        if found is not None:
            self._age(found)
        return found

    def fulfilled_by(self, request: str | None) -> Proposal | None:
        """The proposal that the request with this envelope id fulfils."""
        return None if request is None else self.find(self._fulfilments.get(request))

    def open(
        self,
        id: str,
        proposer: str,
        operation: Operation,
        to: Collection[str] = (),
        size: int = 0,
    ) -> Proposal:
        """Somebody proposes something to these, in so many bytes. An id that is known already opens nothing; where it stands for something else now,
        nobody can fulfil it any more: who heard only one of the two would agree to the other."""
        known, named = self.find(id), frozenset(to)
        if known is not None:
            same = known.proposer, known.operation.essence, known.named
            if self.is_open(known) and same != (proposer, operation.essence, named):
                known.status, known.decided_by = "rejected", proposer
                known.reason = "its id was used again for something else"
            return known
        now = self._clock()
        ends = now + self._expires_s
        target = next(iter(named)) if len(named) == 1 else None
        made = Proposal(id, proposer, operation, target, now, ends, size=size, named=named)
        self._proposals[id] = made
        self._by.setdefault(proposer, {})[id] = None
        self._bytes[proposer] += size
        self._room -= size
        if len(self._proposals) > self._kept:
            self._forget_one(max(self._by, key=lambda one: len(self._by[one])))
        while self._room < 0 and len(self._proposals) > 1:
            self._forget_one(max(self._bytes, key=self._bytes.__getitem__))
        return made

    def _forget_one(self, proposer: str) -> None:
        """Forget the oldest proposal of somebody."""
        ids = self._by[proposer]
        id = next(iter(ids))
        del ids[id]
        forgotten = self._proposals.pop(id)
        self._room += forgotten.size
        self._bytes[proposer] -= forgotten.size
        if not ids:
            del self._by[proposer], self._bytes[proposer]
        self._fulfilments.pop(forgotten.fulfilment or "", None)

    def is_open(self, proposal: Proposal) -> bool:
        """Whether it can be fulfilled, or decided against: also where the request for it went to nobody who is, or was, there."""
        if proposal.status != "fulfilling" or not proposal.unheard:
            return proposal.status == "pending"
        late = self._clock() >= proposal.expires_at
        return not late and not any(map(self._there, proposal.asked))

    def fulfil(
        self, id: str | None, request: str, by: str, operation: Operation, asked: Collection[str]
    ) -> bool:
        """A request to `asked` names a proposal. False where it is no fulfilment: another operation, put to others, or not open."""
        found = self.find(id)
        if found is None or found.operation.essence != operation.essence or not self.is_open(found):
            return False
        if not found.may_do(asked, by):
            return False
        self._fulfilments.pop(found.fulfilment or "", None)
        found.status, found.decided_by, found.fulfilment = "fulfilling", by, request
        # Put to everybody, it is done by another than who asks for it.
        found.asked = frozenset(asked) if found.named else frozenset(asked) - {by}
        found.unheard = not any(map(self._there, found.asked))
        self._fulfilments[request] = found.id
        return True

    def left(self, name: str) -> list[Proposal]:
        """Somebody has left the room. The proposals that fail by it: nobody else was asked for them."""
        for id in self._by.get(name, ()):
            self._proposals[id].away = True
        return [one for one in self._proposals.values() if one.lose(name)]

    def reopen(self, request: str) -> None:
        """A request was not passed on: what it would have fulfilled is as open as before."""
        found = self.fulfilled_by(request)
        if found is not None and found.status == "fulfilling":
            del self._fulfilments[request]
            found.status, found.decided_by, found.fulfilment = "pending", None, None

    def answer(
        self, request: str | None, response: str, by: str, said: Responded
    ) -> Proposal | None:
        """A response of `by` names a request: the proposal that is done by it, if there is one. What somebody else
        says in the place of who was asked counts for nothing."""
        found = self.fulfilled_by(request)
        if found is None or found.status != "fulfilling" or by not in found.asked:
            return None
        # Put to everybody, it is done by another than who asks for it, or by nobody.
        if by == found.decided_by and not found.named:
            return None
        result = said.result
        failed = said.error is not None or (isinstance(result, dict) and result.get("isError"))
        found.status = "failed" if failed else "fulfilled"
        found.response = response
        return found

    def answer_text(self, request: str, response: str, by: str, payload: bytes) -> None:
        """The same of a JSON-RPC response as it is sent."""
        message = jsonrpc.parse(payload)
        if isinstance(message, jsonrpc.Response):
            # Of a result, which may be long, no more is needed than whether it is an error.
            result = message.result if message.result[:1] == b"{" else b"{}"
            mark = jsonrpc.members_named(result, "isError").get("isError", b"")
            said = Responded(message.id, {"isError": bytes(mark) == b"true"}, message.error or None)
            self.answer(request, response, by, said)

    def word_of(self, proposal: Proposal, by: str) -> str:
        """What somebody says to decide against a proposal: the proposer withdraws it; whoever is to do it rejects it, and whoever could
        ask for it. Empty for everybody else: who may only chat ends nothing of others."""
        if by == proposal.proposer and not proposal.away:
            return "withdrawn"
        meant = by in proposal.named and by not in proposal.strangers
        able = meant or self._may(by, kind_of("mcp/request", proposal.operation))
        return "rejected" if able else ""

    def hear(self, id: str | None, by: str, chat: Chat) -> Proposal | None:
        """A chat message names a proposal: the proposal that it decides against, if it does."""
        found = self.find(id)
        word, _, reason = chat.text.partition(":")
        word = word.strip().lower()
        if found is None or not self.is_open(found):
            return None
        if word not in _AGAINST or word != self.word_of(found, by):
            return None
        found.status = _AGAINST[word]
        found.decided_by, found.reason = by, reason.strip()
        return found

    def _age(self, proposal: Proposal) -> None:
        if proposal.status == "pending" and self._clock() >= proposal.expires_at:
            proposal.status = "expired"
