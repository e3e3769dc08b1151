"""Audits Groundhog requests refused before they became calls, rate-limited for unauthenticated peers.

What an authenticated client sent is always recorded. Of unauthenticated peers, so much a minute is: any peer that reaches
the port could fill the disk otherwise. What is not recorded is not answered either, but for a credential that lets
nobody in: then the answer is the same as ever.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gatewright.audit.records import Actor
from gatewright.audit.trail import AuditLog
from gatewright.call import Refusal
from gatewright.dialects.groundhog.types import Refused

__all__ = ["Noting"]

_A_MINUTE = 120
_MINUTE_S = 60.0
_CHARS = 200
_NOBODY = Actor("anonymous", "anonymous")


class Noting:
    """Records refused requests: `types.Note`."""

    def __init__(self, audit: AuditLog, clock: Callable[[], float]) -> None:
        """`clock` is monotonic seconds."""
        self._audit = audit
        self._clock = clock
        self._began = clock()
        self._noted = 0

    def __call__(self, refused: Refused) -> bool:
        """Record one. Raises `Unrecorded`."""
        caller, outcome = refused.caller, refused.outcome
        if caller is None and not self._room():
            return False
        actor = _NOBODY if caller is None else Actor(caller.kind, caller.id, caller.key_id)
        details: dict[str, Any] = {
            "door": refused.door,
            "method": refused.method,
            "reason": outcome.reason,
            "message": outcome.message[:_CHARS],
        }
        denied = isinstance(outcome, Refusal)
        self._audit.event(
            "dev.gatewright.refused",
            actor=actor,
            outcome="denied" if denied else "error",
            details=details,
            trace_id=refused.trace_id,
        )
        return True

    def _room(self) -> bool:
        now = self._clock()
        if now - self._began >= _MINUTE_S:
            self._began, self._noted = now, 0
        self._noted += 1
        return self._noted <= _A_MINUTE
