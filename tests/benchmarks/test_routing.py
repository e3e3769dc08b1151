"""The mistakes of routing that the benchmark makes can still be made."""

from __future__ import annotations

import pytest

from benchmarks.processes import ROOT, Trouble
from benchmarks.routing import MUTANTS, Mutant, mutated


@pytest.mark.parametrize("one", MUTANTS, ids=lambda one: f"{one.area}:{one.path}:{one.before[:30]}")
def test_each_mutant_changes_its_file_into_one_that_can_be_read(one: Mutant) -> None:
    text = (ROOT / "src" / "gatewright" / one.path).read_text()
    found = mutated(one, text)
    assert found != text
    compile(found, one.path, "exec")


def test_a_mutant_whose_place_is_gone_says_so() -> None:
    with pytest.raises(Trouble, match="has no"):
        mutated(Mutant("tasks", "x.py", "a", "b"), "c")


def test_every_place_where_something_is_led_to_somebody_has_mutants() -> None:
    areas = {one.area for one in MUTANTS}
    assert areas >= {"questions", "answers", "progress", "logs", "cancellations", "tasks", "rooms"}
    assert areas >= {"list_changed", "resources", "subscriptions", "elicitation", "states"}
    assert areas >= {"dispatch", "lanes", "notifications", "sessions", "sendable"}
    assert len(MUTANTS) == len(set(MUTANTS)) >= 100
