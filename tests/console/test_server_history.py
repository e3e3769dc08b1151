"""What happened to a server, and the times it was up and down."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from gatewright.audit.records import Subject
from gatewright.console.server_history import (
    Span,
    Step,
    history,
    spans,
    times,
    window_of,
    with_turns,
)
from gatewright.console.server_traffic import Turn
from gatewright.servers.states import State
from gatewright.servers.supervisor import REPLACED
from tests.audit.parts import a_log

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


@pytest.mark.parametrize(
    ("parts", "window", "said"),
    [
        ([("unknown", 511.5), ("error", 88.5)], 600, ["8 min 32 s", "1 min 28 s"]),
        ([("connected", 599.9), ("error", 0.1)], 600, ["10 min", "under 1 s"]),
        ([("connected", 30), ("error", 60), ("connected", 510)], 600, ["9 min", "1 min"]),
        ([("connected", 20_000), ("error", 1_600)], 21_600, ["5 h 33 min", "27 min"]),
        ([("connected", 600_000), ("error", 4_800)], 604_800, ["6 d 23 h", "1 h"]),
    ],
)
def test_times_in_states_add_up_to_all_that_is_shown(
    parts: list[tuple[Any, float]], window: float, said: list[str]
) -> None:
    shown = [Span(state, 0.0, lasts / window) for state, lasts in parts]
    found = times(shown, window)
    assert list(found) == list(dict.fromkeys(state for state, _ in parts))
    assert [*found.values()] == said


def test_the_end_of_a_connection_that_another_replaced_is_no_state(tmp_path: Path) -> None:
    log = a_log(tmp_path)
    log.event(DOWN, target=Subject("words"), details={"reason": REPLACED})
    log.event(DOWN, target=Subject("words"), details={"reason": "it broke"})
    log.finish()
    found = history(tmp_path, "words", 9, "2000-01-01T00:00:00.000Z")
    assert [(one.what, one.state) for one in found] == [
        ("disconnected", "disconnected"),
        ("former connection ended", ""),
    ]


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


def test_a_record_that_comes_late_is_of_the_state_before_it() -> None:
    """On a machine that has much to do it is written seconds after; another connection after the next state is another one."""
    turns = [
        Turn(NOW - 75, "connected", "started"),
        Turn(NOW - 30, "disconnected", "drained"),
        Turn(NOW - 20, "connected", "operator_request"),
    ]
    found = with_turns([step(70, UP), step(14, UP)], turns)
    assert [one.what for one in found] == [UP, "disconnected", UP]
    found = with_turns([step(14, UP)], turns)
    assert [one.what for one in found] == [UP, "disconnected", "connected"]
