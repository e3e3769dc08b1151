"""Static word vectors (embeddings) of the package: the table `vectors.npz`, a word's row and weight in it, and pooling of a text's words.

A text's vector is the weighted sum of its words' vectors, of length 1. The table has English words in one space; docs/decisions/0070
says how it was made.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from gatewright.discovery.postings import Floats

__all__ = ["NO_ROW", "Table", "table"]

NO_ROW = 65535
"""Where a text has fewer words than rows are kept."""


class Table:
    """Words and their vectors."""

    def __init__(
        self, words: Sequence[str], codes: NDArray[np.int8], scales: Floats, weights: Floats
    ) -> None:
        """`codes` is [words, dimensions], a row to be multiplied by its scale; `weights` is how much a word says (0 to 1)."""
        self._rows = {word: row for row, word in enumerate(words)}
        self._codes, self._scales, self._weights = codes, scales, weights
        self.dimensions = int(codes.shape[1])
        lengths = np.linalg.norm(codes.astype(np.float32), axis=1)
        self._sizes = 1 / np.maximum(np.append(lengths, 1).astype(np.float32), 1e-6)

    def row(self, word: str) -> tuple[int, float]:
        """Its row and its weight; -1 and 0 where it has none."""
        row = self._rows.get(word, -1)
        return (row, float(self._weights[row])) if row >= 0 else (-1, 0.0)

    def unit(self, rows: NDArray[np.integer[Any]]) -> Floats:
        """The vectors of these rows, of length 1; zeros for `NO_ROW`."""
        there = rows < len(self._codes)
        found = self._codes[np.where(there, rows, 0)].astype(np.float32)
        found *= (self._sizes[np.where(there, rows, 0)] * there)[:, None]
        return found

    def pool(self, rows: Sequence[int], weights: Sequence[float]) -> Floats:
        """The vector of a text of such words; zeros where there are none."""
        if not rows:
            return np.zeros(self.dimensions, dtype=np.float32)
        at = np.array(rows, dtype=np.intp)
        times = np.array(weights, dtype=np.float32) * self._scales[at]
        summed = times @ self._codes[at].astype(np.float32)
        length = float(summed @ summed) ** 0.5
        return summed / np.float32(length) if length > 0 else summed


@cache
def table() -> Table:
    """The table of the package, read once. From then on linear algebra in this process uses one thread."""
    # Products of this size take several threads longer than one, as they wait for each other; and calls need the other cores.
    threadpool_limits(1, "blas")
    with resources.files("gatewright.discovery").joinpath("vectors.npz").open("rb") as file:
        held = np.load(file, allow_pickle=False)
        words = bytes(held["words"]).decode("utf-8").split("\n")
        return Table(
            words,
            held["codes"],
            held["scales"].astype(np.float32),
            held["weights"].astype(np.float32),
        )
