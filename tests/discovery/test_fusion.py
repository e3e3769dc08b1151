from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from gatewright.discovery import fusion
from gatewright.discovery.embedded_tools import Meanings, Meant
from gatewright.discovery.fusion import FEATURES, Sight, features, judged
from gatewright.discovery.index import Entry
from gatewright.discovery.lexicon import lexicon
from gatewright.discovery.postings import Postings, Spelling
from gatewright.discovery.query import analysed, impacts_of, name_terms
from gatewright.discovery.vector_store import VectorStore
from gatewright.discovery.word_vectors import table
from gatewright.discovery.words import Words
from gatewright.transport.slices import whole

WORDS = Words(lexicon(), table().row)
TOOLS = [
    Entry("read", "f", "read_file", "Read the contents of a file"),
    Entry("mail", "m", "send_email", "Send a message to somebody"),
    Entry("rain", "w", "weather", "Temperature and rain for a city"),
]


def sight(*hidden: int) -> Sight:
    postings, names, spelling = Postings(), Postings(), Spelling()
    vectors = VectorStore(table().dimensions)
    vectors.grow(len(TOOLS))
    for slot, one in enumerate(TOOLS):
        impacts, triples, vector, rows = impacts_of(one, WORDS, table())
        spelling.add(postings.add(slot, impacts))
        names.add(slot, triples)
        vectors.put(slot, vector, rows)
    seen = np.ones(len(TOOLS), dtype=np.bool_)
    seen[list(hidden)] = False
    return Sight(
        seen,
        postings,
        names,
        spelling,
        vectors,
        table(),
        lambda slot: name_terms(TOOLS[slot], WORDS),
    )


def of(query: str, feature: str, *hidden: int) -> dict[int, float]:
    slots, columns, _ = whole(features(whole(analysed(query, WORDS, table())), sight(*hidden)))
    found = columns[:, FEATURES.index(feature)]
    return {int(slot): float(one) for slot, one in zip(slots, found, strict=True)}


def test_each_stage_says_what_it_knows() -> None:
    assert of("read", "lexical")[0] == 1
    assert of("raed", "fuzzy")[0] == 1
    assert of("read_file", "name")[0] == 1
    assert of("umbrella", "vector")[2] > 0.1
    assert of("Nachricht schicken", "concepts")[1] == 1
    assert of("read file", "share")[0] > of("read zebra", "share")[0] > 0


def test_what_is_hidden_is_no_candidate() -> None:
    assert 0 not in of("read file", "lexical", 0)
    assert of("read file", "lexical", 0, 1, 2) == {}


def test_the_best_has_score_one_and_what_hardly_fits_is_left_out() -> None:
    slots, scores, used = whole(
        judged(whole(analysed("read_file", WORDS, table())), sight(), "auto")
    )
    assert slots == [0]
    assert scores.tolist() == [1]
    assert used == "auto"


def test_nothing_fits_a_query_without_words() -> None:
    slots, _, _ = whole(judged(whole(analysed("?", WORDS, table())), sight(), "auto"))
    assert slots == []


def test_a_tool_whose_name_is_spelled_out_in_a_sentence_is_raised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = "temperature and rain in this city are nice, so read file for my trip to the lake"

    def score() -> float:
        slots, scores, _ = whole(judged(whole(analysed(said, WORDS, table())), sight(), "auto"))
        return float(scores[slots.index(0)]) if 0 in slots else 0.0

    raised = score()
    monkeypatch.setattr(fusion, "_SPELLED_OUT", 0.0)
    assert raised > score() + 0.05


def meant(*near: float) -> Meant:
    """A query and tools with these cosines; None is a tool without a vector."""
    held = Meanings("m", 2)
    for slot, cosine in enumerate(near):
        if not np.isnan(cosine):
            held.put(slot, np.array([cosine, (1 - cosine**2) ** 0.5], np.float32))
    found = held.meant(np.array([1, 0], np.float32), len(near))
    assert found is not None
    return found


def best(query: str, said: Meant | None, strategy: str = "auto") -> list[int]:
    seen = replace(sight(), meant=said)
    slots, _, _ = whole(judged(whole(analysed(query, WORDS, table())), seen, strategy))
    return slots


@pytest.mark.parametrize("strategy", ["auto", "semantic"])
def test_a_stronger_embedder_finds_what_no_word_says(strategy: str) -> None:
    assert best("rain somebody", None, strategy)[0] == 2
    assert best("rain somebody", meant(0.1, 0.9, 0.1), strategy)[0] == 1
    assert best("rain somebody", meant(0.1, 0.1, 0.9), strategy)[0] == 2


def test_it_says_nothing_where_a_name_is_asked_for_or_only_keywords_count() -> None:
    assert best("read_file", meant(0.0, 0.9, 0.0))[0] == 0
    assert best("file contents", meant(0.0, 0.9, 0.0), "keyword")[0] == 0


def test_a_tool_without_a_vector_is_not_lost_among_those_with_one() -> None:
    assert best("temperature for a city", meant(0.2, 0.3, float("nan")))[0] == 2


def test_the_scale_of_an_embedder_does_not_matter() -> None:
    low, high = meant(0.02, 0.30, 0.01), meant(0.72, 0.79, 0.719)
    assert best("rain somebody", low)[0] == best("rain somebody", high)[0] == 1
