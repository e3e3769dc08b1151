"""Signals as data: each is found in its own examples, and in none of the plain texts beside them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gatewright.pins.poisoning import HELD_AT
from gatewright.pins.signal_matching import Said, findings
from gatewright.pins.signal_patterns import compiled
from gatewright.pins.signals import DYNAMIC, Signal, load


def _all() -> list[Signal]:
    return [*load().phrases, *load().spoken]


def _found(signal: Signal, example: str) -> bool:
    head, _, text = example.rpartition("] ") if example.startswith("[") else ("", "", example)
    where = "sentence" if signal.where in ("text", "raw") else signal.where
    names = head.removeprefix("[").split(", ") if head else []
    told = (one.signal for one in findings([Said(text, where)], names, "tool"))
    return signal.id in {*(one.id for one in told), *_covered(signal, text)}


def _covered(signal: Signal, text: str) -> Iterator[str]:
    """A phrase counts as found where another one covers it."""
    others = (*load().phrases, *load().spoken)
    covered = any(signal.id in (*one.covers, *one.covers_one) for one in others)
    if covered and signal.any and compiled("|".join(signal.any)).search(text):
        yield signal.id


@pytest.mark.parametrize("signal", _all(), ids=lambda one: one.id)
def test_a_signal_is_found_where_it_is_and_nowhere_else(signal: Signal) -> None:
    assert signal.found
    assert signal.plain
    assert [one for one in signal.found if not _found(signal, one)] == []
    assert [one for one in signal.plain if _found(signal, one)] == []


def test_a_signal_has_one_name_and_asks_for_groups_that_there_are() -> None:
    known = load()
    ids = [one.id for one in _all()]
    assert len(set(ids)) == len(ids)
    asked = {group for one in known.spoken for group in (*one.all, *one.none)}
    assert asked - DYNAMIC == set(known.groups)
    covered = {other for one in _all() for other in (*one.covers, *one.covers_one)}
    assert covered <= set(ids)


def test_no_signal_holds_by_more_than_the_bound() -> None:
    assert all(1 <= one.points <= HELD_AT for one in _all())


def test_every_signal_says_how_it_is_found() -> None:
    for one in load().phrases:
        assert one.any
        assert not one.all
    for one in load().spoken:
        assert bool(one.any) is (one.where == "raw")
        assert bool(one.all) is (one.where != "raw")


def _of_results() -> list[Signal]:
    known = load("results")
    return [one for one in (*known.phrases, *known.spoken) if one.id.startswith("result-")]


@pytest.mark.parametrize("signal", _of_results(), ids=lambda one: one.id)
def test_a_signal_of_results_is_found_where_it_is_and_nowhere_else(signal: Signal) -> None:
    def found(text: str) -> bool:
        return signal.id in {one.signal.id for one in findings([Said(text)], of="results")}

    assert signal.found
    assert signal.plain
    assert [one for one in signal.found if not found(one)] == []
    assert [one for one in signal.plain if found(one)] == []


def test_results_have_signals_of_their_own_and_those_that_their_file_counts() -> None:
    known = load("results")
    shared = {one.id: one.points for one in (*known.phrases, *known.spoken)}
    own = {one.id for one in _of_results()}
    assert set(shared) - own < {one.id for one in _all()}
    assert all(1 <= points <= HELD_AT for points in shared.values())
    asked = {group for one in known.spoken for group in (*one.all, *one.none)}
    assert asked <= set(known.groups)
    assert "quoted" in {name for name, one in known.groups.items() if one.late}
