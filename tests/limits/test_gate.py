"""The gate `rate`: the limits of callers and keys, as refusals."""

from __future__ import annotations

from gatewright.call import Call, Caller, Refusal
from gatewright.limits.gate import Rate
from gatewright.limits.list_allowance import AT_ONCE, ListAllowance
from gatewright.limits.meters import Meter, Rule
from gatewright.limits.polls import Polls
from gatewright.limits.usage import MINUTE, Window, Windows
from gatewright.standing import NOTHING
from tests.gate_parts import Mute, a_call


def gate(limit: int | None) -> Rate:
    """So many calls a minute for each caller, at a clock that stands."""
    windows = Windows([] if limit is None else [Window(limit, MINUTE)])
    return Rate(Meter([Rule("caller", windows)], lambda: 5 * MINUTE), Polls(lambda: 0.0))


async def _passes(rate: Rate, caller: str = "a") -> bool:
    return isinstance(rate(a_call(caller=Caller(caller)), Mute()), Call)


async def test_without_a_limit_the_gate_is_idle_and_lets_everything_pass() -> None:
    rate, call = gate(None), a_call()
    assert rate.idle
    assert [rate(call, Mute()) is call for _ in range(100)] == [True] * 100
    assert not gate(1).idle


async def test_the_limit_can_be_used_at_once_and_the_next_call_is_refused() -> None:
    """MGP-14.3-10"""
    rate = gate(10)
    assert [await _passes(rate) for _ in range(12)] == [True] * 10 + [False] * 2


async def test_a_refusal_says_the_limit_and_the_wait_and_so_does_the_record() -> None:
    """MGP-14.5-1, as far as the limiter knows it."""
    rate = gate(10)
    for _ in range(10):
        await _passes(rate)
    call = a_call(caller=Caller("a"), facts={})
    found = rate(call, Mute())
    details = {"limit": 10, "window_secs": 60, "current": 11, "scope": "caller"}
    assert isinstance(found, Refusal)
    assert (found.reason, found.retry_after_ms, found.details) == ("rate_limited", 60_000, details)
    assert call.facts == {"limited_by": details}


async def test_callers_do_not_spend_what_belongs_to_others() -> None:
    rate = gate(1)
    assert [await _passes(rate, name) for name in "aab"] == [True, False, True]


async def test_a_rehearsal_says_what_the_next_call_would_hear_and_is_not_counted() -> None:
    rate = gate(2)
    call = a_call(caller=Caller("a"))
    for _ in range(5):
        assert await rate.rehearse(call) is call
    assert [await _passes(rate), await _passes(rate)] == [True, True]
    assert await rate.rehearse(call) == rate(call, Mute())
    assert await gate(None).rehearse(call) is call


async def test_a_look_at_a_call_that_waits_is_neither_counted_nor_refused() -> None:
    """The limit is used up by the call that waits."""
    looks = Polls(lambda: 0.0)
    rate = Rate(Meter([Rule("caller", Windows([Window(1, MINUTE)]))], lambda: 0), looks)
    first, look = a_call(facts={}), a_call(facts={})
    assert rate(first, Mute()) is first
    with looks.held(first, "ap_1", 60.0):
        pass
    assert rate(look, Mute()) is look
    assert isinstance(rate(a_call(name="other", facts={}), Mute()), Refusal)


async def test_lists_spend_nothing_and_who_lists_without_end_pays_for_it() -> None:
    """Gates are pure: time stands."""
    rate = Rate(gate(2).meter, Polls(lambda: 0.0), ListAllowance(lambda: 0.0))
    lists = [
        rate(a_call("list", method="tools/list", caller=Caller("a")), Mute())
        for _ in range(AT_ONCE + 3)
    ]
    assert [isinstance(one, Call) for one in lists] == [True] * (AT_ONCE + 2) + [False]
    assert not await _passes(rate)
    assert await _passes(rate, "b")


async def test_an_agent_does_not_spend_what_belongs_to_an_operator_of_its_name() -> None:
    rate = gate(1)
    agent, operator = (a_call(caller=Caller("local", kind)) for kind in ("agent", "operator"))
    assert [isinstance(rate(one, Mute()), Call) for one in (agent, agent, operator)] == [
        True,
        False,
        True,
    ]
    assert isinstance(await rate.rehearse(operator), Refusal)


async def test_a_limit_for_a_caller_is_said_by_its_name_alone() -> None:
    narrow = Rule("caller", Windows(), {"a": Windows([Window(1, MINUTE)])})
    rate = Rate(Meter([narrow], lambda: 5 * MINUTE), Polls(lambda: 0.0))
    assert [await _passes(rate, name) for name in "aabb"] == [True, False, True, True]


async def test_where_nothing_is_counted_its_word_is_that_it_says_nothing() -> None:
    windows, looks = Windows([Window(1, MINUTE)]), Polls(lambda: 0.0)
    rate = Rate(Meter([Rule("caller", windows, door="ggen")], lambda: 0), looks)
    assert rate.stands(a_call(door="http")) is NOTHING
    counted = rate.stands(a_call(door="ggen"))
    assert counted is not None
    assert counted.counts is not None


async def test_what_waits_of_one_caller_holds_up_no_prepared_call_of_another() -> None:
    now = [0.0]
    looks = Polls(lambda: now[0])
    rate = Rate(Meter([Rule("caller", Windows([Window(9, MINUTE)]))], lambda: 0), looks)
    asks, other = (a_call(caller=Caller(name), facts={}) for name in "ab")
    with looks.held(asks, "ap_1", 60.0):
        pass
    word = rate.stands(other)
    assert word is not None
    assert word.counts is not None
    # Each of its own may be a look, until nothing waits any more.
    assert [word.counts[0](one) for one in (other, asks)] == [True, False]
    now[0] = 60.0
    assert word.counts[0](asks)
