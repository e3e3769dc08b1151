"""The caches of sessions, and a context that never takes more than its budget."""

from __future__ import annotations

import random
from collections import OrderedDict
from typing import Any

import pytest
from msgspec.structs import replace

from gatewright.call import ANONYMOUS, KERNEL, Answer, Call, Caller, Failure, UserContext
from gatewright.config import Discovery
from gatewright.discovery.sessions import ALL, SESSIONS, TOOLS, Context, Sessions
from tests.gate_parts import a_call, a_tool, a_tool_call

COSTS = {f"t{n}": 37 * n % 900 + 20 for n in range(60)}


def context(used: OrderedDict[str, None], *pinned: str, **budget: Any) -> Context:
    return Context(Discovery(**budget), COSTS.get, pinned, used)


def used(*tools: str) -> OrderedDict[str, None]:
    return OrderedDict.fromkeys(tools)


def test_the_least_recently_used_is_let_go_first() -> None:
    tools = used("t1", "t2", "t3")
    assert context(tools, cache_limit=COSTS["t2"] + COSTS["t3"]).cached == ["t2", "t3"]
    assert list(tools) == ["t2", "t3"]


def test_pinned_tools_are_never_let_go() -> None:
    """MGP-16.8-2: not even where they alone take more than there is; then there is nothing beside them."""
    found = context(used("t1"), "t20", "t21", max_tokens=100)
    assert found.pinned == ["t20", "t21"]
    assert found.cached == []
    assert found.answered([10]) == [False]


def test_an_answer_lets_cached_tools_go_and_not_the_other_way_round() -> None:
    """MGP-16.8-3: results that are too large are left out, and those behind them are not."""
    tools = used("t1", "t2")
    found = context(tools, max_tokens=300, pinned_reserve=0, discovery_reserve=280, cache_limit=300)
    assert found.answered([150, 200, 130]) == [True, False, True]
    assert found.cached == []


def test_what_is_loaded_fits_and_the_rest_is_said() -> None:
    found = context(used(), cache_limit=COSTS["t1"] + COSTS["t2"])
    assert found.load(["t1", "t24", "t2", "t3", "none"]) == ["t1", "t2"]
    assert found.total == COSTS["t1"] + COSTS["t2"]


def test_what_is_not_there_any_more_is_let_go() -> None:
    assert context(used("gone", "t1")).cached == ["t1"]


def test_a_pinned_tool_is_not_cached_as_well() -> None:
    found = context(used("t1"), "t1")
    assert (found.pinned, found.cached, found.evict(["t1"])) == (["t1"], [], [])


def test_no_session_of_ten_thousand_exceeds_its_budget() -> None:
    """MGP-16.8-2, MGP-16.8-3."""
    dice = random.Random(17)
    for _ in range(10_000):
        budget = Discovery(
            max_tokens=dice.choice([1, 200, 1000, 8000]),
            pinned_reserve=dice.choice([0, 100, 2000]),
            discovery_reserve=dice.choice([0, 150, 3000]),
            cache_limit=dice.choice([0, 150, 3000]),
        )
        pinned = dice.sample(sorted(COSTS), dice.randrange(4))
        floor = sum(COSTS[one] for one in pinned)
        tools: OrderedDict[str, None] = OrderedDict()
        for _ in range(dice.randrange(1, 12)):
            one = dice.choice(sorted(COSTS))
            tools[one] = None
            tools.move_to_end(one)
            found = Context(budget, COSTS.get, pinned, tools)
            most = max(budget.max_tokens, floor)
            assert found.total <= most
            assert found.pinned == pinned
            assert found.tokens(found.cached) <= budget.cache_limit
            recent = [name for name in tools if name not in pinned]
            assert found.cached == recent[len(recent) - len(found.cached) :]
            what = dice.randrange(3)
            if what == 0:
                costs = [dice.randrange(1, 900) for _ in range(5)]
                kept = found.answered(costs)
                answer = sum(cost for cost, fits in zip(costs, kept, strict=True) if fits)
                assert answer <= budget.discovery_reserve
                assert found.total + answer <= most
            elif what == 1:
                loaded = found.load(dice.sample(sorted(COSTS), 3))
                assert found.total <= most
                assert set(loaded) <= {*found.cached, *pinned}
            else:
                found.evict([one])
                assert one not in found.cached


# -- many sessions


def test_a_session_has_what_it_used_until_it_ends() -> None:
    sessions = Sessions(lambda: 0.0)
    mine, other = a_call(session="a"), a_call(session="b")
    sessions.used(mine, "x/one")
    sessions.used(mine, "x/two")
    sessions.used(mine, "x/one")
    assert list(sessions.of(mine)) == ["x/two", "x/one"]
    assert list(sessions.of(other)) == []
    assert list(sessions.of(replace(mine, profile="p"))) == []
    assert list(sessions.of(replace(mine, caller=Caller("else")))) == []
    sessions.forget("a")
    sessions.forget("never")
    assert list(sessions.of(mine)) == []


def test_keys_of_one_caller_with_other_limits_have_caches_of_their_own() -> None:
    """A look with the narrower one let go what it cannot see, in the other's cache."""
    sessions = Sessions(lambda: 0.0)
    own = _tool_call("t1", session="s", caller=Caller("ann"))
    less = replace(own, caller=Caller("ann", user=(UserContext(resources=("/srv/**",)),)))
    sessions.ended(own, Answer(b"{}"), None)
    sessions.answered(less)(0.0)
    sessions.used(less, "x/t2")
    assert [list(sessions.of(one)) for one in (own, less)] == [["x/t1"], ["x/t1", "x/t2"]]
    sessions.forget("s")
    assert len(sessions) == 0


