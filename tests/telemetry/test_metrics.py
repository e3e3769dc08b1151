"""What is counted: each call once, by what its caller saw."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from gatewright.call import Answer, Failure, Outcome, Refusal
from gatewright.kernel import Hooks, Kernel
from gatewright.telemetry.metrics import BOUNDS, TOOL_BOUNDS, CallCounts
from tests.audit.parts import a_tool
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
