from __future__ import annotations

from collections.abc import Collection
from time import thread_time
from typing import Any

import pytest

from gatewright.call import Security
from gatewright.discovery import capabilities
from gatewright.discovery.capabilities import Requirements, Wanted, covers
from gatewright.discovery.lookup import Offered
from gatewright.discovery.ranking import words
from gatewright.transport.slices import whole
from tests.discovery.offers import made


def best_for(
    capability: str, found: Any, wanted: Requirements, chosen: Collection[str] = ()
) -> Wanted:
    types = whole(capabilities.types_of(wanted))
    return whole(capabilities.best_for(capability, found, wanted, types, chosen))


def offered(name: str, text: str, risk: str = "safe", missing: tuple[str, ...] = ()) -> Offered:
    tool = made("s", name, description=text)
    return Offered(
        type(tool)(tool.target, tool.exposed, tool.definition, security=Security(risk_level=risk)),  # type: ignore[arg-type]
        "connected",
        missing,
    )


@pytest.mark.parametrize(
    ("capability", "text", "does"),
    [
        ("statistics", "compute statistical values", True),
        ("data_analysis", "analyze CSV data", True),
        ("image_generation", "generate a report", False),
        ("pdf to text", "text of a PDF", True),
        ("", "anything", False),
        ("weather_forecast", "compute statistics", False),
    ],
)
def test_most_words_have_to_be_there(capability: str, text: str, does: bool) -> None:
    assert covers(capability, words(text)) is does


def test_risk_first_then_what_is_chosen_then_types_then_relevance() -> None:
    """MGP-16.6-10."""
    risky = offered("statistics_risky", "statistics", "dangerous")
    plain, table = offered("statistics", ""), offered("statistics_csv", "of csv")
    found = [(risky, 1.0), (plain, 0.9), (table, 0.1)]
    wanted = Requirements(preferred_risk_level="safe")
    assert best_for("statistics", found, wanted).usable is plain
    assert best_for("statistics", found, Requirements(input_types=["csv"])).usable is table
    assert best_for("statistics", found, wanted, {table.id}).usable is table
    assert best_for("statistics", found, Requirements()).usable is plain
    assert (
        best_for("statistics", found, Requirements(preferred_risk_level="dangerous")).usable
        is risky
    )


def test_what_waits_for_a_permission_counts_where_nothing_else_is_there() -> None:
    waits = offered("statistics", "", missing=("memory.read",))
    found = best_for("statistics", [(waits, 1.0)], Requirements())
    assert (found.usable, found.pending) == (None, waits)
    other = offered("statistics_too", "")
    found = best_for("statistics", [(waits, 1.0), (other, 0.1)], Requirements())
    assert (found.usable, found.pending) == (other, None)
    assert best_for("weather", [(other, 1.0)], Requirements()).usable is None


def test_long_words_of_both_sides_are_compared_in_small_steps() -> None:
    """Neither who asks nor who offers tools holds the loop: words that all begin alike are the worst."""
    said = " ".join(f"abcd{n:04}efg" for n in range(700))
    asked = " ".join(f"abcd{n:04}xyz" for n in range(9000, 9180))
    found = [(offered("long", said), 1.0)] * 20
    wanted = Requirements(input_types=[asked[:256]] * 16)
    steps, longest = capabilities.best_for(asked, found, wanted), 0.0
    while True:
        began = thread_time()
        if next(steps, steps) is steps:
            break
        longest = max(longest, thread_time() - began)
    assert longest < 0.05
