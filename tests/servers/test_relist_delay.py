"""A server that announces changes without end is looked at once a second; others at once."""

from __future__ import annotations

import pytest

from gatewright.servers.relist_delay import AT_ONCE, DEBOUNCE_S, EACH_S, Pace


def test_looks_are_not_slowed_down_until_there_are_many() -> None:
    pace = Pace()
    assert [pace.take(100.0 + number * 0.05) for number in range(AT_ONCE)] == [DEBOUNCE_S] * AT_ONCE
    assert pace.take(100.95) > DEBOUNCE_S


def test_changes_without_end_are_looked_at_once_a_second() -> None:
    pace, now, looks = Pace(), 0.0, 0
    while now < 600:
        now += pace.take(now)
        looks += 1
    assert looks == pytest.approx(600 / EACH_S + AT_ONCE, abs=2)


def test_time_without_changes_gives_looks_back() -> None:
    pace = Pace()
    for _ in range(AT_ONCE * 2):
        pace.take(0.0)
    assert pace.take(5.0) > EACH_S
    assert pace.take(5.0 + 3 * AT_ONCE * EACH_S) == DEBOUNCE_S
