"""`Meanings`: tool vectors from the configured embedder, by slot of the index; the text of a tool that is embedded, and its digest."""

from __future__ import annotations

import hashlib

import msgspec
import numpy as np

from gatewright.discovery.postings import Bools, Floats
from gatewright.discovery.vector_store import VectorStore
from gatewright.discovery.words import parts, split

__all__ = ["MOST_BYTES", "Meanings", "Meant", "digest_of_text", "text_of"]

MOST_BYTES = 512 * 1024 * 1024
"""What the vectors may take; the tools beyond have none."""
_TEXT_CHARS = 1000
_DIGEST = 16


class Meant(msgspec.Struct, frozen=True):
    """The vector of a query, and those of the tools that it is compared with."""

    asked: Floats
    vectors: VectorStore
    held: Bools
    """Which slots have a vector."""


class Meanings:
    """The vectors of one embedder. `identity` says of which one."""

    def __init__(self, identity: str, dimensions: int) -> None:
        self.identity = identity
        self.dimensions = dimensions
        self.vectors = VectorStore(dimensions, 0)
        self._held: Bools = np.zeros(0, dtype=np.bool_)

    def put(self, slot: int, vector: Floats) -> bool:
        """Have a vector for a slot. False where there is no room for more, or it says nothing."""
        if not vector.any() or (slot + 1) * self.dimensions > MOST_BYTES:
            return False
        if slot >= len(self._held):
            room = max(1024, (slot + 1) * 3 // 2)
            self._held = np.concatenate([self._held, np.zeros(room - len(self._held), np.bool_)])
            self.vectors.grow(room)
        self.vectors.put(slot, vector)
        self._held[slot] = True
        return True

    def forget(self, slot: int) -> None:
        """The slot is another tool's from now on."""
        if slot < len(self._held):
            self._held[slot] = False

    def has(self, slot: int) -> bool:
        """Whether a slot has a vector."""
        return slot < len(self._held) and bool(self._held[slot])

    def held(self, size: int) -> Bools:
        """Which of the first `size` slots have one."""
        if size <= len(self._held):
            return self._held[:size]
        return np.concatenate([self._held, np.zeros(size - len(self._held), np.bool_)])

    def meant(self, asked: Floats | None, size: int) -> Meant | None:
        """What a search of so many slots compares; None where the query has no vector of this embedder."""
        if asked is None or len(asked) != self.dimensions or not asked.any():
            return None
        self._grow(size)
        return Meant(asked, self.vectors, self.held(size))

    def _grow(self, size: int) -> None:
        if size > len(self._held):
            self._held = self.held(size)
            self.vectors.grow(size)


def text_of(server: str, name: str, description: str) -> str:
    """What is embedded of a tool: its server, its name in words, its description."""
    words = " ".join(word for one in split(name, 200) for word in parts(one))
    return f"{server[:100]} {words}: {description[:_TEXT_CHARS]}"


def digest_of_text(text: str) -> bytes:
    """The same for the same text."""
    # Half a pair of surrogates is no UTF-8.
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=_DIGEST).digest()
