"""What a standing word rests on: the very object that an attribute held, not one that is like it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from gatewright.flow.gate import Flow
from gatewright.flow.taints import Taints
from gatewright.standing import NOTHING, Stands, attribute


@pytest.mark.parametrize(("before", "now"), [(1, 2), (None, 0), ([], []), (1000, 10**3 + 1)])
def test_a_word_rests_on_the_very_object(before: object, now: object) -> None:
    owner = SimpleNamespace(one=before)
    question, answer = attribute(owner, "one")
    assert question() is answer
    owner.one = now
    assert question() is not answer


def test_nothing_rests_on_nothing_and_asks_nothing() -> None:
    assert (NOTHING.rests, dict(NOTHING.facts)) == ((), {})
    assert (NOTHING.fits, NOTHING.takes, NOTHING.clear) == (None, None, None)


def test_a_gate_that_has_a_word_is_known_by_that() -> None:
    assert isinstance(Flow, type)
    assert issubclass(Flow, Stands)
    assert not issubclass(Taints, Stands)
