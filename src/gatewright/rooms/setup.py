"""Builds the rooms from settings and keys: hub, endpoint, participants, each topic's `Orchestrator`; audits joins, messages, refusals."""

from __future__ import annotations

import logging
import os
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal
from urllib.parse import quote

import msgspec

from gatewright.audit.records import Actor, Subject
from gatewright.audit.trail import AuditLog
from gatewright.call import Caller, Refusal
from gatewright.config.rooms import RoomOrchestratorTable, Rooms, RoomsTable
from gatewright.mcp.server.server_context import ServerContext
from gatewright.mcpx.envelope import Envelope
from gatewright.mcpx.topic import Bounds, Member, No
from gatewright.rooms.admin_endpoint import RoomsAdmin
from gatewright.rooms.callers import RoomCallers
from gatewright.rooms.endpoint import RoomsEndpoint
from gatewright.rooms.gateway_participant import GatewayParticipant, Rehearse
from gatewright.rooms.hub import Hub, NoPlace
from gatewright.rooms.identities import Identities
from gatewright.rooms.in_process import Inside
from gatewright.rooms.participant_changes import ParticipantAdmin
from gatewright.rooms.participants.learning import Learning
from gatewright.rooms.participants.orchestrator import Decided, Orchestrator
from gatewright.rooms.participants.rules import RuleBook
from gatewright.rooms.policy import Known, Policy, Topic, Verifier
from gatewright.rooms.trust_store import ParticipantChanges
from gatewright.storage.errors import StoreError
from gatewright.storage.private_file import replace_file

__all__ = [
    "RULES",
    "RoomJournal",
    "Seated",
    "hub_of",
    "orchestrator_in",
    "policy_of",
    "rooms_of",
    "stamp",
]

RULES = "room-rules"
"""The folder, inside the state folder, with one file for each topic."""


def orchestrator_in(
    hub: Hub, table: RoomOrchestratorTable, topic: str, audit: AuditLog, state: Path
) -> Inside:
    """The seat of the orchestrator of a topic. Raises `StoreError` where its rules cannot be read."""
    path = state / RULES / f"{quote(topic, safe='')}.json"
    orchestrator = Orchestrator(
        _book(path),
        topic=topic,
        people=table.people,
        record=lambda decided: _record(audit, topic, table.name, decided),
        save=lambda text: _save(path, text),
        learning=Learning(topic=topic, enough=table.suggest_after),
    )
    seat = Inside(hub, topic=topic, name=table.name, responder=orchestrator.tools)
    orchestrator.attach(seat.participant)
    return seat


def _book(path: Path) -> RuleBook:
    try:
        return RuleBook(path.read_bytes()) if path.exists() else RuleBook()
    except (OSError, ValueError) as problem:
        said = f"the rules in {path} cannot be read: {problem}; mend the file, or move it away"
        raise StoreError(said) from problem


def _save(path: Path, text: bytes) -> None:
    path.parent.mkdir(mode=0o700, exist_ok=True)
    replace_file(path, text)


def _record(audit: AuditLog, topic: str, name: str, decided: Decided) -> None:
    """Who decided what, and by which rule. Raises `Unrecorded`."""
    said = {
        "topic": topic,
        "proposal": decided.proposal,
        "proposer": decided.proposer,
        "rule": decided.rule,
        "reason": decided.reason or None,
    }
    outcome: Literal["success", "denied", "failure"] = "success"
    if decided.what in ("rejected", "stopped"):
        outcome = "denied"
    elif decided.what == "failed":
        outcome = "failure"
    audit.event(
        f"dev.gatewright.room.{decided.what}",
        actor=Actor(type="orchestrator" if decided.by == name else "participant", id=decided.by),
        target=Subject(name=decided.kind),
        outcome=outcome,
        details={key: value for key, value in said.items() if value is not None},
        trace_id=decided.proposal,
    )


log = logging.getLogger("gatewright.rooms")

_QUIET_S = 1.0
"""Of what one participant is refused, the same error is recorded once in this time."""
_SAID = 256


class Seated(msgspec.Struct, frozen=True):
    """What the parts of the gateway that sit in rooms need of it."""

    front: ServerContext
    audit: AuditLog
    callers: RoomCallers
    rehearse: Rehearse
    hub: Hub
    trust: ParticipantChanges


def hub_of(rooms: Rooms, audit: AuditLog, trust: ParticipantChanges) -> Hub:
    """The hub, without anybody yet; `trust` is what operators have said of participants."""
    return Hub(
        policy_of(rooms),
        journal=RoomJournal(audit, time.monotonic),
        stamp=stamp,
        trust=trust,
        monotonic=time.monotonic,
    )


def rooms_of(rooms: Rooms, house: Seated, state: Path) -> RoomsEndpoint:
    """The door to the rooms. The gateway's own participants sit there from the start; `state` is the folder of their rules.

    Raises `StoreError` where the rules of an orchestrator cannot be read."""
    hub = house.hub
    identities = Identities(
        hub.policy,
        keys=lambda token: house.front.identify("websocket", token),
        random=os.urandom,
        signed=_signed(rooms),
    )
    for seat in _seats(rooms.table, hub, house, state):
        try:
            seat.sit()
        except NoPlace as no:  # an operator keeps it out, for example: everything else goes on
            log.warning("%s does not sit in %s: %s", seat.name, seat.topic, no)

    def identify(door: str, token: str | None) -> Caller | Refusal:
        return house.front.identify(door, token)  # another one after each reload

    admin = RoomsAdmin(hub, ParticipantAdmin(hub, house.trust), identify)
    return RoomsEndpoint(hub, identities, admin)


