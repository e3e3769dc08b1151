"""Fuses search stages (BM25F with concepts, spelling, name trigrams, word vectors) into one score, weighted by kind of query.

Each stage finds its best tools; every tool found is then judged by all stages, as features between 0 and 1, and by their
weighted sum. The weights are different for short queries and for sentences: a few words that are a tool's name are no intent.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from functools import partial

import msgspec
import numpy as np
from numpy.typing import NDArray

from gatewright.discovery.embedded_tools import Meant
from gatewright.discovery.interaction import Reader, matched, spelled_out
from gatewright.discovery.postings import Bools, Floats, Postings, Slots, Spelling
from gatewright.discovery.query import Query
from gatewright.discovery.vector_store import VectorStore
from gatewright.discovery.word_vectors import Table

__all__ = ["FEATURES", "Sight", "candidates", "features", "judged"]

FEATURES = ("lexical", "share", "concepts", "vector", "clause", "name", "fuzzy")

_KEPT = 200
_FIRST_LOOK = 1000
_SPELLINGS = 4
_MISSPELT = 6
_TRIPLES = 8
_SAMPLED = 8
_MANY = 2
_FITS = 0.35
"""What of the best score a tool needs to count as one that fits."""

_KEYWORD = (1.0, 0.2, 0.0, 0.0, 0.0, 1.0, 0.7)
_SEMANTIC = (0.0, 0.0, 0.4, 1.0, 0.3, 0.0, 0.0)
_AUTO = (
    (-0.19, 0.44, 0.63, 0.76, 0.39, -0.26, 0.19),
    (0.40, 0.46, -0.15, -0.41, -0.33, 2.27, 1.80),
    (0.25, 0.49, -1.86, 0.19, 0.13, -0.59, -0.62),
    (0.46, 1.08, -0.51, -0.52, -0.20, -2.49, -0.48),
)
"""Weights of the features: always; times how well the best name fits, squared; times the best share of the words that one
tool has; times the length in words, of 30. Fitted on development queries, and held against others (`benchmarks/retrieval`)."""
_LONG = 30
_READ = 64
_NAMED = 24
_SPELLED_OUT = 0.6
_MATCHED = 0.4
"""How much late interaction adds to the best score, of 1."""
_MEANT = {"auto": 0.8, "semantic": 1.5}
"""How much a stronger embedder adds to it for a tool that is far above the others."""
_FAR = 1.3
"""How many standard deviations more than the best of as many numbers by chance."""
_USUAL = 1000
"""Tools of which it is known how far away the usual one is."""


class Sight(msgspec.Struct, frozen=True):
    """What an asker sees of the index: `seen` is true for slots that may be found."""

    seen: Bools
    postings: Postings
    names: Postings
    spelling: Spelling
    vectors: VectorStore
    table: Table
    named: Callable[[int], Sequence[str]]
    """The terms of a tool's name."""
    meant: Meant | None = None
    """What a stronger embedder says of the query and of tools."""


class _Stages(msgspec.Struct, frozen=True):
    """For every slot, what each stage says of it; `most` is what all words of the query together would be worth; `near` are the
    slots that are nearest by their vectors."""

    lexical: Floats
    concepts: Floats
    fuzzy: Floats
    name: Floats
    most: float
    near: NDArray[np.intp]
    having: dict[str, tuple[Slots, float]]


def judged(
    asked: Query, sight: Sight, strategy: str
) -> Generator[None, None, tuple[list[int], Floats, str]]:
    """The slots that fit, best first, with scores from 0 to 1, and the strategy really used."""
    slots, table, having = yield from features(asked, sight)
    if not len(slots):
        return [], np.zeros(0, np.float32), strategy
    scores = table @ _weights(asked, table, strategy)
    if strategy == "auto":
        scores = yield from _read_again(asked, sight, slots, scores, table, having)
    if sight.meant is not None and strategy in _MEANT:
        scores = _with_meaning(sight, slots, scores, table, _MEANT[strategy])
    order = np.argsort(-scores, kind="stable")
    best = float(scores[order[0]])
    if best <= 0:
        return [], np.zeros(0, np.float32), strategy
    fitting = order[scores[order] >= best * _FITS]
    return [int(one) for one in slots[fitting]], scores[fitting] / best, strategy


