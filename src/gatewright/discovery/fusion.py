"""Fusion of search stages: BM25F with concepts, spelling, name trigrams and word vectors, weighted sums by weights that follow the query.

Each stage finds its best tools; every tool found is then judged by all stages, as features between 0 and 1, and by their
weighted sum. The weights are different for short queries and for sentences: a few words that are a tool's name are no intent.
"""

from __future__ import annotations

from collections.abc import Generator

import msgspec
import numpy as np
from numpy.typing import NDArray

from gatewright.discovery.postings import Bools, Floats, Postings, Spelling
from gatewright.discovery.query import Query
from gatewright.discovery.vectors import VectorStore

__all__ = ["FEATURES", "Sight", "candidates", "features", "judged"]

FEATURES = ("lexical", "share", "concepts", "vector", "clause", "name", "fuzzy")

_KEPT = 200
_FIRST_LOOK = 600
_SPELLINGS = 4
_MISSPELT = 8
_TRIPLES = 8
_FITS = 0.35
"""What of the best score a tool needs to count as one that fits."""

_KEYWORD = (1.0, 0.2, 0.0, 0.0, 0.0, 1.0, 0.7)
_SEMANTIC = (0.0, 0.0, 0.4, 1.0, 0.3, 0.0, 0.0)
_AUTO = (
    (-0.13, 0.59, 0.64, 0.96, 0.78, -0.58, 0.36),
    (0.25, 0.24, -0.02, -0.52, -0.49, 2.46, 1.58),
    (0.39, 0.24, -1.90, 0.13, 0.12, -0.64, -0.42),
    (0.58, 0.30, -0.39, -0.46, -0.27, -0.87, -0.73),
)
"""Weights of the features: always; times how well the best name fits, squared; times the best share of the words that one
tool has; times the length in words, of 30. Fitted on development queries, and held against others (`benchmarks/retrieval`)."""
_LONG = 30


class Sight(msgspec.Struct, frozen=True):
    """What an asker sees of the index: `seen` is true for slots that may be found."""

    seen: Bools
    postings: Postings
    names: Postings
    spelling: Spelling
    vectors: VectorStore


class _Stages(msgspec.Struct, frozen=True):
    """For every slot, what each stage says of it; `most` is what all words of the query together would be worth."""

    lexical: Floats
    concepts: Floats
    fuzzy: Floats
    name: Floats
    near: Floats
    most: float


def judged(
    asked: Query, sight: Sight, strategy: str
) -> Generator[None, None, tuple[list[int], Floats, str]]:
    """The slots that fit, best first, with scores from 0 to 1, and the strategy really used."""
    slots, table = yield from features(asked, sight)
    if not len(slots):
        return [], np.zeros(0, np.float32), strategy
    scores = table @ _weights(asked, table, strategy)
    order = np.argsort(-scores, kind="stable")
    best = float(scores[order[0]])
    if best <= 0:
        return [], np.zeros(0, np.float32), strategy
    fitting = order[scores[order] >= best * _FITS]
    return [int(one) for one in slots[fitting]], scores[fitting] / best, strategy


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


def features(asked: Query, sight: Sight) -> Generator[None, None, tuple[NDArray[np.intp], Floats]]:
    """The candidates and what each stage says of them, in the order of `FEATURES`."""
    if not sight.seen.any():
        return np.zeros(0, np.intp), np.zeros((0, len(FEATURES)), np.float32)
    stages = yield from _staged(asked, sight)
    slots = candidates(stages, sight.seen)
    yield
    near = sight.vectors.exactly(asked.vector, slots)
    clause = near
    if asked.clauses:
        clause = np.max([sight.vectors.exactly(one, slots) for one in asked.clauses], axis=0)
    columns = (
        _of_most(stages.lexical[slots]),
        stages.lexical[slots] / max(stages.most, 1e-6),
        _of_most(stages.concepts[slots]),
        np.maximum(near, 0),
        np.maximum(clause, 0),
        stages.name[slots],
        _of_most(stages.fuzzy[slots]),
    )
    return slots, np.stack(columns, axis=1).astype(np.float32)


