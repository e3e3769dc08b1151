"""Who has no MGP hears of progress in the words of MCP."""

from __future__ import annotations

import math
from typing import Any

import pytest

from gatewright.call import Event, Question
from gatewright.mcp.server.plain_progress import PROGRESS, PlainProgress, fraction_of, number_of
from tests.mcp.server.test_open_call import Reader


async def test_a_plain_client_hears_progress_in_mcps_words() -> None:
    reader = Reader()
    plain = PlainProgress(reader)
    plain.emit(Event(PROGRESS, {"request_id": 1, "progress": 0.5, "message": "half"}))
    plain.emit(Event(PROGRESS, {"progress": 0.25}))
    plain.emit(Event("notifications/message", {}))
    assert reader.of("notifications/progress") == [
        {"progress": 0.5, "total": 1, "message": "half"},
        {"progress": 0.5, "total": 1},
    ]
    assert await plain.ask(Question("x")) == {"asked": "x"}


@pytest.mark.parametrize(
    ("value", "number", "fraction"),
    [
        (0.25, 0.25, 0.25),
        (3, 3.0, 1.0),
        (-1, 0.0, 0.0),
        (True, 0.0, 0.0),
        ("1", 0.0, 0.0),
        (None, 0.0, 0.0),
        (math.nan, 0.0, 0.0),
        (math.inf, 0.0, 0.0),
        (10**400, 0.0, 0.0),
    ],
)
def test_what_is_no_number_is_no_progress(value: Any, number: float, fraction: float) -> None:
    assert (number_of(value), fraction_of(value)) == (number, fraction)
