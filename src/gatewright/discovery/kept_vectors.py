"""`KeptVectors`: the configured embedder's tool vectors, kept in a file by digest of the embedded text, so that a restart embeds nothing anew.

The file is of one embedder; it has a first line, a digest of all that comes after, the identity of the embedder, and digests, scales and
components of all vectors. It is mapped, not read: what of it is used is in memory by then.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from gatewright.discovery.postings import Floats
from gatewright.discovery.vector_store import Coded
from gatewright.storage.private_file import replace_from_parts

__all__ = ["FILE", "KeptVectors", "load_vectors", "store_vectors"]

FILE = "tool-vectors"

log = logging.getLogger("gatewright.discovery")

_HEAD = b"gatewright tool vectors 1\n"
_DIGEST = 32
_KEY = 16
_MOST_BYTES = 2**30
_AT_ONCE = 1 << 20


class _Said(msgspec.Struct):
    identity: str
    dimensions: int
    count: int


class KeptVectors:
    """Vectors by digest of their text, in eight bits a component."""

    def __init__(
        self, keys: NDArray[np.uint8], scales: Floats, codes: NDArray[np.int8], identity: str = ""
    ) -> None:
        """`keys` is [vectors, 16 bytes], `codes` [vectors, dimensions]."""
        self.identity = identity
        self._keys, self._scales, self._codes = keys, scales, codes
        firsts = keys[:, :8].copy().view(np.uint64).ravel()
        self._order = np.argsort(firsts, kind="stable")
        self._firsts = firsts[self._order]

    @classmethod
    def empty(cls) -> KeptVectors:
        """Nothing is kept."""
        return cls(
            np.zeros((0, _KEY), np.uint8), np.zeros(0, np.float32), np.zeros((0, 1), np.int8)
        )

    def __len__(self) -> int:
        return len(self._scales)

    @property
    def dimensions(self) -> int:
        """How many components each has."""
        return int(self._codes.shape[1])

    def of(self, key: bytes) -> Coded | None:
        """The vector of a text, by its digest."""
        first = np.frombuffer(key[:8], np.uint64)[0]
        at = int(np.searchsorted(self._firsts, first))
        while at < len(self._firsts) and self._firsts[at] == first:
            row = self._order[at]
            if self._keys[row].tobytes() == key:
                return self._codes[row], self._scales[row]
            at += 1
        return None


def load_vectors(file: Path, identity: str) -> KeptVectors:
    """What a file has of an embedder; nothing, and a line in the log, where it is damaged; nothing where it is another's."""
    try:
        if not file.exists():
            return KeptVectors.empty()
        return _read(file, identity)
    except (OSError, ValueError) as problem:
        log.warning("tools are embedded anew: %s: %s", file, problem)
        return KeptVectors.empty()


def store_vectors(
    file: Path, identity: str, keys: Sequence[bytes], scales: Floats, codes: NDArray[np.int8]
) -> None:
    """Write a file in the place of what is there: a key, a scale and a row of codes for each vector. For a thread. OSError."""
    head = msgspec.json.encode(_Said(identity, int(codes.shape[1]), len(keys)))
    parts = [len(head).to_bytes(8), head, b"".join(keys), scales.tobytes(), codes.tobytes()]
    digest = hashlib.blake2b(digest_size=_DIGEST)
    for one in parts:
        digest.update(one)
    replace_from_parts(file, [_HEAD, digest.digest(), *parts])


def _read(file: Path, identity: str) -> KeptVectors:
    with file.open("rb") as content:
        size = os.fstat(content.fileno()).st_size
        if size > _MOST_BYTES:
            raise ValueError("it is longer than any file of vectors")
        if content.read(len(_HEAD)) != _HEAD:
            raise ValueError("it has no vectors of this form")
        digest, found = content.read(_DIGEST), hashlib.blake2b(digest_size=_DIGEST)
        start = content.tell()
        while piece := content.read(_AT_ONCE):
            found.update(piece)
        if digest != found.digest():
            raise ValueError("it is damaged")
        content.seek(start)
        length = int.from_bytes(content.read(8))
        said = msgspec.json.decode(content.read(min(length, size)), type=_Said)
        at = content.tell()
    if said.identity != identity or not said.count:
        return KeptVectors.empty()
    if (
        min(said.count, said.dimensions) < 1
        or at + said.count * (_KEY + 4 + said.dimensions) != size
    ):
        raise ValueError("it is not as long as it says")
    mapped = np.memmap(file, np.uint8, "r")
    keys, at = mapped[at : at + said.count * _KEY], at + said.count * _KEY
    scales, at = mapped[at : at + said.count * 4], at + said.count * 4
    return KeptVectors(
        np.array(keys).reshape(said.count, _KEY),
        np.array(scales).view(np.float32),
        mapped[at:].view(np.int8).reshape(said.count, said.dimensions),
        identity,
    )