def _seats(table: RoomsTable, hub: Hub, house: Seated, state: Path) -> Iterator[Inside]:
    """`state` is the folder in which the rules of orchestrators are kept."""
    if table.kernel is not None:
        for topic in table.kernel.topics:
            kernel = GatewayParticipant(
                house.front,
                hub,
                house.callers,
                house.rehearse,
                topic=topic,
                name=table.kernel.name,
                profile=table.kernel.profile,
            )
            yield kernel.seat
    if table.orchestrator is not None:
        for topic in table.orchestrator.topics:
            yield orchestrator_in(hub, table.orchestrator, topic, house.audit, state)


def policy_of(rooms: Rooms) -> Policy:
    """What was configured, in the words of the rooms."""
    table = rooms.table
    known = {
        one.id: Known(
            one.id,
            rooms.capabilities(one.profile) if one.profile is not None else one.capabilities,
            one.mode,
            one.echo,
            one.topics,
        )
        for one in table.participants
    }
    return Policy(
        bounds=Bounds(
            message_bytes=table.message_bytes,
            messages_per_s=table.messages_per_s,
            burst=float(table.burst),
            bytes_per_s=table.bytes_per_s,
            burst_bytes=float(table.burst_bytes),
            participants=table.max_participants,
            strict_proposals=table.strict_proposals,
            violation_notice=table.violation_notice,
            presence_to_joiner=table.presence_to_joiner,
        ),
        tokens={bytes.fromhex(one): known[id] for one, id in rooms.tokens.items()},
        known=known,
        default=rooms.capabilities(table.default_profile),
        operators=rooms.capabilities(table.operator_profile),
        anonymous=rooms.capabilities(table.anonymous_profile) if table.anonymous_profile else None,
        mode=table.mode,
        echo=table.echo,
        topics={
            name: Topic(one.access or table.topic_access, one.members, one.max_participants)
            for name, one in table.topics.items()
        },
        topic_access=table.topic_access,
        max_topics=table.max_topics,
        recorded=table.recorded,
        token_in_query=table.token_in_query,
        refusal=table.refusal,
    )


def _signed(rooms: Rooms) -> Verifier | None:
    jwt = rooms.table.jwt
    if jwt is None:
        return None
    from gatewright.config.signing_keys import read_key  # noqa: PLC0415 - see its docstring
    from gatewright.rooms.signed_tokens import Signed  # noqa: PLC0415

    key = read_key(rooms.jwt_key, jwt.algorithms)
    return Signed(key, jwt.algorithms, clock=time.time, issuer=jwt.issuer, audience=jwt.audience)


def stamp() -> tuple[str, str]:
    """A fresh id and the time, for a message of the gateway."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    return str(uuid.uuid4()), now.removesuffix("+00:00") + "Z"


class RoomJournal:
    """What the record keeps of rooms: who came and went, and of messages their envelopes without what they say."""

    def __init__(self, audit: AuditLog, monotonic: Callable[[], float]) -> None:
        self._audit = audit
        self._monotonic = monotonic
        self._refused: dict[tuple[str, str], dict[str, tuple[float, int]]] = {}
        """Topic and participant → error → when it was recorded last, and how often it came since."""

    @property
    def fault(self) -> str | None:
        """Why nothing can be recorded at present; None when all is well."""
        return self._audit.fault

    def joined(self, topic: str, member: Member, way: str) -> None:
        """Somebody comes in."""
        details = {
            "connection": member.connection,
            "way": way,
            "capabilities": list(member.capabilities.patterns),
        }
        self._write("joined", topic, member.id, details)

    def left(self, topic: str, member: Member, why: str) -> None:
        """Somebody is gone."""
        refused = self._refused.pop((topic, member.id), {})
        more = sum(count for _, count in refused.values())
        details = {"connection": member.connection, "why": why, "more_refused": more or None}
        self._write("left", topic, member.id, details)

    def passed(self, topic: str, envelope: Envelope) -> None:
        """A message is about to be passed on."""
        details = {
            "id": envelope.id,
            "kind": envelope.kind[:_SAID],
            "to": list(envelope.to[:16]),  # of up to 1,000: a record stays short
            "correlation_id": envelope.correlation_id,
        }
        trace = envelope.correlation_id or envelope.id
        self._write("message", topic, envelope.sender, details, trace=trace)

    def refused(self, topic: str, member: Member, no: No) -> None:
        """A message is not passed on. A flood of them is counted, not written down one by one."""
        refused = self._refused.setdefault((topic, member.id), {})
        before, more = refused.get(no.error, (-_QUIET_S, 0))
        now = self._monotonic()
        if now - before < _QUIET_S:
            refused[no.error] = before, more + 1
            return
        refused[no.error] = now, 0
        details: dict[str, object] = {"error": no.error, "id": no.id}
        details |= {"kind": no.kind and no.kind[:_SAID], "more_before": more or None}
        self._write("refused", topic, member.id, details, denied=True)

    def changed(
        self,
        participant: str,
        what: str,
        old: Sequence[str],
        new: Sequence[str],
        by: str,
        reason: str,
    ) -> None:
        """What an operator is about to do to a participant."""
        found = {"participant": participant, "old": list(old), "new": list(new), "reason": reason}
        self._audit.event(
            f"dev.gatewright.room.participant.{what}",
            actor=Actor(type="operator", id=by),
            target=Subject(name=participant),
            details={name: value for name, value in found.items() if value},
        )

    def _write(
        self,
        what: str,
        topic: str,
        participant: str,
        details: Mapping[str, object],
        *,
        denied: bool = False,
        trace: str | None = None,
    ) -> None:
        said = {name: value for name, value in details.items() if value not in (None, [])}
        self._audit.event(
            f"dev.gatewright.room.{what}",
            actor=Actor(type="participant", id=participant),
            target=Subject(name=topic),
            outcome="denied" if denied else "success",
            details=said,
            trace_id=trace,
        )
