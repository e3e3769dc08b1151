"""Hash chain of the audit journal (SHA-256): seals a record as a line, verifies lines; `Chain` keeps the last number and hash. No I/O.

A line is compact JSON in UTF-8, one record, with `seq` as its first member, `prev_hash` and `hash`
as its last two, and the others in the order of `records.Record`. `hash` is the SHA-256, in hex, of
the line's own bytes up to and without `,"hash"`. Since `prev_hash` is among those bytes, each hash
covers every record before it. The first record has the number 1 and 64 zeros as `prev_hash`.

The bytes of the line are the canonical form. Nothing is ever encoded again to check it, so the
check does not depend on a JSON library.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

import msgspec

__all__ = [
    "GENESIS",
    "BrokenChainError",
    "Chain",
    "ForeignRecordError",
    "Link",
    "read_link",
    "seal",
]

GENESIS = b"0" * 64
"""The `prev_hash` of the first record."""

_SEQ = b'{"seq":'
_PREVIOUS = b',"prev_hash":"'
_HASH = b',"hash":"'
_HEAD = b'{"seq":%d,%b' + _PREVIOUS + b'%b"'
_END = b'"}\n'
_MOST_DIGITS = 19  # SQLite knows no more, and Python makes no number of thousands
_TAIL = len(_PREVIOUS) + 64 + 1 + len(_HASH) + 64 + 2


class BrokenChainError(Exception):
    """A line is not what the chain says must stand here. The message says how it differs."""


class ForeignRecordError(BrokenChainError):
    """A line is a whole record with the right number, of another chain: it names another one before it."""


class Link(msgspec.Struct, frozen=True, gc=False):
    """What a line says about its place."""

    seq: int
    previous: bytes
    hash: bytes


def seal(seq: int, bodies: Iterable[bytes], previous: bytes) -> tuple[bytes, bytes]:
    """Make records (JSON objects with members) lines from number `seq` on, newlines included.

    The second value is the hash of the last, which the next line takes as `previous`.
    """
    lines: list[bytes] = []
    for number, body in enumerate(bodies, seq):
        head = _HEAD % (number, body[1:-1], previous)
        previous = sha256(head).hexdigest().encode()
        lines += (head, _HASH, previous, _END)
    return b"".join(lines), previous


def read_link(line: bytes) -> Link:
    """Read and prove one line (without its newline). Raises `BrokenChainError`."""
    cut = len(line) - _TAIL
    # The tail has a fixed length, so it is found from the end; no member in between has to be parsed.
    if cut < len(_SEQ) or not line.startswith(_SEQ):
        raise BrokenChainError("is not a record")
    tail = line[cut:]
    # 14 bytes name `prev_hash`, 64 are the hash before, 10 name `hash`, 64 are this one.
    if tail[:14] != _PREVIOUS or tail[78:88] != b'"' + _HASH or tail[152:] != b'"}':
        raise BrokenChainError("does not end with its two hashes")
    if sha256(line[: cut + 79]).hexdigest().encode() != tail[88:152]:
        raise BrokenChainError("was changed: its hash does not fit")
    digits = line[len(_SEQ) : line.index(b",")]
    if not digits.isdigit() or len(digits) > _MOST_DIGITS:
        raise BrokenChainError("has no number")
    return Link(int(digits), tail[14:78], tail[88:152])


class Chain:
    """The chain up to one record, ready for the next."""

    __slots__ = ("hash", "seq")

    def __init__(self, seq: int = 0, hash: bytes = GENESIS) -> None:  # noqa: A002 - its name
        self.seq = seq
        self.hash = hash

    def follow(self, line: bytes) -> Link:
        """Take the next line (without its newline). Raises `BrokenChainError`, and stays put."""
        link = read_link(line)
        if link.seq != self.seq + 1:
            raise BrokenChainError(f"is record {link.seq}, and record {self.seq + 1} must be here")
        if link.previous != self.hash:
            raise ForeignRecordError("does not follow the record before it")
        self.seq = link.seq
        self.hash = link.hash
        return link
