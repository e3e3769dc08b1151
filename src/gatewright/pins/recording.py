"""`write_down`: writes pending pin changes (accepted, refused, held back, …) to the audit trail, each with tool, digest and operator."""

from __future__ import annotations

from typing import Any, Protocol

from gatewright.audit.records import Actor, Subject
from gatewright.pins.store import Pins

__all__ = ["Record", "write_down"]


class Record(Protocol):
    """Where steps are written down: `AuditLog.event`."""

    def __call__(
        self,
        event_type: str,
        *,
        actor: Actor,
        target: Subject,
        details: dict[str, Any],
    ) -> int:
        """Raises `Unrecorded`."""


def write_down(store: Pins, record: Record) -> None:
    """Put every step that is not yet there into the audit trail. Raises `Unrecorded` (of `call`), `StoreError`."""
    while steps := store.changes():
        for step in steps:
            record(
                f"dev.gatewright.tool.{step.action}",
                actor=_actor(step.action, step.by),
                target=Subject(server_id=step.server, tool_name=step.tool or None),
                details=({"definition_digest": step.digest} if step.digest else {})
                | ({"why": step.why} if step.why else {}),
            )
        store.recorded(steps[-1].number)


def _actor(action: str, by: str) -> Actor:
    by_operator = action in {"accepted", "refused", "forgotten"}
    return Actor("operator", by) if by_operator else Actor("system", "gatewright")
