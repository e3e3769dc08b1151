"""Rules over subjects: the strictest wins, a refused call costs nobody anything, and memory is bounded."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

import gatewright.limits.meters
from gatewright.call import Refusal
from gatewright.limits import usage
from gatewright.limits.meters import Meter, Rule
from gatewright.limits.usage import DAY, HOUR, MINUTE, SECOND, Window, Windows
from tests.costs import lines_run


class Clock:
    """Nanoseconds that only the test moves."""

    now = 5 * DAY

    def __call__(self) -> int:
        return self.now


def rates(*pairs: tuple[int, int]) -> Windows:
    return Windows(Window(limit, span) for limit, span in pairs)


def passed(
    meter: Meter, calls: int, one: str = "ann", other: str | None = None, door: str = "http"
) -> int:
    return sum(meter.take(door, one, other) is None for _ in range(calls))


GROUNDHOG = (
    Rule("total", rates((1000, SECOND), (60_000, MINUTE))),
    Rule("caller", rates((10, SECOND), (600, MINUTE))),
)
GROUNDHOG_TOOLS = (Rule("tool", rates((5, SECOND), (300, MINUTE))),)
GGEN = (Rule("key", rates((60, MINUTE), (1000, HOUR))),)


def test_a_thousand_callers_may_call_once_in_a_second_and_the_next_one_may_not() -> None:
    """GRH-rate-1"""
    meter = Meter(GROUNDHOG, Clock())
    assert sum(passed(meter, 1, f"caller {n}") for n in range(1001)) == 1000


def test_all_callers_together_have_sixty_thousand_calls_a_minute() -> None:
    """GRH-rate-2. Beside a thousand a second nobody could be one too many in a minute, so that one is wider."""
    clock = Clock()
    meter = Meter([Rule("total", rates((2000, SECOND), (60_000, MINUTE)))], clock)
    found = []
    for _ in range(60_001):
        found.append(meter.take("http", "ann", None))
        clock.now += MINUTE // 60_001
    assert [one is None for one in found] == [True] * 60_000 + [False]
    last = found[-1]
    assert last is not None
    assert last.details["window_secs"] == 60


def test_one_caller_has_ten_calls_a_second_and_others_are_undisturbed() -> None:
    """GRH-rate-3"""
    meter = Meter(GROUNDHOG, Clock())
    assert passed(meter, 11) == 10
    assert passed(meter, 11, "bob") == 10


def test_one_caller_has_six_hundred_calls_a_minute() -> None:
    """GRH-rate-4: fifteen at once and then nothing for a second never meet the other limit."""
    clock = Clock()
    meter = Meter([Rule("caller", rates((20, SECOND), (600, MINUTE)))], clock)
    found = []
    for n in range(601):
        clock.now += SECOND if n % 15 == 0 else 0
        found.append(meter.take("http", "ann", None))
    assert [one is None for one in found] == [True] * 600 + [False]
    assert found[-1] is not None
    assert found[-1].details == {"limit": 600, "window_secs": 60, "current": 601, "scope": "caller"}


def test_one_tool_has_five_calls_a_second_and_another_tool_its_own() -> None:
    """GRH-rate-5"""
    meter = Meter(GROUNDHOG_TOOLS, Clock())
    assert passed(meter, 6, "files", "read") == 5
    assert passed(meter, 6, "files", "write") == 5
    assert passed(meter, 6, "other", "read") == 5


def test_one_tool_has_three_hundred_calls_a_minute() -> None:
    """GRH-rate-6: six at once and then nothing for a second never meet the other limit; another tool goes on."""
    clock = Clock()
    meter = Meter([Rule("tool", rates((20, SECOND), (300, MINUTE)))], clock)
    count = 0
    for _ in range(59):
        count += passed(meter, 6, "files", "read")
        clock.now += SECOND
    assert count == 300
    assert passed(meter, 6, "files", "write") == 6
    clock.now += SECOND
    assert passed(meter, 6, "files", "read") == 6


def test_a_key_has_its_calls_a_minute_and_its_calls_an_hour() -> None:
    """GGEN-auth-9: sixty a minute, until the thousand of the hour are used up."""
    clock = Clock()
    meter = Meter(GGEN, clock)
    for minute in range(20):
        left = 1000 - 60 * minute
        found = [meter.take("http", "ann", "key1") for _ in range(61)]
        assert sum(one is None for one in found) == max(0, min(60, left))
        last = found[-1]
        assert last is not None
        assert last.retry_after_ms is not None
        assert last.details["window_secs"] == (60 if left > 60 else 3600)
        clock.now += MINUTE
    assert passed(meter, 1, "ann", "key2") == 1
    assert passed(meter, 99, "ann", None) == 99


def test_of_all_the_limits_that_are_full_the_longest_wait_is_named() -> None:
    meter = Meter(
        [
            Rule("total", rates((3, SECOND))),
            Rule("caller", rates((3, HOUR))),
            Rule("key", rates((3, MINUTE))),
        ],
        Clock(),
    )
    assert passed(meter, 3, "ann", "k") == 3
    found = meter.take("http", "ann", "k")
    assert found == Refusal(
        "rate_limited",
        "Rate limited: 3 calls per hour exceeded; the next one may come in 3600000 ms",
        {"limit": 3, "window_secs": 3600, "current": 4, "scope": "caller"},
        3_600_000,
    )


@pytest.mark.parametrize(
    ("scope", "words"),
    [
        ("total", "5 calls per minute by all callers together exceeded"),
        ("caller", "5 calls per minute exceeded"),
        ("key", "5 calls per minute with this key exceeded"),
        ("server", "5 calls per minute at this server exceeded"),
        ("tool", "5 calls per minute of this tool exceeded"),
    ],
)
def test_a_refusal_says_whose_limit_it_is(scope: Any, words: str) -> None:
    meter = Meter([Rule(scope, rates((5, MINUTE)))], Clock())
    assert passed(meter, 9, "ann", "k") == 5
    found = meter.take("http", "ann", "k")
    assert found is not None
    assert words in found.message
    assert found.details["scope"] == scope


def test_what_one_limit_refuses_is_not_counted_by_the_others() -> None:
    clock = Clock()
    meter = Meter([Rule("total", rates((5, MINUTE))), Rule("caller", rates((2, SECOND)))], clock)
    assert passed(meter, 100) == 2
    assert [passed(meter, 1, name) for name in "abcd"] == [1, 1, 1, 0]
    clock.now += MINUTE
    assert passed(meter, 100, "e") == 2


def test_a_quota_of_the_day_is_refused_as_one() -> None:
    """MGP-14.3-12"""
    clock = Clock()
    meter = Meter([Rule("caller", rates((2, DAY)))], clock)
    assert passed(meter, 2) == 2
    found = meter.take("http", "ann", None)
    assert found is not None
    assert found.reason == "quota_exceeded"
    assert found.message.startswith("Quota used up: 2 calls per day exceeded")
    clock.now += DAY
    assert passed(meter, 3) == 2


def test_a_single_caller_may_have_more_or_less_than_the_others() -> None:
    rule = Rule("caller", rates((2, MINUTE)), {"bob": rates((7, MINUTE)), "eve": Windows()})
    meter = Meter([rule], Clock())
    assert [passed(meter, 20, name) for name in ("ann", "bob", "eve")] == [2, 7, 20]


def test_a_tool_without_a_word_of_its_own_has_that_of_its_server() -> None:
    rule = Rule(
        "tool", rates((1, MINUTE)), {("s", "*"): rates((3, MINUTE)), ("s", "x"): rates((4, MINUTE))}
    )
    meter = Meter([rule], Clock())
    found = [passed(meter, 9, *pair) for pair in (("s", "x"), ("s", "y"), ("t", "y"))]
    assert found == [4, 3, 1]


def test_a_limit_of_one_door_does_not_count_what_comes_through_others() -> None:
    meter = Meter(
        [Rule("caller", rates((3, MINUTE))), Rule("caller", rates((2, MINUTE)), door="groundhog")],
        Clock(),
    )
    assert passed(meter, 9, door="groundhog") == 2
    assert passed(meter, 9) == 1


def test_other_rules_go_on_with_what_was_used() -> None:
    clock = Clock()
    before = Meter([Rule("caller", rates((5, MINUTE)))], clock)
    assert passed(before, 5) == 5
    wider = Meter([Rule("caller", rates((7, MINUTE)))], clock, before)
    assert passed(wider, 9) == 2
    none = Meter([], clock, wider)
    assert none.idle
    assert passed(none, 9) == 9
    assert passed(Meter([Rule("caller", rates((8, MINUTE)))], clock, none), 9) == 1


def test_what_is_given_back_is_there_for_the_next_call() -> None:
    meter = Meter([*GGEN, Rule("caller", rates((2, MINUTE)))], Clock())
    assert passed(meter, 3, "ann", "k") == 2
    meter.give_back("http", "ann", "k")
    assert passed(meter, 3, "ann", "k") == 1


def test_asking_what_would_be_counts_nothing() -> None:
    meter = Meter([Rule("caller", rates((2, MINUTE)))], Clock())
    assert [meter.would("http", "ann", None) for _ in range(9)] == [None] * 9
    assert passed(meter, 3) == 2
    assert meter.would("http", "ann", None) == meter.take("http", "ann", None)


def subjects(meter: Meter) -> Sequence[int]:
    return [len(known) for known in meter._known.values()]


def test_callers_who_owe_nothing_are_forgotten() -> None:
    clock = Clock()
    meter = Meter([Rule("caller", rates((60, MINUTE)))], clock)
    for n in range(20_000):
        clock.now += SECOND
        assert passed(meter, 1, f"caller {n}") == 1
    assert subjects(meter)[0] <= 1024
    assert len(meter._everywhere or ()) <= 1024


def test_more_callers_than_can_be_remembered_cost_those_their_place_who_called_least(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Bounded memory, and nobody gets more than its limit by being forgotten."""
    monkeypatch.setattr(gatewright.limits.meters, "KEPT", 2000)
    clock = Clock()
    meter = Meter([Rule("caller", rates((100, HOUR)))], clock)
    busy = 0
    for n in range(20_000):
        clock.now += 1000
        assert passed(meter, 1, f"caller {n}") == 1
        busy += passed(meter, 1, "busy") if n % 10 == 0 else 0
    assert subjects(meter)[0] <= 2000
    assert busy == 100


