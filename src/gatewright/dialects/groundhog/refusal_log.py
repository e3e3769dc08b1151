"""Audits Groundhog requests refused before they became calls; rate limits for unauthenticated peers and for repeated wrong credentials.

What an authenticated client sent is always recorded, but for wrong credentials: once a minute, with how many were left out. Of unauthenticated peers, so much a minute is: any peer that reaches
the port could fill the disk otherwise. What is not recorded is not answered either, but for a credential that lets
nobody in: then the answer is the same as ever.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gatewright.audit.records import Actor
from gatewright.audit.trail import AuditLog
from gatewright.call import Refusal, Who
from gatewright.dialects.groundhog.types import Refused

__all__ = ["Noting"]

_A_MINUTE = 120
_MINUTE_S = 60.0
_CHARS = 200
_WRONG = frozenset({"auth_failed", "auth_expired"})
_KNOWN = 1000
"""So many callers with wrong credentials are told apart."""
_NOBODY = Actor("anonymous", "anonymous")


class Noting:
    """Records refused requests: `types.Note`."""

    def __init__(self, audit: AuditLog, clock: Callable[[], float]) -> None:
        """`clock` is monotonic seconds."""
        self._audit = audit
        self._clock = clock
        self._began = clock()
        self._noted = 0
        self._wrong: dict[tuple[Who, str], tuple[float, int]] = {}

    def __call__(self, refused: Refused) -> bool:
        """Record one. Raises `Unrecorded`."""
        caller, outcome = refused.caller, refused.outcome
        if caller is None and not self._room():
            return False
        left_out = 0
        if caller is not None and outcome.reason in _WRONG:
            said = self._first(caller.who, refused.door)
            if said is None:
                return True
            left_out = said
        actor = _NOBODY if caller is None else Actor(caller.kind, caller.id, caller.key_id)
        details: dict[str, Any] = {
            "door": refused.door,
            "method": refused.method,
            "reason": outcome.reason,
            "message": outcome.message[:_CHARS],
            **({"left_out": left_out} if left_out else {}),
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

    def _first(self, who: Who, door: str) -> int | None:
        """How many wrong credentials of a caller were left out since the last that was recorded; None where this one is, too."""
        now = self._clock()
        since, left_out = self._wrong.pop((who, door), (-_MINUTE_S, 0))
        if now - since < _MINUTE_S:
            self._wrong[who, door] = since, left_out + 1
            return None
        while len(self._wrong) >= _KNOWN:
            del self._wrong[next(iter(self._wrong))]  # who came least lately
        self._wrong[who, door] = now, 0
        return left_out

    def _room(self) -> bool:
        now = self._clock()
        if now - self._began >= _MINUTE_S:
            self._began, self._noted = now, 0
        self._noted += 1
        return self._noted <= _A_MINUTE
