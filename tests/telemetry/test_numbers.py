"""What the gateway counts, in the words of `telemetry.endpoint.Numbers`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gatewright.call import Caller
from gatewright.telemetry.endpoint import Collected, Health
from gatewright.telemetry.metrics import CallCounts
from gatewright.telemetry.numbers import Numbers
from gatewright.telemetry.watchdog import Watchdog


def numbers_of(**parts: Any) -> Numbers:
    """Of a gateway that has these parts alone; whatever else is asked for raises `AttributeError`."""
    names = ("kernel", "supervisor", "front", "queue", "audit", "sinks", "workers")
    every: dict[str, Any] = {name: SimpleNamespace() for name in names}
    every |= {"counted": SimpleNamespace(calls={}, warnings={}), "watchdog": SimpleNamespace()}
    every |= {"listeners": [], "front": SimpleNamespace(standing={}), **parts}
    every["sinks"] = SimpleNamespace(states=dict)
    return Numbers(**every)


async def test_who_asks_whether_it_is_ready_pays_for_nothing_else() -> None:
    """Anybody may ask, without a credential and as often as they like."""
    supervisor = SimpleNamespace(states={"one": "connected"})
    numbers = numbers_of(supervisor=supervisor, audit=SimpleNamespace(fault=None))
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await Health(numbers)("/readyz", send)
    assert sent[1]["body"] == b'{"ready":true,"audit":true}'
    known: Any = SimpleNamespace(sight=SimpleNamespace(server=lambda *_: True))
    await Health(numbers, lambda: known)("/readyz", send, Caller("ann"))
    assert sent[3]["body"] == b'{"ready":true,"audit":true,"servers":{"one":"connected"}}'
    assert numbers()["servers"] == {"one": "connected"}  # as telemetry asks, from a thread
    with pytest.raises(AttributeError):
        dict(numbers())


def test_what_was_counted_stays_as_it_was_when_it_was_asked_for() -> None:
    counts = CallCounts()
    numbers = numbers_of(counted=counts)()
    calls, warnings = numbers["calls"], numbers["warnings"]
    counts.calls["tool", "success"] += 1
    counts.warnings["tool", "slow_execution"] += 1
    assert (calls, warnings) == ({}, {})


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
