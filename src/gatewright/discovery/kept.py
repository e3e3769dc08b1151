"""`Kept`: serializable form of the tool index (servers, postings, vectors), with a consistency check; digest of a server's tools."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Sequence

import msgspec
import numpy as np

from gatewright.discovery.postings import Lists

__all__ = ["Kept", "KeptServer", "digest_of", "packed"]

_AT_ONCE = 16
"""Tools between two steps: what is kept of one has up to forty thousand letters."""


class KeptServer(msgspec.Struct, frozen=True):
    """One server's tools, as they are kept."""

    server: str
    digest: bytes
    tools: int
    entries: bytes


class Kept(msgspec.Struct, frozen=True):
    """An index, as it is kept."""

    servers: list[KeptServer]
    postings: Lists
    names: Lists
    terms: list[str]
    spelling: Lists
    vectors: tuple[bytes, bytes, bytes, bytes]

    def check(self) -> None:
        """ValueError: its lists name tools or terms that it has not."""
        tools = sum(one.tools for one in self.servers)
        if len(self.vectors[2]) != tools * np.float32().itemsize:
            raise ValueError("an index has other tools than vectors")
        for lists, shift, many in (
            (self.postings, 8, tools),
            (self.names, 8, tools),
            (self.spelling, 0, len(self.terms)),
        ):
            numbers = np.frombuffer(lists.numbers, np.uint32)
            if len(numbers) and int(numbers.max()) >> shift >= many:
                raise ValueError("the lists of an index go beyond its end")


def digest_of(entries: Sequence[msgspec.Struct]) -> Generator[None, None, bytes]:
    """The same for tools that say the same of themselves."""
    digest = hashlib.blake2b(digest_size=16)
    for at in range(0, len(entries), _AT_ONCE):
        try:
            said = msgspec.msgpack.encode(entries[at : at + _AT_ONCE])
        except UnicodeEncodeError:  # half a pair of surrogates
            said = repr(entries[at : at + _AT_ONCE]).encode()
        digest.update(said)
        yield
    return digest.digest()


def packed(entries: Sequence[msgspec.Struct]) -> Generator[None, None, bytes]:
    """The tools of a server as one list in MessagePack. UnicodeEncodeError: one has half a pair of surrogates."""
    pieces = [b"\xdd" + len(entries).to_bytes(4, "big")]
    for at in range(0, len(entries), _AT_ONCE):
        pieces += map(msgspec.msgpack.encode, entries[at : at + _AT_ONCE])
        yield
    return b"".join(pieces)
