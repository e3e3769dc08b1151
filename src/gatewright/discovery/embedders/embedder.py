"""`Embedder`: interface of what makes vectors of texts, with its errors; checks that vectors are such, and makes them unit length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gatewright.discovery.postings import Floats

__all__ = ["MOST_DIMENSIONS", "Embedder", "EmbeddingFailed", "QueryLeftOut", "unit_rows"]

MOST_DIMENSIONS = 4096


class EmbeddingFailed(Exception):  # noqa: N818 - what happened, not what is wrong with us
    """There are no vectors. The text says why."""


class QueryLeftOut(EmbeddingFailed):
    """There is no vector of this query, which says nothing of the next one."""


class Embedder(Protocol):
    """Makes vectors of texts. All of one identity have the same number of components."""

    async def identity(self) -> str:
        """What its vectors depend on: those of one identity may be compared. Raises `EmbeddingFailed`."""

    async def embed(self, texts: Sequence[str], *, asked: bool) -> Floats:
        """A row of length 1 for each text; `asked` are queries, others say what a tool is. Raises `EmbeddingFailed`."""

    async def close(self) -> None:
        """End what it has going on."""


def unit_rows(found: NDArray[np.floating[Any]], texts: int) -> Floats:
    """The rows, of length 1; those of nothing stay zero. Raises `EmbeddingFailed` where they are no vectors of so many texts."""
    if found.ndim != 2 or len(found) != texts or not 1 <= found.shape[1] <= MOST_DIMENSIONS:
        shape = " by ".join(map(str, found.shape))
        raise EmbeddingFailed(f"there are {shape} numbers for {texts} texts")
    with np.errstate(over="ignore"):  # what is too large has no length
        lengths = np.linalg.norm(found.astype(np.float64), axis=1, keepdims=True)
    if not np.isfinite(lengths).all():
        raise EmbeddingFailed("a vector has components that are no numbers")
    rows: Floats = (found / np.maximum(lengths, 1e-12)).astype(np.float32)
    return rows
