"""Types of an audit verification: its result, the first wrong place, and a record known from elsewhere (`--kept`) to compare with."""

from __future__ import annotations

import msgspec

__all__ = ["KnownRecord", "Problem", "Verification"]


class Problem(msgspec.Struct, frozen=True):
    """The first wrong place: a file, where in it, the record expected there, and what is wrong. Record 0 stands for the
    file itself."""

    place: str
    seq: int
    what: str


class Verification(msgspec.Struct, frozen=True):
    """What was found. `problem` is None for a trail that is whole."""

    records: int
    """How many records are there from the first one on without a break, the same wherever they are kept, and
    with nothing that speaks against them. Those that retention took away are not among them."""
    last: int
    """The number of the last of them."""
    hash: str
    """Its hash: with the number, all that is needed to prove all of them later."""
    problem: Problem | None = None
    pruned: int = 0
    """The number of the last record that retention has taken away."""
    unfinished: int = 0
    """Bytes behind the last line: a write that is under way, or one that a crash cut short."""


class KnownRecord(msgspec.Struct, frozen=True):
    """Number and hash of one record, kept outside the trail (the head file, `--kept`); `name` says where, for people."""

    seq: int
    hash: bytes
    name: str
