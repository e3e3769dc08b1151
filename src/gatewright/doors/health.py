"""`/livez`, `/readyz` and `/metrics`: is the process alive, does it serve, what has it done."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from gatewright.doors.http_reply import Send, send_json, send_plain
from gatewright.doors.http_request import HttpRequest
from gatewright.wire import jsonrpc

__all__ = ["Health", "Numbers"]

Numbers = Callable[[], Mapping[str, Any]]
"""What the gateway counts: `servers` (id → state), `calls` ((kind, outcome) → count), `sessions`,
`audit_ok`, `in_flight`."""


class Health:
    """Answers the three paths."""

    def __init__(self, numbers: Numbers) -> None:
        self._numbers = numbers
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)

    async def __call__(self, path: str, send: Send) -> None:
        """`/livez` or `/readyz`."""
        if path == "/livez":
            await send_plain(send, 200, b"ok\n")
            return
        numbers = self._numbers()
        servers = numbers["servers"]
        settled = all(state not in ("registered", "connecting") for state in servers.values())
        ready = settled and numbers["audit_ok"]
        body = jsonrpc.encode(
            {"ready": ready, "audit": bool(numbers["audit_ok"]), "servers": dict(servers)}
        )
        await send_json(send, body, 200 if ready else 503)

    async def metrics(self, http: HttpRequest) -> None:
        """The Prometheus text form."""
        await send_plain(
            http.send,
            200,
            generate_latest(self._registry),
            content_type=b"text/plain; version=0.0.4; charset=utf-8",
        )

    def collect(self) -> list[Metric]:
        """The metrics of this moment, for the registry."""
        numbers = self._numbers()
        calls = CounterMetricFamily(
            "gatewright_calls", "Calls by kind and outcome.", labels=("kind", "outcome")
        )
        for (kind, outcome), count in sorted(numbers["calls"].items()):
            calls.add_metric((kind, outcome), count)
        states = GaugeMetricFamily(
            "gatewright_server_state", "1 for the state a server is in.", labels=("server", "state")
        )
        for server, state in sorted(numbers["servers"].items()):
            states.add_metric((server, state), 1)
        return [
            calls,
            states,
            _gauge("gatewright_sessions", "HTTP sessions that are open.", numbers["sessions"]),
            _gauge("gatewright_calls_in_flight", "Calls that are running.", numbers["in_flight"]),
            _gauge(
                "gatewright_audit_up",
                "1 while the audit trail can be written.",
                numbers["audit_ok"],
            ),
        ]


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, text, value=float(value))
