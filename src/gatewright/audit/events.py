"""`Events`: audit records of what is not a call: refused requests, key changes, servers' transitions, operators' acts, retries, reloads."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any, Literal

from gatewright.audit.records import Actor, Subject
from gatewright.audit.trail import AuditLog
from gatewright.call import Call, Caller, Unrecorded
from gatewright.identity.keys import KeyStore
from gatewright.mcp.client.retry import Attempt

__all__ = ["Events"]


class Events:
    """Puts words of other parts into the words of the record. What has happened already, and nobody can
    refuse any more, is lost where it cannot be recorded; what is about to be done is not done then."""

    def __init__(self, audit: AuditLog) -> None:
        self._audit = audit

    async def on_disk(self) -> None:
        """Return once everything that was said would survive a power cut. Raises `Unrecorded`."""
        await self._audit.on_disk()

    def refused(self, caller: Caller, door: str, code: int, message: str) -> None:
        """What a door refused, where it is known who asked."""
        if caller.kind == "anonymous":
            return
        with contextlib.suppress(Unrecorded):
            self._audit.event(
                "dev.gatewright.refused",
                actor=_actor(caller),
                outcome="denied",
                details={"door": door, "code": code, "message": message[:200]},
            )

    def keys(self, callers: KeyStore) -> None:
        """Every change of keys that is not recorded yet. Raises `Unrecorded`."""
        for change in callers.changes():
            self._audit.event(
                f"dev.gatewright.key.{change.action}",
                actor=Actor(type="operator", id=change.by),
                details={"key_id": change.key_id, "name": change.name, "kind": change.kind},
            )
            callers.recorded(change.number)

    def server(self, event: str, server: str, details: Mapping[str, Any]) -> None:
        """What happened to a server."""
        with contextlib.suppress(Unrecorded):
            self._audit.event(event, target=Subject(server_id=server), details=details)

    def retried(self, call: Call, attempt: Attempt) -> None:
        """That a call to an MGP server is about to be made once more, or another in its place (MGP §14.6).
        Raises `Unrecorded`."""
        details: dict[str, Any] = {
            "call_id": call.id,
            "attempt": attempt.number,
            "wait_ms": round(attempt.wait_s * 1000),
            "code": attempt.code,
        }
        if attempt.fallback_tool is not None:
            details["fallback_tool"] = attempt.fallback_tool
        target = call.target
        self._audit.event(
            "dev.gatewright.retry",
            actor=_actor(call.caller),
            target=Subject() if target is None else Subject(target.server, target.name),
            outcome="error",
            details=details,
            trace_id=call.trace_id,
        )

    def own(self, event: str, outcome: Literal["success", "failure"], details: Any) -> None:
        """What the gateway did of itself."""
        with contextlib.suppress(Unrecorded):
            self._audit.event(event, outcome=outcome, details=details)

    def acted(self, caller: Caller, event: str, server: str, why: str = "") -> None:
        """What an operator is about to do to a server, and why, where they say so. Raises `Unrecorded`."""
        details = {"reason": why} if why else None
        self._audit.event(
            event, actor=_actor(caller), target=Subject(server_id=server), details=details
        )


def _actor(caller: Caller) -> Actor:
    return Actor(type=caller.kind, id=caller.id, key_id=caller.key_id)
