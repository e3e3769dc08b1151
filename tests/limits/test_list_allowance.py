"""Looks at lists are free up to a rate, each caller's own, in bounded memory."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gatewright.limits.list_allowance import AT_ONCE, EVERY_S, KEPT, ListAllowance


def test_so_many_are_free_at_once_and_then_one_each_so_often() -> None:
    now = [100.0]
    allowance = ListAllowance(lambda: now[0])
    assert [allowance.take("ann") for _ in range(AT_ONCE + 2)] == [True] * AT_ONCE + [False] * 2
    assert allowance.take("bob")
    now[0] += EVERY_S
    assert [allowance.take("ann") for _ in range(2)] == [True, False]


@given(st.lists(st.floats(0, 20), min_size=1, max_size=400))
def test_no_stretch_of_time_has_more_free_ones_than_promised(steps: list[float]) -> None:
    now, free = [0.0], []
    allowance = ListAllowance(lambda: now[0])
    for step in steps:
        now[0] += step / 20
        if allowance.take("ann"):
            free.append(now[0])
    for first in range(len(free)):
        spent = free[-1] - free[first]
        assert len(free) - first <= AT_ONCE + spent / EVERY_S + 1


def test_memory_has_a_bound_and_who_pays_off_is_not_forgotten_first() -> None:
    now = [0.0]
    allowance = ListAllowance(lambda: now[0])
    for number in range(KEPT - 1):
        allowance.take(number)
    now[0] += 10 * EVERY_S
    while allowance.take("busy"):
        pass
    allowance.take("new")
    assert not allowance.take("busy")
    for number in range(3 * KEPT):
        allowance.take(("many", number))
    assert len(allowance._due) <= KEPT
