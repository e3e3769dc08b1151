"""What the gateway counts, in the words of `telemetry.endpoint.Numbers`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from gatewright.telemetry.endpoint import Collected
from gatewright.telemetry.metrics import CallCounts
from gatewright.telemetry.numbers import Numbers
from gatewright.telemetry.watchdog import Watchdog


def test_every_number_that_metrics_show_is_gathered() -> None:
    doors = ("http", "http", "websocket", "http")
    parts: dict[str, Any] = {
        "kernel": SimpleNamespace(in_flight=5),
        "supervisor": SimpleNamespace(states={"one": "connected"}),
        "front": SimpleNamespace(
            standing={str(n): SimpleNamespace(door=door) for n, door in enumerate(doors)}
        ),
        "queue": SimpleNamespace(waiting=2),
        "audit": SimpleNamespace(fault=None, written=7, lag=1),
        "sinks": SimpleNamespace(states=dict),
        "listeners": [SimpleNamespace(refused=2, flooded=3)],
        "workers": SimpleNamespace(orders=4, killed=1),
    }
    numbers = Numbers(counted=CallCounts(), watchdog=Watchdog(0.1), **parts)()
    assert (numbers["in_flight"], numbers["waiting"], numbers["sessions"]) == (5, 2, 3)
    assert (numbers["workers"], numbers["longest_stall"]) == ((4, 1), None)
    assert (numbers["refused"], numbers["flooded"]) == (2, 3)
    names = {one.name for one in Collected(numbers).collect()}
    assert {"gatewright_loop_stall_seconds", "gatewright_worker_kills"} <= names
    assert {"gatewright_connections_refused", "gatewright_websockets_flooded"} <= names
