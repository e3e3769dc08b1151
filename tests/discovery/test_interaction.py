from __future__ import annotations

import numpy as np
import pytest

from gatewright.discovery.interaction import WORDS, Reader, matched, spelled_out
from gatewright.discovery.postings import Postings
from gatewright.discovery.vector_store import VectorStore
from gatewright.discovery.word_vectors import table
from gatewright.discovery.words import Word
from gatewright.transport.slices import whole


def word(text: str, *concepts: str, known: bool = True) -> Word:
    row, weight = table().row(text) if known else (-1, 0.0)
    return Word(text, concepts, row, weight)


def reader(*tools: str, hidden: int | None = None) -> Reader:
    """Tools that have only these words, and each the concept of its number."""
    store, postings = VectorStore(table().dimensions), Postings()
    store.grow(len(tools))
    seen = np.ones(len(tools), np.bool_)
    for slot, said in enumerate(tools):
        rows = [table().row(one)[0] for one in said.split()]
        store.put(slot, np.ones(table().dimensions, np.float32), [one for one in rows if one >= 0])
        postings.add(slot, {**dict.fromkeys(said.split(), 1.0), f"#{slot}": 1.0})
    if hidden is not None:
        seen[hidden] = False
    count, having = int(seen.sum()), {}
    for term in postings.terms():
        slots, _ = postings.of(term)
        having[term] = (
            slots,
            float(np.log(1 + (count - seen[slots].sum() + 0.5) / (seen[slots].sum() + 0.5))),
        )
    unknown = float(np.log(1 + (count + 0.5) / 0.5))
    return Reader(having, unknown, len(tools), store, table(), lambda slot: tools[slot].split())


def of(words: list[Word], held: Reader) -> list[float]:
    return [round(float(one), 3) for one in whole(matched(words, np.arange(held.size), held))]


def spelled(words: list[Word], held: Reader) -> list[float]:
    return [float(one) for one in whole(spelled_out(words, np.arange(held.size), held))]


def test_a_word_looks_for_its_own_best() -> None:
    rain, bank = of([word("weather")], reader("rain alarm clock garden sofa", "money bank"))
    assert rain > bank + 0.1


def test_the_word_itself_fits_wholly_and_a_concept_nearly() -> None:
    assert of([word("zebra")], reader("zebra", "invoice"))[0] == 1
    assert of([word("xyzzy", known=False)], reader("xyzzy", "invoice")) == [1, 0]
    assert of([word("", "#1", known=False)], reader("xyzzy", "invoice")) == [0, 0.75]


def test_a_rare_word_counts_more_than_one_that_all_have() -> None:
    held = reader("tool xyzzy", "tool qwert", "tool asdfg")
    rare, _, other = of([word("tool", known=False), word("xyzzy", known=False)], held)
    assert rare == 1
    assert other < 0.5


def test_what_is_hidden_makes_no_word_less_rare() -> None:
    words = [word("tool", known=False), word("xyzzy", known=False)]
    shown = of(words, reader("tool", "xyzzy", "tool xyzzy", hidden=2))
    assert shown[:2] == of(words, reader("tool", "xyzzy"))


def test_a_long_query_costs_no_more_than_its_first_words() -> None:
    held = reader("zebra")
    filler = [word(f"xq{n}", known=False) for n in range(WORDS)]
    assert of([*filler, word("zebra")], held) == [0]


@pytest.mark.parametrize("words", [[], [word("")]])
def test_nothing_fits_no_words(words: list[Word]) -> None:
    assert of(words, reader("zebra")) == [0]
    assert not len(whole(matched(words, np.zeros(0, np.intp), reader("zebra"))))


def test_a_name_of_which_every_word_is_said_is_spelled_out() -> None:
    held = reader("read file", "read mail quickly", "sofa")
    both, some, none = spelled([word("read"), word("file"), word("please")], held)
    assert both > 0.4
    assert 0 < some < both / 4
    assert none == 0
    assert spelled([word("read")], reader("read", "read file"))[0] < both


def test_names_are_read_a_few_at_a_time() -> None:
    held = reader(*["read file"] * 40)
    assert len(list(spelled_out([word("read")], np.arange(40), held))) >= 10
