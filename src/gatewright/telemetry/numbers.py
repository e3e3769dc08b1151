"""Collects the gateway's gauges from its parts on request: for `/metrics`, `/readyz` and telemetry."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
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

    def __call__(self) -> Mapping[str, Any]:
        """All of them. Each is counted when it is asked for: some are dear, and telemetry asks for its few from a thread of its own."""
        counted, watchdog, audit, listeners = (
            self.counted,
            self.watchdog,
            self.audit,
            self.listeners,
        )
        standing = self.front.standing
        return _OnDemand(
            servers=lambda: dict(self.supervisor.states),
            calls=counted.calls.copy,
            in_flight=lambda: self.kernel.in_flight,
            waiting=lambda: self.queue.waiting,
            took=lambda: [*zip((*BOUNDS, inf), counted.durations, strict=True)],
            took_s=lambda: counted.spent_s,
            tools=lambda: counted.tools,
            tool_bounds=lambda: (*TOOL_BOUNDS, inf),
            warnings=counted.warnings.copy,
            sessions=lambda: sum(one.door == "http" for one in list(standing.values())),
            audit_ok=lambda: audit.fault is None,
            audit_written=lambda: audit.written,
            audit_lag=lambda: audit.lag,
            audit_sinks=self.sinks.states,
            stalls=lambda: [*zip((*STALLS, inf), watchdog.counts, strict=True)],
            stalled_s=lambda: watchdog.stalled_s,
            longest_stall=lambda: watchdog.longest,
            workers=lambda: (self.workers.orders, self.workers.killed),
            refused=lambda: sum(one.refused for one in listeners),
            flooded=lambda: sum(one.flooded for one in listeners),
        )


class _OnDemand(Mapping[str, Any]):
    """Values that are made when they are asked for."""

    def __init__(self, **made: Callable[[], Any]) -> None:
        self._made = made

    def __getitem__(self, name: str) -> Any:
        return self._made[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)
