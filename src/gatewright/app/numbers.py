"""Collects what the spine and the features count, on request: for `/metrics`, `/readyz` and telemetry."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from gatewright.audit.trail import AuditLog
from gatewright.kernel import Kernel
from gatewright.mcp.server.context import ServerContext
from gatewright.servers.supervisor import Supervisor

__all__ = ["Numbers"]


class Numbers(msgspec.Struct, frozen=True, kw_only=True):
    """`telemetry.endpoint.Numbers` of one gateway. `parts` are those of features, `missing` the features that are not there."""

    kernel: Kernel
    supervisor: Supervisor
    front: ServerContext
    audit: AuditLog
    parts: Sequence[Callable[[], Mapping[str, Any]]]
    missing: Sequence[str] = ()

    def __call__(self) -> dict[str, Any]:
        """All of them, now."""
        audit = self.audit
        found: dict[str, Any] = {
            "servers": dict(self.supervisor.states),
            "in_flight": self.kernel.in_flight,
            "waiting": 0,
            "sessions": sum(one.door == "http" for one in self.front.standing.values()),
            "audit_ok": audit.fault is None,
            "audit_written": audit.written,
            "audit_lag": audit.lag,
            "audit_sinks": {},
            "missing": self.missing,
        }
        for part in self.parts:
            found |= part()
        return found
