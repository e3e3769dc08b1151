"""`RefusedSignIns`: records refused sign-ins to the console at a bounded rate, and how many were left out: each record costs a write to disk."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from gatewright.audit.records import Actor
from gatewright.audit.trail import AuditLog
from gatewright.call import Unrecorded

__all__ = ["RECORDS", "WINDOW_S", "RefusedSignIns"]

log = logging.getLogger("gatewright.console")

RECORDS, WINDOW_S = 10, 60.0
"""So many are recorded one by one in so many seconds; one more record says how many others there were."""

Later = Callable[[float, Callable[[], None]], object]
"""Has something done after so many seconds."""


class RefusedSignIns:
    """Of one console: whoever guesses may come from any number of addresses."""

    def __init__(self, audit: AuditLog, later: Later | None = None) -> None:
        self._audit = audit
        self._later = later
        self._recorded = self._left_out = 0

    def add(self, via: str, address: str) -> None:
        """Somebody was not let in. Raises `Unrecorded`."""
        if self._recorded >= RECORDS:
            self._left_out += 1
            return
        if not self._recorded:
            later = self._later or asyncio.get_running_loop().call_later
            later(WINDOW_S, self._over)
        self._recorded += 1
        self._record({"via": via, "address": address})

    def _over(self) -> None:
        left_out, self._recorded, self._left_out = self._left_out, 0, 0
        if not left_out:
            return
        try:
            self._record({"left_out": left_out, "seconds": round(WINDOW_S)})
        except Unrecorded:
            log.exception("%d more sign-ins to the console were refused", left_out)

    def _record(self, details: dict[str, Any]) -> None:
        self._audit.event(
            "dev.gatewright.console.refused",
            actor=Actor("anonymous", "console"),
            outcome="denied",
            details=details,
        )
