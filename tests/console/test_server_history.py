"""What happened to a server, and the times it was up and down."""

from __future__ import annotations

import datetime as dt

import pytest

from gatewright.console.server_history import Span, Step, spans, window_of, with_turns
from gatewright.console.server_traffic import Turn
from gatewright.servers.states import State
from gatewright.servers.supervisor import REPLACED

NOW = 1_000_000.0


def step(ago: float, kind: str, why: str = "") -> Step:
    time = dt.datetime.fromtimestamp(NOW - ago, dt.UTC).isoformat()
    state = {UP: "connected", DOWN: "disconnected"}.get(kind, "") if why != REPLACED else ""
    return Step(seq=int(NOW - ago), time=time, kind=kind, what=kind, by="", why=why, state=state)


UP, DOWN = "SERVER_CONNECTED", "SERVER_DISCONNECTED"


@pytest.mark.parametrize(
    ("steps", "state", "found"),
    [
        ([], "connected", [Span("connected", 0.0, 1.0)]),
        ([], "disconnected", [Span("disconnected", 0.0, 1.0)]),
        ([step(50, UP)], "connected", [Span("unknown", 0.0, 0.5), Span("connected", 0.5, 0.5)]),
        (
            [step(25, DOWN), step(150, UP)],
            "disconnected",
            [Span("connected", 0.0, 0.75), Span("disconnected", 0.75, 0.25)],
        ),
        (
            [step(25, DOWN), step(50, DOWN), step(75, UP)],
            "disconnected",
            [
                Span("unknown", 0.0, 0.25),
                Span("connected", 0.25, 0.25),
                Span("disconnected", 0.5, 0.5),
            ],
        ),
        ([step(25, DOWN, REPLACED), step(150, UP)], "connected", [Span("connected", 0.0, 1.0)]),
        ([step(25, "dev.gatewright.server.stopped")], "connected", [Span("connected", 0.0, 1.0)]),
    ],
)
def test_spans_follow_what_is_recorded(steps: list[Step], state: State, found: list[Span]) -> None:
    """A server that another connection serves meanwhile was never away."""
    assert spans(steps, NOW, 100.0, state=state) == found


@pytest.mark.parametrize(
    ("ago", "window"), [(0, 600), (700, 3600), (80_000, 86_400), (9e5, 604800)]
)
def test_the_window_has_all_steps_where_it_can(ago: float, window: float) -> None:
    assert window_of([step(ago, UP)], NOW) == window


def test_states_that_are_in_no_record_stand_between_those_that_are() -> None:
    turns = [
        Turn(NOW - 75, "connecting", "start"),
        Turn(NOW - 74.5, "connected", "started"),
        Turn(NOW - 30, "draining", "operator_request"),
        Turn(NOW - 25, "disconnected", "drained"),
    ]
    found = with_turns([step(74, UP)], turns)
    assert [(one.what, one.why) for one in found] == [
        ("disconnected", "drained"),
        ("draining", "operator request"),
        (UP, ""),  # told by the record, and not twice
        ("connecting", "start"),
    ]
    shown = spans(found, NOW, 100.0, state="disconnected")
    assert [one.state for one in shown] == [
        "unknown",
        "connecting",
        "connected",
        "draining",
        "disconnected",
    ]
