"""`TelemetryFeature`: counts calls, serves `/metrics` and health routes, exports over OTLP, and runs the event-loop watchdog."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

from gatewright import __version__
from gatewright.call import Call
from gatewright.config import Settings
from gatewright.feature import Around, Feature, GatewayParts, Ground, Listener, Serving
from gatewright.kernel import Hooks
from gatewright.servers.supervisor import Supervisor
from gatewright.telemetry.endpoint import Health
from gatewright.telemetry.metrics import BOUNDS, TOOL_BOUNDS, CallCounts
from gatewright.telemetry.otel import telemetry_of
from gatewright.telemetry.watchdog import BOUNDS as STALLS
from gatewright.telemetry.watchdog import Watchdog
from gatewright.transport.workers import Workers

__all__ = ["TelemetryFeature"]


class TelemetryFeature(Feature):
    """Counts calls, and tells what everybody counts."""

    name = "telemetry"

    def __init__(self, ground: Ground) -> None:
        self.counted = CallCounts()
        self._listeners: Sequence[Listener] = ground.listeners
        self._workers: Workers = ground.workers
        self._watchdog = Watchdog(ground.settings.limits.stall_ms / 1000)
        self._telemetry = telemetry_of(ground.settings, __version__)
        ground.strained.listen(self._strained)

    def _strained(self, told: tuple[Call, str]) -> None:
        self.counted.warn(*told)

    def around(self, servers: Supervisor) -> Around:
        """The hooks."""
        ended = self.counted.ended
        counting = Hooks(ended=(ended,), answered=((ended, self.counted.answered),))
        hooks = Hooks.of(counting, self._telemetry.hooks)
        return Around(hooks=hooks, begin=self._watchdog.start)

    def serve(self, parts: GatewayParts) -> Serving:
        """`/livez`, `/readyz` and `/metrics`, and what is exported."""
        servers = parts.inside.servers
        self._telemetry.observe(parts.numbers)
        health = Health(parts.numbers, lambda: servers.catalogue)
        return Serving(
            routes=health.routes,
            urls=lambda base: {"health": f"{base}/readyz"},
        )

    def adopt(self, settings: Settings) -> None:
        """From when on a stall is told."""
        self._watchdog.adopt(settings.limits.stall_ms / 1000)

    def numbers(self) -> Mapping[str, Any]:
        """Calls, stalls of the event loop, and what becomes of connections and of orders to workers."""
        counted, watchdog = self.counted, self._watchdog
        return {
            "calls": counted.calls,
            "took": [*zip((*BOUNDS, inf), counted.durations, strict=True)],
            "took_s": counted.spent_s,
            "tools": counted.tools,
            "tool_bounds": (*TOOL_BOUNDS, inf),
            "warnings": counted.warnings.copy(),
            "stalls": [*zip((*STALLS, inf), watchdog.counts, strict=True)],
            "stalled_s": watchdog.stalled_s,
            "longest_stall": watchdog.longest,
            "workers": (self._workers.orders, self._workers.killed),
            "refused": sum(one.refused for one in self._listeners),
            "flooded": sum(one.flooded for one in self._listeners),
        }

    async def close(self) -> None:
        """Export what is left."""
        self._watchdog.close()
        await self._telemetry.close()
