"""Collects the gateway's gauges from its parts on request: for `/metrics`, `/readyz` and telemetry."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any, Protocol

import msgspec

from gatewright.audit.sinks import Sinks
from gatewright.audit.trail import AuditLog
from gatewright.kernel import Kernel
from gatewright.mcp.server.context import ServerContext
from gatewright.servers.supervisor import Supervisor
from gatewright.telemetry.metrics import BOUNDS, TOOL_BOUNDS, CallCounts
from gatewright.telemetry.watchdog import BOUNDS as STALLS
from gatewright.telemetry.watchdog import Watchdog
from gatewright.transport.workers import Workers

__all__ = ["Listener", "Numbers"]


class Listener(Protocol):
    """An address that is listened at."""

    @property
    def refused(self) -> int:
        """Connections that were not taken."""

    @property
    def flooded(self) -> int:
        """Connections that ended because they sent too much at a time."""


class _Queue(Protocol):
    """The queue of what waits for a person (`approvals.queue`)."""

    @property
    def waiting(self) -> int:
        """How many requests are undecided."""


class Numbers(msgspec.Struct, frozen=True, kw_only=True):
    """`telemetry.endpoint.Numbers` of one gateway. `listeners` are those that are open."""

    counted: CallCounts
    watchdog: Watchdog
    kernel: Kernel
    supervisor: Supervisor
    front: ServerContext
    queue: _Queue
    audit: AuditLog
    sinks: Sinks
    workers: Workers
    listeners: Sequence[Listener]

    def __call__(self) -> dict[str, Any]:
        """All of them, now."""
        counted, watchdog, audit = self.counted, self.watchdog, self.audit
        return {
            "servers": dict(self.supervisor.states),
            "calls": counted.calls,
            "in_flight": self.kernel.in_flight,
            "waiting": self.queue.waiting,
            "took": [*zip((*BOUNDS, inf), counted.durations, strict=True)],
            "took_s": counted.spent_s,
            "tools": counted.tools,
            "tool_bounds": (*TOOL_BOUNDS, inf),
            "warnings": counted.warnings,
            "sessions": sum(one.door == "http" for one in self.front.standing.values()),
            "audit_ok": audit.fault is None,
            "audit_written": audit.written,
            "audit_lag": audit.lag,
            "audit_sinks": self.sinks.states(),
            "stalls": [*zip((*STALLS, inf), watchdog.counts, strict=True)],
            "stalled_s": watchdog.stalled_s,
            "longest_stall": watchdog.longest,
            "workers": (self.workers.orders, self.workers.killed),
            "refused": sum(one.refused for one in self.listeners),
            "flooded": sum(one.flooded for one in self.listeners),
        }
