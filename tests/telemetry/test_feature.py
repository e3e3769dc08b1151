"""What telemetry counts, for `/metrics`."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

from gatewright.telemetry.endpoint import Collected
from gatewright.telemetry.feature import TelemetryFeature
from tests.feature_parts import ground

SPINE = {
    "servers": {},
    "sessions": 0,
    "in_flight": 0,
    "waiting": 0,
    "audit_ok": True,
    "audit_written": 0,
    "audit_lag": 0,
    "audit_sinks": {},
}


async def test_every_number_that_metrics_show_is_gathered(tmp_path: Path) -> None:
    on = ground(
        tmp_path,
        listeners=[SimpleNamespace(refused=2, flooded=3)],
        workers=SimpleNamespace(orders=4, killed=1),
    )
    numbers = SPINE | dict(TelemetryFeature(on).numbers())
    assert (numbers["workers"], numbers["longest_stall"]) == ((4, 1), None)
    assert (numbers["refused"], numbers["flooded"]) == (2, 3)
    names = {one.name for one in Collected(numbers).collect()}
    assert {"gatewright_loop_stall_seconds", "gatewright_worker_kills"} <= names
    assert {"gatewright_connections_refused", "gatewright_websockets_flooded"} <= names