def candidates(stages: _Stages, seen: Bools) -> NDArray[np.intp]:
    """The best slots of each stage."""
    found = [
        _best(stages.lexical + stages.concepts, _KEPT),
        _best(stages.fuzzy, _KEPT // 4),
        _best(stages.name, _KEPT // 4),
        _best(np.where(seen, stages.near, 0), _FIRST_LOOK),
    ]
    return np.unique(np.concatenate(found))


def _staged(asked: Query, sight: Sight) -> Generator[None, None, _Stages]:
    count = int(sight.seen.sum())
    lexical, most = yield from _summed(asked.terms, sight.postings, sight.seen, count)
    concepts, _ = yield from _summed(asked.concepts, sight.postings, sight.seen, count)
    spelled = yield from _spelled(asked, sight)
    fuzzy, _ = yield from _summed(spelled, sight.postings, sight.seen, count)
    name = yield from _alike(asked.triples, sight)
    yield
    near = sight.vectors.roughly(asked.vector)[: len(sight.seen)]
    return _Stages(lexical, concepts, fuzzy, name, near, most)


def _summed(
    terms: dict[str, float], postings: Postings, seen: Bools, count: int
) -> Generator[None, None, tuple[Floats, float]]:
    """The sum of impacts of the terms, each times how rare it is among what is seen; and the most that it could be."""
    scores = np.zeros(len(seen), dtype=np.float32)
    most = 0.0
    for term, weight in terms.items():
        held = postings.of(term)
        having, rarity = 0, np.log(1 + (count + 0.5) / 0.5)
        if held is not None:
            slots, impacts = held
            known = slots < len(seen)
            if not known.all():
                slots, impacts = slots[known], impacts[known]
            kept = seen[slots]
            having = int(kept.sum())
        if having:
            rarity = np.log(1 + (count - having + 0.5) / (having + 0.5))
            scores[slots[kept]] += impacts[kept].astype(np.float32) * np.float32(
                weight * rarity / 255
            )
        most += weight * float(rarity)
        yield
    return scores, most


def _spelled(asked: Query, sight: Sight) -> Generator[None, None, dict[str, float]]:
    """Terms of tools that are spelled like terms of the query which no tool has."""
    found: dict[str, float] = {}
    unknown = []
    for term, weight in asked.terms.items():
        yield
        if not _is_seen(term, sight):
            unknown.append((term, weight))
    for term, weight in unknown[:_MISSPELT]:
        yield
        like = [one for one in sight.spelling.like(term) if _is_seen(one[0], sight)]
        for other, alike in like[:_SPELLINGS]:
            found[other] = max(found.get(other, 0.0), weight * alike)
    return found


def _is_seen(term: str, sight: Sight) -> bool:
    held = sight.postings.of(term)
    if held is None:
        return False
    slots = held[0][held[0] < len(sight.seen)]
    return bool(sight.seen[slots].any())


def _alike(triples: list[str], sight: Sight) -> Generator[None, None, Floats]:
    """How alike each name is to the query, by triples that both have (Dice's coefficient)."""
    scores = np.zeros(len(sight.seen), dtype=np.float32)
    lengths = np.zeros(len(sight.seen), dtype=np.float32)
    if not triples:
        return scores
    for at, one in enumerate(triples):
        if at % _TRIPLES == 0:
            yield
        held = sight.names.of(one)
        if held is not None:
            slots, sizes = held
            known = slots < len(scores)
            scores[slots[known]] += 1
            lengths[slots[known]] = sizes[known]
    scores *= 2 / (lengths + len(triples))
    scores[~sight.seen] = 0
    return scores


def _best(scores: Floats, most: int) -> NDArray[np.intp]:
    """The places of the best scores above zero."""
    found = np.flatnonzero(scores > 0)
    if len(found) > most:
        return found[np.argpartition(scores[found], -most)[-most:]]
    return found


def _of_most(values: Floats) -> Floats:
    largest = float(values.max(initial=0.0))
    return values / np.float32(largest) if largest > 0 else values
