"""What the gateway counts, in the words of `telemetry.endpoint.Numbers`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gatewright.app.metric_values import Numbers
from gatewright.telemetry.endpoint import Health


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


async def test_who_asks_whether_it_is_ready_pays_for_nothing_else() -> None:
    """Anybody may ask, without a credential and as often as they like."""

    def dear() -> dict[str, Any]:
        raise AssertionError("nobody asked for what features count")

    gone: Any = SimpleNamespace()
    there: Any = SimpleNamespace(states={"one": "connected"})
    sound: Any = SimpleNamespace(fault=None)
    numbers = Numbers(kernel=gone, supervisor=there, front=gone_front(), audit=sound, parts=[dear])
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await Health(numbers)("/readyz", send)
    assert sent[1]["body"] == b'{"ready":true,"audit":true}'
    assert numbers()["servers"] == {"one": "connected"}  # as telemetry asks, from a thread
    with pytest.raises(AssertionError):
        dict(numbers())


def gone_front() -> Any:
    return SimpleNamespace(standing={})
