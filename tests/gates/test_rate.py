"""The gate `rate`: so many calls a minute for each caller, and an exact wait."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.call import Call, Caller, Refusal
from gatewright.gates.rate import Rate
from tests.gates.parts import Mute, a_call

MINUTE = 60_000_000_000


class Clock:
    """Nanoseconds that only the test moves."""

    now = 5 * MINUTE

    def __call__(self) -> int:
        return self.now


async def _passes(gate: Rate, caller: str = "a") -> bool:
    return isinstance(await gate(a_call(caller=Caller(caller)), Mute()), Call)


async def _wait(gate: Rate) -> int:
    found = await gate(a_call(caller=Caller("a")), Mute())
    assert isinstance(found, Refusal)
    assert found.retry_after_ms is not None
    return found.retry_after_ms


async def test_without_a_limit_nothing_is_counted() -> None:
    gate = Rate(None, Clock())
    call = a_call()
    assert all([await gate(call, Mute()) is call for _ in range(10_000)])


async def test_the_limit_can_be_used_at_once_and_the_next_call_is_refused() -> None:
    """MGP-14.3-10"""
    gate = Rate(10, Clock())
    assert [await _passes(gate) for _ in range(12)] == [True] * 10 + [False] * 2


async def test_a_refusal_says_the_limit_and_the_wait() -> None:
    """MGP-14.5-1, as far as the limiter knows it."""
    gate = Rate(10, Clock())
    for _ in range(10):
        await _passes(gate)
    found = await gate(a_call(caller=Caller("a")), Mute())
    assert isinstance(found, Refusal)
    assert found.reason == "rate_limited"
    assert found.retry_after_ms == 6000
    assert found.details == {"limit": 10, "window_secs": 60, "current": 11}


async def test_callers_do_not_spend_what_belongs_to_others() -> None:
    gate = Rate(1, Clock())
    assert await _passes(gate, "a")
    assert not await _passes(gate, "a")
    assert await _passes(gate, "b")


async def test_a_refused_call_costs_nothing() -> None:
    clock = Clock()
    gate = Rate(1, clock)
    assert await _passes(gate)
    for _ in range(100):
        assert not await _passes(gate)
    clock.now += MINUTE
    assert await _passes(gate)


async def test_an_idle_caller_does_not_save_up_more_than_a_minute() -> None:
    clock = Clock()
    gate = Rate(10, clock)
    clock.now += 100 * MINUTE
    assert [await _passes(gate) for _ in range(11)] == [True] * 10 + [False]


@given(
    limit=st.integers(1, 150),
    pauses=st.lists(st.integers(0, MINUTE), max_size=20),
)
async def test_the_wait_it_names_is_exact_to_the_millisecond(limit: int, pauses: list[int]) -> None:
    clock = Clock()
    gate = Rate(limit, clock)
    for pause in pauses:
        clock.now += pause
        await _passes(gate)
    while await _passes(gate):
        pass
    wait = await _wait(gate)
    clock.now += (wait - 1) * 1_000_000
    before = await _passes(gate)
    clock.now += 1_000_000
    assert not before
    assert await _passes(gate)


@given(limit=st.integers(1, 50), gaps=st.lists(st.integers(0, MINUTE // 4), max_size=300))
async def test_in_the_long_run_nobody_gets_more_than_the_limit(limit: int, gaps: list[int]) -> None:
    clock = Clock()
    gate = Rate(limit, clock)
    begin = clock.now
    passed = 0
    for gap in gaps:
        clock.now += gap
        passed += await _passes(gate)
    allowed = limit + (clock.now - begin) * limit / MINUTE
    assert passed <= allowed + 1


async def test_callers_who_owe_nothing_are_forgotten() -> None:
    clock = Clock()
    gate = Rate(60, clock)
    for n in range(5000):
        clock.now += 1_000_000_000
        assert await _passes(gate, f"caller {n}")
    assert len(gate._paid) < 2048


@pytest.mark.parametrize("calls", [1, 3, 7, 59, 61, 1000, 99_999])
async def test_exactly_the_limit_fits_into_a_fresh_minute(calls: int) -> None:
    gate = Rate(calls, Clock())
    assert sum([await _passes(gate) for _ in range(calls + 5)]) == calls