def _read_again(
    asked: Query,
    sight: Sight,
    slots: NDArray[np.intp],
    scores: Floats,
    table: Floats,
    having: dict[str, tuple[Slots, float]],
) -> Generator[None, None, Floats]:
    """The scores, with what late interaction says of the best (the less, the better a name fits), and whose names are spelled out."""
    chosen = _best(scores, _READ)
    best = float(scores.max(initial=0.0))
    if best <= 0:
        return scores
    unknown = float(np.log(1 + (int(sight.seen.sum()) + 0.5) / 0.5))
    reader = Reader(having, unknown, len(sight.seen), sight.vectors, sight.table, sight.named)
    said = yield from matched(asked.words, slots[chosen], reader)
    # Who has all words of its name in the query is among those that have most of the query's words.
    worded = _best(table[:, FEATURES.index("lexical")], _NAMED)
    spelled = yield from spelled_out(asked.words, slots[worded], reader)
    named = float(table[:, FEATURES.index("name")].max()) ** 2
    again: Floats = scores / np.float32(best)
    again[chosen] += np.float32(_MATCHED * max(0.0, 1 - named)) * _of_most(said)
    again[worded] += np.float32(_SPELLED_OUT) * spelled
    return again


def _with_meaning(sight: Sight, slots: Slots, scores: Floats, table: Floats, most: float) -> Floats:
    """The scores, with what a stronger embedder says: the less, the better a name fits."""
    best, meant = float(scores.max(initial=0.0)), sight.meant
    if best <= 0 or meant is None or not meant.held[slots].any():
        return scores
    # Models differ in what a cosine of theirs says; how far it is above the usual one is the same for all.
    some = np.flatnonzero(sight.seen & meant.held[: len(sight.seen)])
    usual = meant.vectors.exactly(meant.asked[None], some[:: max(1, len(some) // _USUAL)])
    near = meant.vectors.exactly(meant.asked[None], slots)[:, 0]
    above = np.maximum(near - usual.mean(), 0) / max(usual.std() * _far(len(some)), 1e-3)
    # A tool without a vector is judged by the built-in ones.
    built_in = _of_most(table[:, FEATURES.index("vector")]) * above.max()
    above = np.where(meant.held[slots], above, np.maximum(built_in, 0))
    named = float(table[:, FEATURES.index("name")].max()) ** 2
    again: Floats = scores / np.float32(best) + np.float32(most * (1 - named)) * above**2
    return again


def _far(count: int) -> float:
    """How many standard deviations the best of so many is above the usual one if it fits well; with few it cannot be far."""
    return float(min((2 * np.log(max(count, 2))) ** 0.5 + _FAR, max(count - 1, 1) ** 0.5))


def _weights(asked: Query, table: Floats, strategy: str) -> Floats:
    """The weight of each feature for this query."""
    if strategy != "auto":
        return np.asarray(_KEYWORD if strategy == "keyword" else _SEMANTIC, dtype=np.float32)
    best = table.max(axis=0)
    gates = np.array(
        [
            1.0,
            best[FEATURES.index("name")] ** 2,
            best[FEATURES.index("share")],
            min(len(asked.terms), _LONG) / _LONG,
        ]
    )
    weights: Floats = (gates @ np.asarray(_AUTO)).astype(np.float32)
    return weights


def features(
    asked: Query, sight: Sight
) -> Generator[None, None, tuple[Slots, Floats, dict[str, tuple[Slots, float]]]]:
    """The candidates and what each stage says of them, in the order of `FEATURES`; and the slots that have each term of the
    query, with how rare it is."""
    if not sight.seen.any():
        return np.zeros(0, np.intp), np.zeros((0, len(FEATURES)), np.float32), {}
    stages = yield from _staged(asked, sight)
    slots = candidates(stages)
    yield
    said = sight.vectors.exactly(np.stack([asked.vector, *asked.clauses]), slots)
    near, clause = said[:, 0], said[:, bool(asked.clauses) :].max(axis=1)
    yield
    columns = (
        _of_most(stages.lexical[slots]),
        stages.lexical[slots] / max(stages.most, 1e-6),
        _of_most(stages.concepts[slots]),
        np.maximum(near, 0),
        np.maximum(clause, 0),
        stages.name[slots],
        _of_most(stages.fuzzy[slots]),
    )
    return slots, np.stack(columns, axis=1).astype(np.float32), stages.having


def candidates(stages: _Stages) -> NDArray[np.intp]:
    """The best slots of each stage."""
    found = [
        _best(stages.lexical + stages.concepts, _KEPT),
        _best(stages.fuzzy, _KEPT // 4),
        _best(stages.name, _KEPT // 4),
        stages.near,
    ]
    chosen = np.zeros(len(stages.lexical), dtype=np.bool_)
    chosen[np.concatenate(found)] = True
    return np.flatnonzero(chosen)


def _staged(asked: Query, sight: Sight) -> Generator[None, None, _Stages]:
    count = int(sight.seen.sum())
    lexical, most, had = yield from _summed(asked.terms, sight.postings, sight.seen, count)
    concepts, _, also = yield from _summed(asked.concepts, sight.postings, sight.seen, count)
    spelled = yield from _spelled(asked, sight, had)
    fuzzy, _, _ = yield from _summed(spelled, sight.postings, sight.seen, count)
    name = yield from _alike(asked.triples, sight)
    yield
    near = sight.vectors.nearest(asked.vector, sight.seen, _FIRST_LOOK)
    if (meant := sight.meant) is not None:
        yield
        also_near = meant.vectors.nearest(meant.asked, sight.seen & meant.held, _FIRST_LOOK)
        near = np.concatenate([near, also_near])
    return _Stages(lexical, concepts, fuzzy, name, most, near, {**had, **also})


def _summed(
    terms: dict[str, float], postings: Postings, seen: Bools, count: int
) -> Generator[None, None, tuple[Floats, float, dict[str, tuple[Slots, float]]]]:
    """The sum of impacts of the terms, each times how rare it is among what is seen; the most that it could be; and
    for each term the slots and how rare it is."""
    scores = np.zeros(len(seen), dtype=np.float32)
    most = 0.0
    held: dict[str, tuple[Slots, float]] = {}
    for term, weight in terms.items():
        slots, impacts = _held(term, postings, len(seen))
        having = _seen_of(slots, seen, count)
        rarity = float(np.log(1 + (count - having + 0.5) / (having + 0.5)))
        if having:
            # What is not seen is taken out of the sum: that is one pass for all terms.
            np.add.at(scores, slots, impacts * np.float32(weight * rarity / 255))
        most += weight * rarity
        held[term] = slots if having else slots[:0], rarity
        yield
    if count < len(seen):
        scores *= seen
    return scores, most, held


def _held(term: str, postings: Postings, size: int) -> tuple[NDArray[np.intp], NDArray[np.uint8]]:
    """The slots that have a term, and its impacts; without slots that are newer than the search."""
    slots, impacts = postings.of(term)
    if len(slots) and int(slots.max()) >= size:
        known = slots < size
        return slots[known], impacts[known]
    return slots, impacts


def _seen_of(slots: NDArray[np.intp], seen: Bools, count: int) -> int:
    return len(slots) if count == len(seen) else int(np.count_nonzero(seen[slots]))


def _spelled(
    asked: Query, sight: Sight, had: Mapping[str, tuple[Slots, float]]
) -> Generator[None, None, dict[str, float]]:
    """Terms of tools that are spelled like terms of the query which no tool has."""
    found: dict[str, float] = {}
    unknown = [(term, weight) for term, weight in asked.terms.items() if not len(had[term][0])]
    is_seen = partial(sight.postings.any_of, among=sight.seen)
    for term, weight in unknown[:_MISSPELT]:
        yield
        like = yield from sight.spelling.like(term, is_seen)
        for other, alike in like[:_SPELLINGS]:
            found[other] = max(found.get(other, 0.0), weight * alike)
    return found


def _alike(triples: list[str], sight: Sight) -> Generator[None, None, Floats]:
    """How alike each name is to the query, by triples that both have (Dice's coefficient)."""
    size = len(sight.seen)
    scores = np.zeros(size, dtype=np.float32)
    lengths = np.zeros(size, dtype=np.float32)
    for at, one in enumerate(triples):
        slots, sizes = _held(one, sight.names, size)
        scores[slots] += 1  # a slot is in a list once
        lengths[slots] = sizes
        if at % _TRIPLES == 0:
            yield
    scores *= 2 / (lengths + max(len(triples), 1))
    scores *= sight.seen
    return scores


def _best(scores: Floats, most: int) -> NDArray[np.intp]:
    """The places of the best scores above zero."""
    least, sample = np.float32(0), scores[::_SAMPLED]
    sample = sample[sample > 0]
    if len(sample) > _MANY * most:
        # What the best of some are above, most are not: so few of many are compared with each other.
        least = np.partition(sample, len(sample) - most)[len(sample) - most]
    found = np.flatnonzero(scores >= least if least > 0 else scores > 0)
    if len(found) > most:
        return found[np.argpartition(scores[found], -most)[-most:]]
    return found


def _of_most(values: Floats) -> Floats:
    largest = float(values.max(initial=0.0))
    return values / np.float32(largest) if largest > 0 else values
