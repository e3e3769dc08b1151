"""Many patterns are read as one."""

from __future__ import annotations

from gatewright.pins.signal_patterns import any_of


def test_many_patterns_are_one_automaton() -> None:
    assert sorted(any_of(["a+", "b", "C"]).Match("caa") or ()) == [0, 2]
