"""Static word vectors: the packaged table, pooling of texts, and a store of tool vectors in int8 with a float32 head for a first look.

A text's vector is the weighted sum of its words' vectors, of length 1. The table (`vectors.npz`) has English words in one
space; docs/decisions/0070 says how it was made. Its components are ordered by how much they tell, so that the first ones alone find
the candidates, and all of them are compared for these only.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from gatewright.discovery.postings import Floats

__all__ = ["Table", "VectorStore", "table"]

_HEAD = 64


class Table:
    """Words and their vectors."""

    def __init__(
        self, words: Sequence[str], codes: NDArray[np.int8], scales: Floats, weights: Floats
    ) -> None:
        """`codes` is [words, dimensions], a row to be multiplied by its scale; `weights` is how much a word says (0 to 1)."""
        self._rows = {word: row for row, word in enumerate(words)}
        self._codes, self._scales, self._weights = codes, scales, weights
        self.dimensions = int(codes.shape[1])

    def row(self, word: str) -> tuple[int, float]:
        """Its row and its weight; -1 and 0 where it has none."""
        row = self._rows.get(word, -1)
        return (row, float(self._weights[row])) if row >= 0 else (-1, 0.0)

    def pool(self, rows: Sequence[int], weights: Sequence[float]) -> Floats:
        """The vector of a text of such words; zeros where there are none."""
        if not rows:
            return np.zeros(self.dimensions, dtype=np.float32)
        times = np.asarray(weights, dtype=np.float32) * self._scales[rows]
        summed = times @ self._codes[rows].astype(np.float32)
        length = float(np.linalg.norm(summed))
        return summed / np.float32(length) if length > 0 else summed


class VectorStore:
    """The vectors of slots."""

    def __init__(self, dimensions: int) -> None:
        self._head = np.zeros((0, min(_HEAD, dimensions)), dtype=np.float32)
        self._codes = np.zeros((0, dimensions), dtype=np.int8)
        self._scales = np.zeros(0, dtype=np.float32)

    def grow(self, slots: int) -> None:
        """Have room for so many."""
        more = slots - len(self._scales)
        if more > 0:
            self._head = np.concatenate(
                [self._head, np.zeros((more, self._head.shape[1]), np.float32)]
            )
            self._codes = np.concatenate(
                [self._codes, np.zeros((more, self._codes.shape[1]), np.int8)]
            )
            self._scales = np.concatenate([self._scales, np.zeros(more, np.float32)])

    def put(self, slot: int, vector: Floats) -> None:
        """Have this vector for the slot."""
        largest = float(np.abs(vector).max(initial=0.0)) or 1.0
        self._head[slot] = vector[: self._head.shape[1]]
        self._codes[slot] = np.rint(vector * (127 / largest))
        self._scales[slot] = largest / 127

    def of(self, slot: int) -> Floats:
        """The vector of a slot, as it is kept."""
        vector: Floats = self._codes[slot].astype(np.float32) * self._scales[slot]
        return vector

    def roughly(self, vector: Floats) -> Floats:
        """How near each slot is, by the first components."""
        near: Floats = self._head @ vector[: self._head.shape[1]]
        return near

    def exactly(self, vector: Floats, slots: NDArray[np.intp]) -> Floats:
        """The cosine of each of these slots."""
        near: Floats = (self._codes[slots].astype(np.float32) @ vector) * self._scales[slots]
        return near


@cache
def table() -> Table:
    """The table of the package, read once."""
    with resources.files("gatewright.discovery").joinpath("vectors.npz").open("rb") as file:
        held = np.load(file, allow_pickle=False)
        words = bytes(held["words"]).decode("utf-8").split("\n")
        return Table(
            words,
            held["codes"],
            held["scales"].astype(np.float32),
            held["weights"].astype(np.float32),
        )
