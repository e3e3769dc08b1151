"""What the gateway counts, in the words of `telemetry.endpoint.Numbers`."""

from __future__ import annotations

from types import SimpleNamespace

from gatewright.telemetry.endpoint import Collected
from gatewright.telemetry.metrics import Counted
from gatewright.telemetry.numbers import Numbers
from gatewright.telemetry.watchdog import Watchdog


def test_every_number_that_metrics_show_is_gathered() -> None:
    gateway = SimpleNamespace(
        counted=Counted(),
        supervisor=SimpleNamespace(states={"one": "connected"}),
        desk=SimpleNamespace(waiting=2),
        app=SimpleNamespace(streamable=SimpleNamespace(sessions=[1, 2, 3])),
        audit=SimpleNamespace(fault=None, written=7, lag=1),
        sinks=SimpleNamespace(states=dict),
        watchdog=Watchdog(0.1),
        listener=SimpleNamespace(refused=2, flooded=3),
        groundhog=SimpleNamespace(listener=None),
        beside=SimpleNamespace(workers=SimpleNamespace(orders=4, killed=1)),
    )
    numbers = Numbers(gateway, lambda: 5)()
    assert (numbers["in_flight"], numbers["waiting"], numbers["sessions"]) == (5, 2, 3)
    assert (numbers["workers"], numbers["longest_stall"]) == ((4, 1), None)
    assert (numbers["refused"], numbers["flooded"]) == (2, 3)
    names = {one.name for one in Collected(numbers).collect()}
    assert {"gatewright_loop_stall_seconds", "gatewright_worker_kills"} <= names
    assert {"gatewright_connections_refused", "gatewright_websockets_flooded"} <= names