@pytest.mark.parametrize("session", [None, "s"])
def test_of_a_caller_without_a_name_only_its_own_session_is_known(session: str | None) -> None:
    sessions = Sessions(lambda: 0.0)
    one = _tool_call("t1", session=session, caller=ANONYMOUS)
    sessions.ended(one, Answer(b"{}"), None)
    sessions.answered(one)(0.0)
    sessions.used(one, "x/t2")
    assert list(sessions.of(one)) == ([] if session is None else ["x/t1", "x/t2"])
    assert list(sessions.of(replace(one, session="other"))) == []
    assert len(sessions) == (1 if session is None else 2)


def test_a_caller_without_sessions_has_one_for_an_hour() -> None:
    now = [0.0]
    sessions = Sessions(lambda: now[0])
    call = a_call(session=None)
    sessions.used(call, "x/one")
    now[0] = 3500.0
    assert list(sessions.of(call)) == ["x/one"]
    now[0] = 7200.0
    assert list(sessions.of(call)) == []


def test_nothing_grows_without_bound_and_nobody_pushes_others_out() -> None:
    sessions = Sessions(lambda: 0.0)
    call = a_call(session="mine")
    for n in range(TOOLS + 5):
        sessions.used(call, f"x/{n}")
    assert len(sessions.of(call)) == TOOLS
    for n in range(SESSIONS + 50):
        sessions.of(a_call(caller=Caller("many"), session=f"s{n}"))
    for n in range(ALL):
        sessions.of(a_call(caller=Caller(f"c{n % 100}"), session=f"t{n}"))
    assert len(sessions) <= ALL
    assert len(sessions.of(call)) == TOOLS


@pytest.mark.parametrize("session", ["s0", "s5"])
def test_what_was_pushed_out_can_end_as_well(session: str) -> None:
    sessions = Sessions(lambda: 0.0)
    for n in range(SESSIONS + 2):
        sessions.of(a_call(session=f"s{n}"))
    sessions.forget(session)
    assert len(sessions) in {SESSIONS, SESSIONS - 1}


# -- calls that ended


def _tool_call(name: str, server: str = "x", **more: Any) -> Call:
    return replace(a_tool_call(a_tool(name, server=server)), **more)


def test_tools_of_servers_that_answered_are_used_in_their_order() -> None:
    sessions = Sessions(lambda: 0.0)
    for call, outcome in (
        (_tool_call("one", session="a"), Answer(b"{}")),
        (_tool_call("two", session="a"), Answer(b"{}")),
        (_tool_call("other", session="b"), Answer(b"{}", tool_error=True)),
        (_tool_call("one", session="a"), Answer(b"{}")),
        (_tool_call("failed", session="a"), Failure("upstream_error")),
        (_tool_call("own", KERNEL, session="a"), Answer(b"{}")),
        (_tool_call("prompt", session="a", kind="prompt"), Answer(b"{}")),
        (_tool_call("gone", session="a", tool=None), Answer(b"{}")),
    ):
        sessions.ended(call, outcome, 0.1)
    assert list(sessions.of(_tool_call("x", session="a"))) == ["x/two", "x/one"]
    assert list(sessions.of(_tool_call("x", session="b"))) == ["x/other"]


def test_what_ended_before_its_session_does_not_bring_it_back() -> None:
    sessions = Sessions(lambda: 0.0)
    sessions.ended(_tool_call("one", session="a"), Answer(b"{}"), 0.1)
    assert len(sessions) == 1
    sessions.ended(_tool_call("two", session="a"), Answer(b"{}"), 0.1)
    sessions.forget("a")
    assert len(sessions) == 0
    assert not sessions._new


def test_what_nobody_has_looked_at_yet_has_a_bound() -> None:
    sessions = Sessions(lambda: 0.0)
    for n in range(1_000):
        sessions.ended(_tool_call(f"t{n}", session="a"), Answer(b"{}"), 0.1)
        assert len(sessions._new) <= 256
    assert list(sessions.of(_tool_call("x", session="a"))) == [f"x/t{n}" for n in range(900, 1_000)]


def test_one_without_a_session_was_not_idle_while_it_called() -> None:
    now = [0.0]
    sessions, answer = Sessions(lambda: now[0]), Answer(b"{}")
    for tool in ("one", "two", "one"):
        sessions.ended(_tool_call(tool, session=None), answer, 0.1)
        now[0] += 3000.0
    assert list(sessions.of(_tool_call("x", session=None))) == ["x/two", "x/one"]


def test_uses_that_nobody_has_looked_at_yet_count_at_their_own_time() -> None:
    now = [0.0]
    sessions = Sessions(lambda: now[0])
    for now[0], name in ((0.0, "one"), (1800.0, "two"), (5000.0, "two")):
        sessions.ended(_tool_call(name, session=None), Answer(b"{}"), 0.1)
    assert list(sessions.of(_tool_call("x", session=None))) == ["x/one", "x/two"]
    now[0] = 9000.0
    sessions.ended(_tool_call("three", session=None), Answer(b"{}"), 0.1)
    assert list(sessions.of(_tool_call("x", session=None))) == ["x/three"]