def test_a_new_subject_costs_the_same_however_many_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where there is room for no more of them, and none of all pairs is looked up anew."""

    def most(kept: int, known: int) -> int:
        monkeypatch.setattr(gatewright.limits.meters, "KEPT", kept)
        clock = Clock()
        meter = Meter([Rule("caller", rates((100, HOUR)))], clock)
        for n in range(known):
            clock.now += 1000
            meter.take("http", f"caller {n}", None)
        asked = [partial(meter.take, "http", f"new {n}", None) for n in range(60)]
        return max(lines_run((gatewright.limits.meters, usage), one) for one in asked)

    modules = (100_000, 500), (100_000, 5000), (1000, 990), (5000, 4990)
    few, many, full, fuller = (most(*one) for one in modules)
    assert many <= few * 1.2
    assert fuller <= full * 1.2


def test_a_pair_that_was_forgotten_is_counted_anew_and_not_with_what_was_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gatewright.limits.meters, "KEPT", 50)
    clock = Clock()
    meter = Meter([Rule("caller", rates((3, HOUR)))], clock)
    assert passed(meter, 1, "ann") == 1
    for n in range(500):
        clock.now += 1000
        passed(meter, 2, f"caller {n}")
    assert "ann" not in meter._known["caller", ""]
    assert passed(meter, 9, "ann") == 3
    assert meter._known["caller", ""]["ann"].held == 3
    assert subjects(meter)[0] <= 50


def test_groups_are_forgotten_too_where_only_all_together_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gatewright.limits.meters, "KEPT", 100)
    meter = Meter([Rule("total", rates((900, HOUR)))], Clock())
    assert sum(passed(meter, 1, f"caller {n}") for n in range(1000)) == 900
    assert len(meter._everywhere or ()) <= 101


def test_three_principals_ten_times_over_get_their_limits_and_nobody_else_notices() -> None:
    """Fault test 19: each within 2 % of its limit, the wait right to the millisecond, others undisturbed."""
    clock = Clock()
    limits = {"one": 60, "two": 600, "three": 3000}
    rule = Rule(
        "caller", rates((120, MINUTE)), {name: rates((n, MINUTE)) for name, n in limits.items()}
    )
    meter = Meter([rule], clock)
    taken = dict.fromkeys([*limits, "quiet"], 0)
    waits: dict[str, int] = {}
    step = MINUTE // 30_000
    for number in range(3 * 30_000):
        clock.now += step
        for name, limit in limits.items():
            if number % (30_000 // (10 * limit) or 1):
                continue
            refusal = meter.take("http", name, None)
            if refusal is None:
                assert clock.now >= waits.pop(name, 0)
                taken[name] += 1
            else:
                waits.setdefault(
                    name, clock.now + (refusal.retry_after_ms or 0) * 1_000_000 - 1_000_000
                )
        if number % 500 == 0:
            assert meter.take("http", "quiet", None) is None
            taken["quiet"] += 1
    assert taken["quiet"] == 180
    for name, limit in limits.items():
        assert 3 * limit * 0.98 <= taken[name] <= 3 * limit
