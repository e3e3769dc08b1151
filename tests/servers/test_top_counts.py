"""Who has the most."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from gatewright.servers.top_counts import TopCounter


def test_who_has_the_most_is_known_whatever_comes_and_goes() -> None:
    dice, most, model = random.Random(7), TopCounter[str](), Counter[str]()
    for _ in range(5000):
        key = dice.choice("abcdef")
        if model[key] and dice.random() < 0.5:
            most.remove(key)
            model[key] -= 1
        else:
            most.add(key)
            model[key] += 1
        assert bool(most) == any(model.values())
        if most:
            assert model[most.first()] == max(model.values())


def test_of_several_it_is_who_has_had_so_many_for_longest() -> None:
    most = TopCounter[str]()
    for key in "abab":
        most.add(key)
    assert most.first() == "a"
    most.remove("a")
    most.add("a")
    assert most.first() == "b"


def test_nobody_gives_back_what_it_does_not_have() -> None:
    with pytest.raises(KeyError):
        TopCounter[str]().remove("a")


def test_who_is_renewed_goes_after_others_of_as_many() -> None:
    counter = TopCounter[str]()
    for name in "ab":
        counter.add(name)
    assert counter.first() == "a"
    counter.renew("a")
    assert counter.first() == "b"
