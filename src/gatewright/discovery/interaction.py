"""Reranks tool search: best match of each query word among a tool's words (late interaction), and tool names that the query spells out.

A sum of a tool's words hides one word that fits among many that do not; here each word of the query looks for its own best (Khattab and
Zaharia, 2020, with static vectors). For the few tools that the stages before found best.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence

import msgspec
import numpy as np

from gatewright.discovery.postings import Floats, Slots
from gatewright.discovery.vector_store import VectorStore
from gatewright.discovery.word_vectors import NO_ROW, Table
from gatewright.discovery.words import Word

__all__ = ["WORDS", "Reader", "matched", "spelled_out"]

WORDS = 24
"""Words of a query that are looked at."""
_CONCEPT = 0.75
_UNKNOWN = 0.6
_SCRIPT = 4.0
"""How rare a word counts that is a concept alone."""
_RARE = 1.5
_STEP = 4
"""Names between two steps: one of a hundred parts takes half a millisecond, and is not remembered."""
_NONE = np.zeros(0, dtype=np.intp)
_NOTHING = (_NONE, 0.0)


class Reader(msgspec.Struct, frozen=True):
    """What is read of tools. `having` are the slots that have a term of the query, and how rare it is among what is seen."""

    having: Mapping[str, tuple[Slots, float]]
    unknown: float
    """How rare a term is that nothing has."""
    size: int
    vectors: VectorStore
    table: Table
    named: Callable[[int], Sequence[str]]
    """The terms of a tool's name."""


def matched(words: Sequence[Word], slots: Slots, reader: Reader) -> Generator[None, None, Floats]:
    """For each of the slots, the weighted mean of how well the words are matched (0 to 1)."""
    total, summed = 0.0, np.zeros(len(slots), dtype=np.float32)
    words = words[:WORDS]
    if not len(slots) or not words:
        return summed
    rows = reader.vectors.rows(slots)
    held, places = np.unique(rows, return_inverse=True)
    yield
    asked = reader.table.unit(np.array([one.row if one.row >= 0 else NO_ROW for one in words]))
    near = np.maximum(reader.table.unit(held) @ asked.T, 0)
    yield
    best = near[places.reshape(rows.shape)].max(axis=1)  # a row for a slot, a column for a word
    yield
    at_slots = np.full(reader.size, -1, dtype=np.int16)
    at_slots[slots] = np.arange(len(slots))
    for at, word in enumerate(words):
        for term, least in (*((one, _CONCEPT) for one in word.concepts), (word.term, 1.0)):
            having = at_slots[reader.having.get(term, _NOTHING)[0]]
            having = having[having >= 0]
            best[having, at] = np.maximum(best[having, at], least)
        rarity = reader.having.get(word.term, (_NONE, reader.unknown))[1] if word.term else _SCRIPT
        weight = (word.weight if word.row >= 0 else _UNKNOWN) * rarity
        summed += np.float32(weight) * best[:, at]
        total += weight
        yield
    return summed / np.float32(total) if total > 0 else summed


def spelled_out(
    words: Sequence[Word], slots: Slots, reader: Reader
) -> Generator[None, None, Floats]:
    """How far the query has every word of each tool's name (0 to 1): more for two that are rare than for one or for common ones."""
    rarities = {
        one.term: reader.having.get(one.term, (_NONE, reader.unknown))[1]
        for one in words
        if one.term
    }
    found = np.zeros(len(slots), dtype=np.float32)
    for at, slot in enumerate(slots):
        name = dict.fromkeys(
            reader.named(int(slot))
        )  # in its order: sums are the same in each process
        both = [rarities[one] for one in name if one in rarities]
        if both:
            share = len(both) / len(name)
            found[at] = share**3 * min(1.0, sum(both) / (_RARE * reader.unknown))
        if at % _STEP == 0:
            yield
    return found
