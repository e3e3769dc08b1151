"""Collects the gateway's gauges from its parts on request: for `/metrics`, `/readyz` and telemetry."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

from gatewright.telemetry.metrics import BOUNDS, TOOL_BOUNDS
from gatewright.telemetry.watchdog import BOUNDS as STALLS

__all__ = ["Numbers"]


class Numbers:
    """`telemetry.endpoint.Numbers` of one `app.gateway.Gateway`."""

    def __init__(self, gateway: Any, in_flight: Callable[[], int]) -> None:
        self._gateway = gateway
        self._in_flight = in_flight

    def __call__(self) -> dict[str, Any]:
        """All of them, now."""
        of = self._gateway
        counted = of.counted
        listeners = [one for one in (of.listener, of.groundhog.listener) if one is not None]
        return {
            "servers": dict(of.supervisor.states),
            "calls": counted.calls,
            "in_flight": self._in_flight(),
            "waiting": of.desk.waiting,
            "took": [*zip((*BOUNDS, inf), counted.durations, strict=True)],
            "took_s": counted.spent_s,
            "tools": counted.tools,
            "tool_bounds": (*TOOL_BOUNDS, inf),
            "warnings": counted.warnings,
            "sessions": len(of.app.streamable.sessions),
            "audit_ok": of.audit.fault is None,
            "audit_written": of.audit.written,
            "audit_lag": of.audit.lag,
            "audit_sinks": of.sinks.states(),
            "stalls": [*zip((*STALLS, inf), of.watchdog.counts, strict=True)],
            "stalled_s": of.watchdog.stalled_s,
            "longest_stall": of.watchdog.longest,
            "workers": (of.beside.workers.orders, of.beside.workers.killed),
            "refused": sum(one.refused for one in listeners),
            "flooded": sum(one.flooded for one in listeners),
        }
