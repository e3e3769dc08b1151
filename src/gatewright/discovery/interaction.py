"""Late interaction: how well each word of a query is matched by the best word of a tool, weighted by how rare the word is.

A sum of a tool's words hides one word that fits among many that do not; here each word of the query looks for its own best (Khattab and
Zaharia, 2020, with static vectors). For the few tools that the stages before found best.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from gatewright.discovery.postings import Bools, Floats, Postings
from gatewright.discovery.vectors import Table, VectorStore
from gatewright.discovery.words import Word

__all__ = ["WORDS", "Reader", "matched"]

WORDS = 24
"""Words of a query that are looked at."""
_CONCEPT = 0.75
_UNKNOWN = 0.6
_SCRIPT = 4.0
"""How rare a word counts that is a concept alone."""


class Reader(msgspec.Struct, frozen=True):
    """What is read of tools."""

    seen: Bools
    count: int
    postings: Postings
    vectors: VectorStore
    table: Table


def matched(
    words: Sequence[Word], slots: NDArray[np.intp], reader: Reader
) -> Generator[None, None, Floats]:
    """For each of the slots, the weighted mean of how well the words are matched (0 to 1)."""
    total, summed = 0.0, np.zeros(len(slots), dtype=np.float32)
    if not len(slots):
        return summed
    rows = reader.vectors.rows(slots)
    held = np.unique(rows)
    known = reader.table.unit(held)
    places = np.searchsorted(held, rows)
    wanted = np.zeros(len(reader.seen), dtype=np.float32)
    yield
    for word in words[:WORDS]:
        best = np.zeros(len(slots), dtype=np.float32)
        if word.row >= 0:
            near = np.maximum(known @ reader.table.unit(np.array([word.row]))[0], 0)
            best = near[places].max(axis=1)
        for concept in word.concepts:
            _raise(best, concept, _CONCEPT, wanted, slots, reader)
        having = _raise(best, word.term, 1.0, wanted, slots, reader) if word.term else 0
        rarity = np.log(1 + (reader.count - having + 0.5) / (having + 0.5))
        weight = (word.weight if word.row >= 0 else _UNKNOWN) * (rarity if word.term else _SCRIPT)
        summed += np.float32(weight) * best
        total += weight
        yield
    return summed / np.float32(total) if total > 0 else summed


def _raise(
    best: Floats,
    term: str,
    least: float,
    scratch: Floats,
    slots: NDArray[np.intp],
    reader: Reader,
) -> int:
    """Count a term as matched at least so well where a tool has it; how many that are seen have it."""
    having, _ = reader.postings.of(term)
    having = having[having < len(scratch)]
    scratch[having] = least
    np.maximum(best, scratch[slots], out=best)
    scratch[having] = 0
    return int(np.count_nonzero(reader.seen[having]))
