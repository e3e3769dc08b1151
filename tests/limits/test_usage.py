"""How often somebody used something: never more than the limit in any window, and the wait that is named is the wait."""

from __future__ import annotations

import random
from bisect import bisect_right

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gatewright.limits.usage import DAY, HOUR, MINUTE, SECOND, Usage, Window, Windows

START = 5 * DAY
SPANS = (SECOND, MINUTE, HOUR, DAY)

windows = st.lists(
    st.builds(Window, st.integers(1, 40), st.sampled_from(SPANS)), min_size=1, max_size=4
)


def takes(usage: Usage, among: Windows, now: int) -> int:
    """Count one call: 0 where it may come, else how many nanoseconds it has to wait."""
    if not usage.spare:
        full = usage.look(among, now)
        if full is not None:
            assert full.wait > 0
            return full.wait
    usage.spare -= 1
    usage.times.append(now)
    return 0


def most_within(times: list[int], span: int) -> int:
    """The most calls that any stretch of that length holds."""
    return max(
        (number + 1 - bisect_right(times, one - span) for number, one in enumerate(times)),
        default=0,
    )


@settings(max_examples=150, deadline=None)
@given(windows, st.integers(0, 2**32))
def test_no_stretch_of_a_windows_length_holds_more_than_its_limit(
    among: list[Window], seed: int
) -> None:
    """GRH-rate-2, -4, -6: 601 calls in a minute are one too many, however they are spread."""
    dice = random.Random(seed)
    usage, held, now = Usage(), Windows(among), START
    passed: list[int] = []
    for _ in range(300):
        now += int(dice.choice((0, 1, SECOND // 20, SECOND, MINUTE / 3, HOUR / 5)) * dice.random())
        wait = takes(usage, held, now)
        if wait and dice.random() < 0.3:
            now += wait
            wait = takes(usage, held, now)
        if not wait:
            passed.append(now)
    for window in among:
        assert most_within(passed, window.span) <= window.limit


@settings(max_examples=200, deadline=None)
@given(windows, st.integers(0, 2**32))
def test_after_the_wait_a_call_may_come_and_one_per_cent_earlier_it_may_not(
    among: list[Window], seed: int
) -> None:
    """Thousands of refusals by random limits after random schedules. GGEN-auth-9."""
    dice = random.Random(seed)
    usage, held, now = Usage(), Windows(among), START
    for _ in range(60):
        now += int(dice.choice((0, SECOND / 10, SECOND, MINUTE, HOUR)) * dice.random())
        wait = takes(usage, held, now)
        if wait:
            assert takes(usage, held, now + wait * 99 // 100) > 0
            assert takes(usage, held, now + wait - 1) == 1
            now += wait
            assert takes(usage, held, now) == 0


@pytest.mark.parametrize("limit", [1, 2, 10, 60, 1000, 60_000])
@pytest.mark.parametrize("span", SPANS)
def test_exactly_the_limit_may_come_at_once_and_again_when_the_window_is_over(
    limit: int, span: int
) -> None:
    """GRH-rate-1: of 1001 at once one is refused."""
    usage, held = Usage(), Windows([Window(limit, span)])
    for now in (START, START + span, START + 3 * span):
        assert sum(takes(usage, held, now) == 0 for _ in range(limit + 2)) == limit


@pytest.mark.parametrize(("limit", "span"), [(600, MINUTE), (1000, SECOND), (3600, HOUR)])
def test_ten_times_too_many_calls_get_the_limit_within_two_per_cent(limit: int, span: int) -> None:
    """Fault test 19."""
    usage, held = Usage(), Windows([Window(limit, span)])
    step = span // limit // 10
    passed = sum(takes(usage, held, START + n * step) == 0 for n in range(100 * limit))
    assert 10 * limit * 0.98 <= passed <= 10 * limit


def test_a_single_call_leaves_a_long_window_to_the_nanosecond() -> None:
    usage, held = Usage(), Windows([Window(1, HOUR)])
    assert takes(usage, held, START) == 0
    assert takes(usage, held, START + 7) == HOUR - 7


def test_of_two_full_windows_the_one_that_takes_longer_is_named() -> None:
    usage, held = Usage(), Windows([Window(2, SECOND), Window(2, MINUTE), Window(9, HOUR)])
    assert [takes(usage, held, START) for _ in range(2)] == [0, 0]
    full = usage.look(held, START + 1)
    assert full is not None
    assert (full.window, full.wait, full.used) == (Window(2, MINUTE), MINUTE - 1, 2)


@pytest.mark.parametrize(
    "among", [[Window(3, MINUTE)], [Window(3, HOUR)], [Window(3, SECOND), Window(3, DAY)]]
)
@pytest.mark.parametrize("looks", [False, True])
def test_a_call_that_is_taken_back_is_room_for_another(among: list[Window], looks: bool) -> None:
    usage, held = Usage(), Windows(among)
    for _ in range(3):
        assert takes(usage, held, START) == 0
    if looks:
        assert usage.look(held, START) is not None
    for _ in range(2):
        usage.take_back()
        assert takes(usage, held, START) == 0
        assert takes(usage, held, START) > 0


def test_taking_back_what_never_was_changes_nothing_that_counts() -> None:
    usage, held = Usage(), Windows([Window(1, HOUR)])
    usage.take_back()
    usage.spare = 0
    assert takes(usage, held, START) == 0
    assert takes(usage, held, START) > 0


def test_other_windows_go_on_with_what_was_used() -> None:
    usage = Usage()
    first = Windows([Window(5, MINUTE), Window(8, HOUR)])
    for _ in range(5):
        assert takes(usage, first, START) == 0
    usage.spare = 0
    wider = Windows([Window(6, MINUTE), Window(7, HOUR)])
    assert takes(usage, wider, START + 1) == 0
    assert takes(usage, wider, START + 1) == MINUTE - 1
    usage.spare = 0
    tighter = Windows([Window(2, HOUR), Window(6, DAY)])
    assert takes(usage, tighter, START + 2) > HOUR - MINUTE


def test_little_is_kept_of_many_calls() -> None:
    """Limits of a million an hour do not keep a million times."""
    usage, held = Usage(), Windows([Window(100, SECOND), Window(1_000_000, HOUR)])
    for n in range(200_000):
        assert takes(usage, held, START + n * SECOND // 50) == 0
    assert len(usage.times) <= 100 + 2 * 1024
    assert sum(len(slots.ends) for slots in usage._slots.values()) <= 241


def test_the_last_call_is_known_for_as_long_as_it_counts() -> None:
    usage, held = Usage(), Windows([Window(2, HOUR)])
    assert usage.last < 0
    assert usage.held == 0
    assert takes(usage, held, START) == 0
    assert usage.last == START
    usage.look(held, START + MINUTE)
    assert (usage.last, usage.held) == (START, 1)


def test_no_windows_are_no_limit() -> None:
    assert not Windows()
    assert Windows().span == 0
    assert Windows([Window(1, MINUTE), Window(1, DAY)]).span == DAY


def test_a_standing_agrees_with_what_a_look_says() -> None:
    windows = Windows([Window(3, MINUTE), Window(5, DAY)])
    usage = Usage()
    assert [(one.used, one.next_in, one.empty_in) for one in usage.standing(windows, 0)] == [
        (0, 0, 0)
    ] * 2
    for moment in (0, 10 * SECOND, 20 * SECOND):
        usage.times.append(moment)
    minute, day = usage.standing(windows, 30 * SECOND)
    assert (minute.used, minute.next_in, minute.empty_in) == (3, 30 * SECOND, 50 * SECOND)
    full = usage.look(windows, 30 * SECOND)
    assert full is not None
    assert full.wait == minute.next_in
    assert (day.used, day.next_in) == (3, 0)
    minute, day = usage.standing(windows, 75 * SECOND)
    assert (minute.used, minute.next_in, day.used) == (1, 0, 3)
