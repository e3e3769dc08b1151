"""The gate `tool_rate`: the limits of servers and tools, for those alone who may use them."""

from __future__ import annotations

from gatewright.call import Call, Caller, Refusal, Target
from gatewright.limits.gate import Rate
from gatewright.limits.meters import Meter, Rule
from gatewright.limits.polls import Polls
from gatewright.limits.tool_gate import ToolRate
from gatewright.limits.usage import MINUTE, Window, Windows
from gatewright.standing import NOTHING
from tests.gate_parts import Mute, a_call, a_tool, a_tool_call


def _rule(scope: str, limit: int) -> Rule:
    return Rule(scope, Windows([Window(limit, MINUTE)]))  # type: ignore[arg-type]


def gates(tool: int, caller: int = 100) -> tuple[Rate, ToolRate]:
    """The two gates, at a clock that stands."""
    callers = Meter([_rule("caller", caller)], lambda: 5 * MINUTE)
    targets = Meter([_rule("tool", tool), _rule("server", 4)], lambda: 5 * MINUTE)
    looks = Polls(lambda: 0.0)
    return Rate(callers, looks), ToolRate(targets, callers, looks)


async def _passes(both: tuple[Rate, ToolRate], call: Call) -> bool:
    return all(not isinstance(gate(call, Mute()), Refusal) for gate in both)


async def test_a_tool_has_one_limit_whoever_calls_it() -> None:
    """GRH-rate-5"""
    both = gates(2)
    calls = [a_tool_call(a_tool("echo"), caller=Caller(name)) for name in "abc"]
    assert [await _passes(both, call) for call in calls] == [True, True, False]
    assert await _passes(both, a_tool_call(a_tool("other")))


async def test_a_server_counts_its_tools_and_all_the_rest_of_it() -> None:
    both = gates(2)
    for name in ("one", "two"):
        assert await _passes(both, a_tool_call(a_tool(name)))
    prompt = a_call("prompt", "hello", method="prompts/get", target=Target("srv", "hello"))
    assert [await _passes(both, prompt) for _ in range(3)] == [True, True, False]


async def test_what_the_tool_refuses_costs_its_caller_nothing() -> None:
    both = gates(1, caller=3)
    echo = a_tool_call(a_tool("echo"))
    assert [await _passes(both, echo) for _ in range(50)] == [True] + [False] * 49
    assert [await _passes(both, a_tool_call(a_tool(name))) for name in "abc"] == [True, True, False]


async def test_what_has_no_target_is_nobodys_tool() -> None:
    _, gate = gates(1)
    call = a_call("list", "", method="tools/list")
    assert [gate(call, Mute()) is call for _ in range(5)] == [True] * 5
    assert await gate.rehearse(call) is call


async def test_the_record_says_which_limit_it_was() -> None:
    _, gate = gates(1)
    call = a_tool_call(a_tool(), facts={})
    assert await gate.rehearse(call) is call
    assert gate(call, Mute()) is call
    assert isinstance(gate(call, Mute()), Refusal)
    assert call.facts["limited_by"] == {
        "limit": 1,
        "window_secs": 60,
        "current": 2,
        "scope": "tool",
    }
    assert isinstance(await gate.rehearse(call), Refusal)


async def test_a_look_at_a_call_that_waits_is_not_counted_whoever_is_asked_first() -> None:
    """Where no caller has a limit, the gate `rate` is left out."""
    looks = Polls(lambda: 0.0)
    gate = ToolRate(Meter([_rule("tool", 1)], lambda: 0), Meter([], lambda: 0), looks)
    first, look = (a_tool_call(a_tool(), facts={}) for _ in range(2))
    assert gate(first, Mute()) is first
    with looks.held(first, "ap_1", 60.0):
        pass
    assert gate(look, Mute()) is look
    other = a_tool_call(a_tool(), facts={}, arguments={"n": 1})
    assert isinstance(gate(other, Mute()), Refusal)


async def test_where_nothing_is_counted_its_word_is_that_it_says_nothing() -> None:
    callers, looks = Meter([_rule("caller", 1)], lambda: 0), Polls(lambda: 0.0)
    here = Rule("tool", Windows([Window(1, MINUTE)]), door="ggen")
    gate = ToolRate(Meter([here], lambda: 0), callers, looks)
    assert gate.stands(a_tool_call(a_tool("echo"), door="http")) is NOTHING
    counted = gate.stands(a_tool_call(a_tool("echo"), door="ggen"))
    assert counted is not None
    assert counted.counts is not None


async def test_what_waits_of_one_caller_holds_up_no_prepared_call_of_another() -> None:
    looks, callers = Polls(lambda: 0.0), Meter([], lambda: 0)
    gate = ToolRate(Meter([_rule("tool", 9)], lambda: 0), callers, looks)
    asks, other = (a_tool_call(a_tool("echo"), caller=Caller(name), facts={}) for name in "ab")
    with looks.held(asks, "ap_1", 60.0):
        pass
    word = gate.stands(other)
    assert word is not None
    assert word.counts is not None
    assert [word.counts[0](one) for one in (other, asks)] == [True, False]
