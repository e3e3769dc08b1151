"""What a standing word rests on: the very object that an attribute held, not one that is like it."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from gatewright.flow.gate import Flow
from gatewright.flow.taints import Taints
from gatewright.standing import NOTHING, Stands, attribute, holding


@pytest.mark.parametrize(("before", "now"), [(1, 2), (None, 0), ([], []), (1000, 10**3 + 1)])
def test_a_word_rests_on_the_very_object(before: object, now: object) -> None:
    owner = SimpleNamespace(one=before)
    question, answer = attribute(owner, "one")
    assert question() is answer
    owner.one = now
    assert question() is not answer


def test_nothing_rests_on_nothing_and_asks_nothing() -> None:
    assert (NOTHING.rests, dict(NOTHING.facts)) == ((), {})
    assert (NOTHING.fits, NOTHING.counts, NOTHING.clear) == (None, None, None)


def test_a_gate_that_has_a_word_is_known_by_that() -> None:
    assert isinstance(Flow, type)
    assert issubclass(Flow, Stands)
    assert not issubclass(Taints, Stands)


def test_all_that_is_rested_on_is_asked_at_once_and_each_counts() -> None:
    owner = SimpleNamespace(one=[], other=7, third="x")
    found: dict[str, list[int]] = {"a": []}
    rests = (
        attribute(owner, "one"),
        (partial(found.get, "a"), found["a"]),
        attribute(owner, "other"),
        (lambda: owner.third, "x"),
    )
    changes: tuple[dict[str, Any], ...] = ({"one": []}, {"other": 8}, {"third": "y"})
    for change in changes:
        holds = holding(rests)
        assert holds()
        before = {name: getattr(owner, name) for name in change}
        vars(owner).update(change)
        assert not holds()
        vars(owner).update(before)
        assert holds()
    found["a"] = []
    assert not holding(rests)()
    assert holding(())()


def test_what_is_no_name_of_an_attribute_is_not_compiled() -> None:
    with pytest.raises(ValueError, match="no attribute"):
        holding(((partial(getattr, SimpleNamespace(), "one or 1"), None),))


def test_questions_about_one_thing_are_asked_in_order_until_one_says_no() -> None:
    asked: list[tuple[int, str]] = []

    def says(number: int, answer: bool, one: str) -> bool:
        asked.append((number, one))
        return answer

    every: list[Any] = [partial(says, 1, True), partial(says, 2, False), partial(says, 3, True)]
    assert holding((), every)("x") is False
    assert asked == [(1, "x"), (2, "x")]
    assert holding((), every[::2])("x")
    assert holding(())("x")


def test_nobody_is_asked_about_one_thing_where_something_is_another_or_it_is_too_long() -> None:
    asked: list[bytes] = []
    owner = SimpleNamespace(one=1)

    def says(one: bytes) -> bool:
        asked.append(one)
        return True

    fitting = holding((attribute(owner, "one"),), (says,), 3)
    assert fitting(b"abc")
    assert not fitting(b"abcd")
    owner.one = 2
    assert not fitting(b"abc")
    assert asked == [b"abc"]
