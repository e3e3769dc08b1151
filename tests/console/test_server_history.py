"""What happened to a server, and the times it was up and down."""

from __future__ import annotations

import datetime as dt

import pytest

from gatewright.console.server_history import Span, Step, spans, window_of
from gatewright.servers.supervisor import REPLACED

NOW = 1_000_000.0


def step(ago: float, kind: str, why: str = "") -> Step:
    time = dt.datetime.fromtimestamp(NOW - ago, dt.UTC).isoformat()
    return Step(seq=int(NOW - ago), time=time, kind=kind, what=kind, by="", why=why)


UP, DOWN = "SERVER_CONNECTED", "SERVER_DISCONNECTED"


@pytest.mark.parametrize(
    ("steps", "up", "found"),
    [
        ([], True, [Span("up", 0.0, 1.0)]),
        ([], False, [Span("down", 0.0, 1.0)]),
        ([step(50, UP)], True, [Span("unknown", 0.0, 0.5), Span("up", 0.5, 0.5)]),
        ([step(25, DOWN), step(150, UP)], False, [Span("up", 0.0, 0.75), Span("down", 0.75, 0.25)]),
        (
            [step(25, DOWN), step(50, DOWN), step(75, UP)],
            False,
            [Span("unknown", 0.0, 0.25), Span("up", 0.25, 0.25), Span("down", 0.5, 0.5)],
        ),
        ([step(25, DOWN, REPLACED), step(150, UP)], True, [Span("up", 0.0, 1.0)]),
        ([step(25, "dev.gatewright.server.stopped")], True, [Span("up", 0.0, 1.0)]),
    ],
)
def test_spans_follow_what_is_recorded(steps: list[Step], up: bool, found: list[Span]) -> None:
    """A server that another connection serves meanwhile was never away."""
    assert spans(steps, NOW, 100.0, up=up) == found


@pytest.mark.parametrize(
    ("ago", "window"), [(0, 600), (700, 3600), (80_000, 86_400), (9e5, 604800)]
)
def test_the_window_has_all_steps_where_it_can(ago: float, window: float) -> None:
    assert window_of([step(ago, UP)], NOW) == window
