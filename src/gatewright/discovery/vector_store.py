"""`VectorStore`: one vector of each slot (a tool) in int8, found by the signs of 256 random projections, then compared as they are.

A first look compares, for every tool, on which side of 256 random directions it lies (Charikar, 2002); those that agree in most are
compared as they are.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from gatewright.discovery.postings import Bools, Floats
from gatewright.discovery.word_vectors import NO_ROW

__all__ = ["Coded", "VectorStore"]

Coded = tuple[NDArray[np.int8], np.float32]
"""A vector in eight bits a component, and what they are multiplied by."""

_BITS = 256
_SEED = 1
_ROWS = 40
_AT_ONCE = 4096
_NEVER = 255
_CACHED = 8192
"""Slots that are compared at a time: what is counted for them stays in the processor's cache."""
_MANY = 512


class VectorStore:
    """The vectors of slots."""

    def __init__(self, dimensions: int, words: int = _ROWS) -> None:
        """`words` is how many rows of the table a slot has at most."""
        self._directions = _directions(dimensions)
        self._words = words
        self._signs = np.zeros((_BITS // 64, 0), dtype=np.uint64)
        self._codes = np.zeros((0, dimensions), dtype=np.int8)
        self._scales = np.zeros(0, dtype=np.float32)
        self._rows = np.zeros((0, words), dtype=np.uint16)

    def grow(self, slots: int) -> None:
        """Have room for so many."""
        more = slots - len(self._scales)
        if more > 0:
            signs = np.zeros((len(self._signs), more), np.uint64)
            codes = np.zeros((more, self._codes.shape[1]), np.int8)
            rows = np.full((more, self._words), NO_ROW, np.uint16)
            self._signs = np.concatenate([self._signs, signs], axis=1)
            self._rows = np.concatenate([self._rows, rows])
            self._codes = np.concatenate([self._codes, codes])
            self._scales = np.concatenate([self._scales, np.zeros(more, np.float32)])

    def put(self, slot: int, vector: Floats, rows: Sequence[int] = ()) -> None:
        """Have this vector for the slot, and the first of the rows of the table that its words have."""
        some = list(dict.fromkeys(rows))[: self._words]
        self._rows[slot, : len(some)] = some
        self._rows[slot, len(some) :] = NO_ROW
        largest = float(np.abs(vector).max(initial=0.0)) or 1.0
        self._signs[:, slot] = self._signed(vector)
        self._codes[slot] = np.rint(vector * (127 / largest))
        self._scales[slot] = largest / 127

    def of(self, slot: int) -> Floats:
        """The vector of a slot, as it is kept."""
        codes, scale = self.coded(slot)
        vector: Floats = codes.astype(np.float32) * scale
        return vector

    def coded(self, slot: int) -> Coded:
        """The same: its components in eight bits, and what each is to be multiplied by."""
        return self._codes[slot], self._scales[slot]

    def rows(self, slots: NDArray[np.intp]) -> NDArray[np.uint16]:
        """The rows of the words of these slots, as many for each; `NO_ROW` where there are fewer."""
        return self._rows[slots]

    def nearest(self, vector: Floats, seen: Bools, most: int) -> NDArray[np.intp]:
        """About so many of the slots that are seen, those that have most signs in common with it; more where several have as many,
        up to twice as many: of thousands that say the same, any are as good."""
        if not vector.any():
            return np.zeros(0, np.intp)
        apart = np.zeros(len(seen), dtype=np.uint8)
        other, some = np.zeros(_CACHED, np.uint64), np.zeros(_CACHED, np.uint8)
        signed = self._signed(vector)
        for at in range(0, len(seen), _CACHED):
            part = apart[at : at + _CACHED]
            signs = self._signs[:, at : at + len(part)]
            _count_apart(signs, signed, part, other[: len(part)], some[: len(part)])
        apart[~seen] = _NEVER
        below = np.cumsum(np.bincount(apart, minlength=_NEVER + 1))
        bound = min(int(np.searchsorted(below, most)), _NEVER - 1)
        if below[bound] <= 2 * most:
            return np.flatnonzero(apart <= bound)
        nearer = np.flatnonzero(apart < bound)
        alike = np.flatnonzero(apart == bound)[: 2 * most - len(nearer)]
        return np.concatenate([nearer, alike])

    def exactly(self, vectors: Floats, slots: NDArray[np.intp]) -> Floats:
        """The cosine of each of these slots (a row) with each of the vectors (a column)."""
        near: Floats = self._codes[slots].astype(np.float32) @ vectors.T
        near *= self._scales[slots][:, None]
        return near

    def kept(
        self, slots: NDArray[np.intp]
    ) -> Generator[None, None, tuple[bytes, bytes, bytes, bytes]]:
        """What is to be kept of these slots."""
        signs, codes, rows = bytearray(), bytearray(), bytearray()
        for at in range(0, len(slots), _AT_ONCE):
            some = slots[at : at + _AT_ONCE]
            signs += self._signs[:, some].T.tobytes()
            codes += self._codes[some].tobytes()
            rows += self._rows[some].tobytes()
            yield
        return bytes(signs), bytes(codes), self._scales[slots].tobytes(), bytes(rows)

    def take(self, kept: tuple[bytes, bytes, bytes, bytes]) -> None:
        """Have what was kept, from slot 0."""
        signs, codes, scales, rows = kept
        self._scales = np.frombuffer(scales, np.float32).copy()
        count = len(self._scales)
        self._codes = np.frombuffer(codes, np.int8).reshape(count, self._codes.shape[1]).copy()
        signed = np.frombuffer(signs, np.uint64).reshape(count, len(self._signs))
        self._signs = np.ascontiguousarray(signed.T)
        self._rows = np.frombuffer(rows, np.uint16).reshape(count, self._words).copy()

    def _signed(self, vector: Floats) -> NDArray[np.uint64]:
        """On which side of each direction it lies, a bit for each."""
        return np.packbits(self._directions @ vector > 0).view(np.uint64)


def _count_apart(
    signs: NDArray[np.uint64],
    signed: NDArray[np.uint64],
    apart: NDArray[np.uint8],
    other: NDArray[np.uint64],
    some: NDArray[np.uint8],
) -> None:
    """Add to `apart` how many signs of each slot are another one; the last two are room to count in."""
    for there, sign in zip(signs, signed, strict=True):
        np.bitwise_count(np.bitwise_xor(there, sign, out=other), out=some)
        apart += np.minimum(some, _NEVER - apart)  # as far apart as can be is not quite near


@cache
def _directions(dimensions: int) -> Floats:
    """As many as there are bits."""
    dice = np.random.default_rng(_SEED)
    if dimensions > _MANY:  # in so many dimensions any are nearly at right angles
        return dice.standard_normal((_BITS, dimensions), dtype=np.float32)
    # Of fewer directions than bits each bit would say the same as another.
    square = dice.standard_normal((max(_BITS, dimensions), dimensions))
    found: Floats = np.linalg.qr(square)[0][:_BITS].astype(np.float32)
    return found
