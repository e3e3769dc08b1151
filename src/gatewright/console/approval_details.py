"""`ApprovalDetails`: an approval request in full: its call, each gate's verdict, rule, earlier decisions; `waiting`: its form in lists."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import msgspec

from gatewright.approvals.asked_calls import AskedCalls
from gatewright.approvals.lists import ApprovalLists, Before
from gatewright.approvals.request import Approval
from gatewright.console.dependencies import Dependencies
from gatewright.console.gate_words import GateWord, gate_words

__all__ = ["ApprovalDetails", "AskingCall", "Detail", "Waiting", "waiting"]

_CONFIRM = "confirm"


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """One request that waits, or waited. Times are Unix seconds."""

    id: str
    agent: str
    wish: str
    server: str
    tool: str
    risk: str
    reason: str
    arguments: str
    """JSON text, secrets redacted, as they would be sent; empty once the request is over."""
    digest: str
    """SHA-256 of the arguments; a decision names it, so that nobody agrees to others than were shown."""
    unseen: str
    """What of the arguments nobody can look at; empty where they are whole."""
    requested: float
    expires: float
    quorum: int
    kind: str
    state: str
    by: str
    """Who decided, where somebody did."""


class AskingCall(msgspec.Struct, frozen=True, kw_only=True):
    """The call behind a request, as far as this process has seen it."""

    door: str
    session: str
    profile: str
    program: str
    roles: tuple[str, ...]
    trace_id: str


class Detail(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known of one request."""

    request: Waiting
    rule: str
    """Which rule asks a person; empty where this process has not seen the call."""
    before: Before
    votes: list[str]
    """Who has said yes so far, where several have to."""
    dropped: list[str]
    """Whose yes does not count any more, as they are no operators or had their key revoked since."""
    gates: list[GateWord]
    call: AskingCall | None
    editable: bool
    """Whether other arguments can be written from those that are shown: they are whole, and no secret was taken out."""
    written: str
    """The arguments to write others from; empty where that cannot be done."""


class ApprovalDetails:
    """Of one gateway."""

    def __init__(self, parts: Dependencies) -> None:
        self.lists = ApprovalLists(parts.ground.database, parts.clock)
        self._asked = parts.ground.of(AskedCalls)
        self._kernel = parts.gateway.inside.kernel

    def of(self, one: Approval) -> Detail:
        """Raises `StoreError`."""
        call = None if self._asked is None else self._asked.of(one.id)
        gates: list[GateWord] = []
        if call is not None:
            caller = f"key {call.key_id}" if call.key_id else one.kind
            # The gates that the kernel walks now, which is what the call met unless the configuration changed since.
            names = [gate.name for gate in self._kernel.policy.gates]
            gates = gate_words(names, call.facts, caller=caller, waits=_CONFIRM)
        editable = one.kind != "server" and _digest(one.arguments) == one.runs
        votes, dropped = self.lists.votes(one.id) if one.quorum > 1 else ([], [])
        return Detail(
            request=waiting(one),
            rule="" if call is None else call.rule,
            before=self.lists.before(one),
            votes=votes,
            dropped=dropped,
            gates=gates,
            call=None if call is None else _shown(call),
            editable=editable,
            written=msgspec.json.format(one.arguments, indent=2) if editable else "",
        )


def waiting(one: Approval) -> Waiting:
    """A request as the API says it."""
    return Waiting(
        id=one.id,
        agent=one.who,
        wish=one.wish,
        server=one.server,
        tool=one.tool,
        risk=one.risk,
        reason=one.reason,
        arguments=one.arguments,
        digest=one.runs,
        unseen=one.unseen,
        requested=one.requested,
        expires=one.expires,
        quorum=one.quorum,
        kind=one.kind,
        state=one.state,
        by=one.by,
    )


def _shown(call: Any) -> AskingCall:
    names = AskingCall.__struct_fields__
    return AskingCall(**{name: getattr(call, name) for name in names})


def _digest(arguments: str) -> str:
    return sha256(arguments.encode("utf-8", "replace")).hexdigest()
