"""The mistakes of routing that the benchmark makes can still be made."""

from __future__ import annotations

import pytest

from benchmarks.processes import ROOT, Trouble
from benchmarks.routing import MUTANTS, Mutant, mutated, siblings


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
    assert areas >= {"approvals", "gathering", "callbacks", "events", "streams"}
    assert areas >= {"registered", "stopped", "held"}
    assert areas >= {"away", "origins", "providers", "revoked", "rights"}
    assert len(MUTANTS) == len(set(MUTANTS)) >= 330


def test_siblings_are_made_of_every_comparison_that_says_whom_something_is_about() -> None:
    text = "def f(owner, call, more):\n    if more > 1:\n        return owner == call.owner\n    return owner == call.owner\n"
    found = [mutated(one, text) for one in siblings("x.py", text)]
    for each in found:
        compile(each, "x.py", "exec")
    assert sorted(one.count("(True)") for one in found) == [0, 0, 1, 1]
    assert all("more > 1" in one for one in found)
    assert len(set(found)) == 4
