"""What the gateway counts, in the words of `telemetry.endpoint.Numbers`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from gatewright.app.numbers import Numbers


def test_what_features_count_stands_beside_what_the_spine_counts() -> None:
    doors = ("http", "http", "websocket", "http")
    parts: dict[str, Any] = {
        "kernel": SimpleNamespace(in_flight=5),
        "supervisor": SimpleNamespace(states={"one": "connected"}),
        "front": SimpleNamespace(
            standing={str(n): SimpleNamespace(door=door) for n, door in enumerate(doors)}
        ),
        "audit": SimpleNamespace(fault=None, written=7, lag=1),
    }
    numbers = Numbers(parts=[lambda: {"waiting": 2}], missing=["rooms"], **parts)()
    assert (numbers["in_flight"], numbers["waiting"], numbers["sessions"]) == (5, 2, 3)
    assert numbers["missing"] == ["rooms"]
    assert Numbers(parts=[], **parts)()["waiting"] == 0
