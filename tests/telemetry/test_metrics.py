"""What is counted: each call once, by what its caller saw."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gatewright.call import Answer, Failure, Outcome, Refusal, Target
from gatewright.kernel import Hooks, Kernel
from gatewright.telemetry import metrics
from gatewright.telemetry.metrics import (
    BOUNDS,
    NAMES_MOST,
    SERVER_NAMES_MOST,
    TOOL_BOUNDS,
    CallCounts,
)
from tests.audit.parts import a_tool
from tests.costs import lines_run
from tests.kernel_parts import ANSWER, Book, Line, Owner, a_call


@pytest.mark.parametrize(
    ("outcome", "word"),
    [
        (Answer(b"{}"), "success"),
        (Answer(b"{}", tool_error=True), "tool_error"),
        (Refusal("access_denied", "no"), "denied"),
        (Failure("upstream_error"), "failure"),
        (Failure("cancelled"), "cancelled"),
    ],
)
def test_each_end_is_counted_by_its_word(outcome: Outcome, word: str) -> None:
    counted = CallCounts()
    counted.ended(a_call(), outcome, None)
    counted.ended(a_call(), outcome, None)
    assert counted.calls == {("tool", word): 2}


async def test_the_kernel_tells_of_a_call_once_and_of_what_its_caller_sees() -> None:
    counted, book = CallCounts(), Book()
    kernel = Kernel([], Owner(book.events), [], book, Hooks(ended=(counted.ended,)))
    assert await kernel.handle(a_call(), Line()) == ANSWER
    assert (counted.calls, kernel.in_flight) == ({("tool", "success"): 1}, 0)


async def test_an_end_that_could_not_be_recorded_counts_as_the_refusal_that_it_became() -> None:
    counted, book = CallCounts(), Book("close")
    kernel = Kernel([], Owner(book.events), [], book, Hooks(ended=(counted.ended,)))
    await kernel.handle(a_call(), Line())
    assert counted.calls == {("tool", "denied"): 1}


def test_how_long_tools_take_is_counted_without_what_was_refused() -> None:
    counted = CallCounts()
    for spent, kind, outcome in (
        (0.0004, "tool", ANSWER),
        (0.3, "tool", Failure("upstream_error")),
        (500.0, "tool", ANSWER),
        (1.0, "tool", Refusal("access_denied", "no")),
        (1.0, "list", ANSWER),
    ):
        counted.ended(replace(a_call(), kind=kind), outcome, spent)
    found = dict(zip((*BOUNDS, "more"), counted.durations, strict=True))
    assert {bound: n for bound, n in found.items() if n} == {0.0005: 1, 0.5: 1, "more": 1}
    assert counted.spent_s == pytest.approx(500.3004)


def test_each_tool_of_the_catalogue_is_counted_and_made_up_names_together() -> None:
    """GRH-mon-1 and GRH-mon-2: two successes and one failure are 2 and 1."""
    counted, tool = CallCounts(), a_tool()
    known = replace(a_call(), tool=tool)
    for call, outcome, spent in (
        (known, ANSWER, 0.02),
        (known, ANSWER, 100.0),
        (known, Failure("upstream_error"), 0.02),
        (replace(known, tool=None, name="x"), Refusal("unknown_tool", "no"), 0.02),
        (replace(known, tool=None, name="y"), Refusal("unknown_tool", "no"), 0.02),
    ):
        counted.ended(call, outcome, spent)
    name = tool.exposed
    found = {key: (sum(rest), spent) for key, (spent, *rest) in counted.tools.items()}
    assert found == {
        (name, "success"): (2, 100.02),
        (name, "failure"): (1, 0.02),
        ("_other", "denied"): (2, 0.04),
    }


@pytest.mark.parametrize("spent", [0.0, *BOUNDS, *(bound * 1.001 for bound in BOUNDS)])
def test_the_buckets_of_a_tool_hold_what_lies_within_their_bounds(spent: float) -> None:
    counted, tool = CallCounts(), a_tool()
    counted.ended(replace(a_call(), tool=tool), ANSWER, spent)
    _, *counts = counted.tools[tool.exposed, "success"]
    below = [bound for bound in TOOL_BOUNDS if spent <= bound]
    assert counts.index(1) == len(TOOL_BOUNDS) - len(below)
    assert sum(counts) == 1


@given(st.lists(st.one_of(st.sampled_from(BOUNDS), st.floats(0, 200)), max_size=600))
def test_answers_that_are_counted_together_are_counted_like_one_after_the_other(
    took: list[float],
) -> None:
    together, alone, call = CallCounts(), CallCounts(), replace(a_call(), tool=a_tool())
    for one in took:
        together.ended(call, ANSWER, one)
        alone.ended(call, ANSWER, one)
        assert sum(alone.durations) == alone.calls["tool", "success"]
    assert together.durations == alone.durations
    assert [*together.tools] == [*alone.tools]
    assert together.spent_s == pytest.approx(alone.spent_s)
    assert sum(together.calls.values()) == len(took)


def test_what_is_not_counted_yet_has_a_bound() -> None:
    counted, call = CallCounts(), replace(a_call(), tool=a_tool())
    for _ in range(5_000):
        counted.ended(call, ANSWER, 0.1)
    assert len(counted._answered) < 512
    assert counted.calls == {("tool", "success"): 5_000}


def test_whoever_reads_in_another_thread_takes_no_end_away() -> None:
    counted, call, over = CallCounts(), replace(a_call(), tool=a_tool()), Event()

    def read() -> list[int]:
        seen = [0]
        while not over.is_set():
            seen.append(sum(counted.durations))
        return seen

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(2) as threads:
            readers = [threads.submit(read) for _ in range(2)]
            for _ in range(20_000):
                counted.ended(call, ANSWER, 0.1)
            over.set()
            for seen in [one.result() for one in readers]:
                assert seen == sorted(seen)
    finally:
        sys.setswitchinterval(before)
    assert sum(counted.durations) == counted.calls["tool", "success"] == 20_000
    assert counted.spent_s == pytest.approx(2_000)


class _Busy(list[Any]):
    """Gets one more whenever somebody looks at it."""

    def __getitem__(self, at: Any) -> Any:
        found = super().__getitem__(at)
        self.append((a_tool(), 0.1))
        return found


def test_what_ends_while_another_thread_counts_is_counted_next() -> None:
    counted, tool = CallCounts(), a_tool()
    counted._answered = _Busy()
    counted.ended(replace(a_call(), tool=tool), ANSWER, 0.1)
    assert [counted.calls["tool", "success"] for _ in range(3)] == [1, 2, 3]


def test_ends_are_counted_by_one_thread_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    counted, call, alone = CallCounts(), replace(a_call(), tool=a_tool()), list[bool]()
    add = metrics._Took.add

    def watched(took: Any, those: list[float]) -> None:
        alone.append(counted._counting.locked())
        add(took, those)

    monkeypatch.setattr(metrics._Took, "add", watched)
    for outcome in (ANSWER, Failure("upstream_error")):
        counted.ended(call, outcome, 0.1)
    assert sum(counted.durations) == 2
    assert alone == [True] * 4


def test_tools_beyond_some_thousand_are_counted_together_and_one_server_has_its_share_of_names() -> (
    None
):
    counted = CallCounts()
    for outcome in (ANSWER, Failure("upstream_error")):
        for at in range(SERVER_NAMES_MOST + 100):
            tool = replace(a_tool(), exposed=f"loud__t{at}", target=Target("loud", f"t{at}"))
            counted.ended(replace(a_call(), tool=tool), outcome, 0.1)
    tool = replace(a_tool(), exposed="quiet__t", target=Target("quiet", "t"))
    counted.ended(replace(a_call(), tool=tool), ANSWER, 0.1)
    counted.warn(
        replace(
            a_call(), tool=replace(a_tool(), exposed="loud__new", target=Target("loud", "new"))
        ),
        "high_memory",
    )
    tools = counted.tools
    assert counted.warnings == {("_other", "high_memory"): 1}
    assert len(tools) == 2 * (SERVER_NAMES_MOST + 1) + 1
    assert sum(tools["_other", "success"][1:]) == 100
    assert sum(tools["quiet__t", "success"][1:]) == 1
    assert sum(counted.durations) == 2 * (SERVER_NAMES_MOST + 100) + 1


def test_the_names_of_all_servers_together_have_a_bound() -> None:
    counted = CallCounts()
    for at in range(NAMES_MOST + 500):
        tool = replace(a_tool(), exposed=f"s{at}__t", target=Target(f"s{at}", "t"))
        counted.answered(replace(a_call(), tool=tool))(0.1)
    assert len(counted.tools) == NAMES_MOST + 1
    assert len(counted._names) == len(counted._of_server) == NAMES_MOST


def test_what_all_calls_took_together_is_read_without_a_look_at_each_tool() -> None:
    def lines(number: int) -> int:
        counted = CallCounts()
        for at in range(number):
            tool = replace(a_tool(), exposed=f"t{at}", target=Target("s", f"t{at}"))
            counted.ended(replace(a_call(), tool=tool), Failure("upstream_error"), 0.1)
        return lines_run(metrics, lambda: (counted.durations, counted.spent_s, counted.calls))

    assert lines(10) == lines(1000)
