"""`RoomJournal`: audit records of rooms: joins, leaves, envelopes without their payloads, refusals, changes made by operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gatewright.audit.records import Actor, Subject
from gatewright.audit.trail import AuditLog
from gatewright.mcpx.envelope import Envelope
from gatewright.mcpx.topic import Member, No

__all__ = ["RoomJournal"]

_QUIET_S = 1.0
"""Of what one participant is refused, the same error is recorded once in this time."""
_SAID = 256


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
