"""Which defaults a Schema Object keeps, and how much is compared to see it."""

from __future__ import annotations

from typing import Any

import pytest

from gatewright.dialects.openapi.defaults import Defaults, is_number

COMPARISONS = 1000


class Counted(dict[str, Any]):
    """A branch that counts how often a value was judged by it."""

    judged = 0

    def get(self, key: str, default: Any = None) -> Any:
        Counted.judged += key == "anyOf"
        return super().get(key, default)


class Word:
    """A member of an enum that counts how often it was compared."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        Word.compared += 1
        return False

    def __hash__(self) -> int:
        return 0


def test_values_times_branches_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server writes both, and the loop would stand still for the square of it."""
    monkeypatch.setattr(Counted, "judged", 0)
    branches = [Counted(type="string") for _ in range(499)] + [Counted(type="integer")]
    schema = {"type": "array", "items": {"anyOf": branches}}
    defaults = Defaults(COMPARISONS)
    assert not defaults.fits([1] * 500, schema)
    assert 500 < Counted.judged <= COMPARISONS


def test_values_times_words_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Word, "compared", 0)
    schema = {"type": "array", "items": {"enum": [Word() for _ in range(499)] + ["a"]}}
    assert not Defaults(COMPARISONS).fits(["a"] * 500, schema)
    assert 0 < Word.compared <= COMPARISONS


def test_a_long_list_costs_its_length_for_each_word_that_it_is_compared_with(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Word, "compared", 0)
    assert not Defaults(COMPARISONS).fits([1] * 500, {"enum": [[Word()] * 500] * 2})
    assert Word.compared == 0


def test_what_one_default_has_spent_another_does_not_have() -> None:
    defaults = Defaults(4)
    assert defaults.fits([1], {"type": "array", "items": {"type": "integer"}})
    assert not defaults.fits([1, 1], {"type": "array", "items": {"type": "integer"}})


def test_within_what_may_be_compared_a_default_is_kept() -> None:
    schema = {"type": "array", "items": {"anyOf": [{"type": "string"}, {"enum": ["a", 1]}]}}
    assert Defaults(100).fits([1, "x"], schema)
    assert Defaults(100).fits([1], {"enum": [[2], [1]]})
    assert not Defaults(100).fits([3], schema)


@pytest.mark.parametrize(("value", "number"), [(1, True), (1.5, True), (True, False), ("1", False)])
def test_truth_values_are_no_numbers(value: Any, number: bool) -> None:
    assert is_number(value) is number
