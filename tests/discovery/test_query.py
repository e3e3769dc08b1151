from __future__ import annotations

import pytest

from gatewright.discovery.index import Entry
from gatewright.discovery.lexicon import lexicon
from gatewright.discovery.query import Query, analysed, impacts_of
from gatewright.discovery.word_vectors import table
from gatewright.discovery.words import Words
from gatewright.transport.slices import whole

WORDS = Words(lexicon(), table().row)


def asked(text: str) -> Query:
    return whole(analysed(text, WORDS, table()))


def impacts(entry: Entry) -> dict[str, float]:
    return impacts_of(entry, WORDS, table())[0]


def test_a_word_of_the_name_counts_more_than_one_of_the_description_or_a_parameter() -> None:
    held = impacts(Entry("t", "acme", "alpha", "beta", ("gamma",), ("delta",)))
    assert 1 > held["alpha"] > held["beta"] > held["gamma"] > 0
    assert held["delta"] > 0
    assert held["acme"] > 0


def test_a_word_in_a_longer_description_counts_less() -> None:
    short = impacts(Entry("t", "s", "n", "beta"))
    long = impacts(Entry("t", "s", "n", "beta " + "other words " * 40))
    assert short["beta"] > long["beta"]


def test_a_tool_is_filed_under_its_concepts() -> None:
    held = impacts(Entry("t", "s", "delete_file", ""))
    assert any(term.startswith("#") for term in held)
    assert set(held) & set(asked("Datei entfernen").concepts)


def test_a_long_task_is_taken_apart_into_clauses() -> None:
    task = "Find the cheapest flight to Rome on Friday, then book a hotel near the station. Send me the summary by email."
    assert len(asked(task).clauses) == 3
    assert asked("find flights").clauses == []


def test_a_query_is_bounded() -> None:
    held = asked(" ".join(f"word{one}x" for one in range(10_000)))
    assert len(held.terms) <= 64
    assert len(held.clauses) <= 8
    assert held.triples == []


@pytest.mark.parametrize("text", ["", "?", "the"])
def test_a_query_without_words_asks_for_nothing(text: str) -> None:
    held = asked(text)
    assert held.terms == {}
    assert held.concepts == {}


def test_of_long_text_that_is_no_words_so_much_is_read() -> None:
    text = "aB9" * 600
    found = asked(" ".join(text[at : at + 150] for at in range(0, len(text), 150)))
    assert len(found.words) <= 400
    assert len(asked(" ".join(f"word{at}x" for at in range(60))).terms) > 50


def test_a_query_whose_characters_stand_for_many_is_folded_in_steps_and_as_far_as_any_other() -> (
    None
):
    """U+FDFA is eighteen characters in NFKC."""
    steps = analysed("\ufdfa" * 2000, WORDS, table())
    assert sum(1 for _ in steps) >= 1
    assert len(asked("\ufdfa" * 2000).text) == 2000
    assert asked("\u00df" * 40).text == "ss" * 40
    assert asked("\u00e4" * 2000).text == "a" * 2000
