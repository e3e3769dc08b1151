"""Proof that the trail is whole: every row, every line of the journal, and where they meet.

The rows must be a chain from record 1, or from the last one that retention took away: then a later
record must vouch for its number and hash (`stores/retention.py`). The lines that the journal still
has must be a chain of their own; it must go through the last row, or begin right behind it. Since each
hash covers all records before it, one equal hash where they meet makes everything before it equal.
At the end, the journal must reach the record that the head file names.

A chain proves only itself: who can write the folder can also make a new chain with a new head. For
that, keep the number and hash of a late record elsewhere and compare them.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from gatewright.stores.chain import GENESIS, BrokenChainError, Chain, Link, read_link
from gatewright.stores.database import Database, DatabaseError
from gatewright.stores.errors import StoreDamagedError
from gatewright.stores.retention import PRUNED
from gatewright.stores.rows import DATABASE, Rows
from gatewright.stores.segments import (
    HEAD,
    Head,
    lines_from,
    read_head,
    segment_numbers,
    segment_path,
)

__all__ = ["Problem", "Verification", "verify"]


class Problem(msgspec.Struct, frozen=True):
    """The first wrong place: a file, where in it, the record expected there, and what is wrong."""

    place: str
    seq: int
    what: str


class Verification(msgspec.Struct, frozen=True):
    """What was found. `problem` is None for a trail that is whole."""

    records: int
    """How many were proven, from the first on."""
    hash: str
    """The hash of the last of them: with the number, all that is needed to prove them later."""
    problem: Problem | None = None
    pruned: int = 0
    """The number of the last record that retention has taken away."""
    unfinished: int = 0
    """Bytes behind the last line: a write that is under way, or one that a crash cut short."""


_FEW = 10_000
_PRUNED = b'"event_type":"%b"' % PRUNED.encode()


class _Gone(msgspec.Struct):
    last: int
    hash: str


class _Announcement(msgspec.Struct):
    """What of a record says that records may be gone."""

    event_type: str
    details: _Gone


_announcement = msgspec.json.Decoder(_Announcement)


class _WrongError(Exception):
    def __init__(self, place: str, seq: int, what: str) -> None:
        super().__init__(what)
        self.problem = Problem(place, seq, what)


def verify(folder: Path, database: Database) -> Verification:
    """Walk the trail of `folder`, whose rows are in `database`, from its first record to its last.

    A gateway may go on writing meanwhile. Raises nothing for a damaged trail: it says so.
    """
    chain, beginning = Chain(), _Beginning()
    unfinished = 0
    problem = None
    try:
        head = _head(folder)
        rows, new = Rows(database), -1
        while new < 0 or new > _FEW:  # a gateway feeds more rows while we walk
            new = -chain.seq
            with database.snapshot():
                if rows.pruned()[0] > chain.seq:
                    beginning = _Beginning(*rows.pruned())
                    chain.seq, chain.hash = beginning.seq, beginning.hash
                _walk_rows(rows, chain, head, beginning)
            new += chain.seq
        beginning.check()
        _check_beginnings(folder, rows)
        unfinished = _walk_journal(folder, chain, head)
    except _WrongError as wrong:
        problem = wrong.problem
    except DatabaseError as damage:
        problem = Problem(DATABASE, 1, f"cannot be read: {damage}")
    return Verification(chain.seq, chain.hash.decode(), problem, beginning.seq, unfinished)


class _Beginning:
    """Where the rows begin, and whether a record vouches for it."""

    def __init__(self, seq: int = 0, hash: bytes = GENESIS) -> None:  # noqa: A002 - its name
        self.seq = seq
        self.hash = hash
        self._vouched = not seq

    def see(self, line: bytes) -> None:
        """Look at a record that the chain has proven."""
        if self._vouched or _PRUNED not in line:
            return
        try:
            record = _announcement.decode(line)
        except msgspec.DecodeError:  # whoever can write the folder can make any line fit
            return
        said = record.details
        if record.event_type == PRUNED and said.last >= self.seq:
            self._vouched = said.last > self.seq or said.hash == self.hash.decode()

    def check(self) -> None:
        """Complain where nobody vouches."""
        if not self._vouched:
            raise _WrongError(DATABASE, self.seq, "is gone, and no record says that it may be")


def _head(folder: Path) -> Head:
    try:
        head = read_head(folder)
    except StoreDamagedError as damage:
        raise _WrongError(HEAD, 1, str(damage)) from damage
    if head is None:
        raise _WrongError(HEAD, 1, "is missing")
    return head


def _walk_rows(rows: Rows, chain: Chain, head: Head, beginning: _Beginning) -> None:
    try:
        fed = rows.fed()
        for seq, line in rows.lines(chain.seq):
            if seq != chain.seq + 1:
                raise _WrongError(DATABASE, chain.seq + 1, "is missing")
            _check_head(chain.follow(line), head, DATABASE)
            beginning.see(line)
    except BrokenChainError as broken:
        raise _WrongError(DATABASE, chain.seq + 1, str(broken)) from broken
    except DatabaseError as problem:
        raise _WrongError(DATABASE, chain.seq + 1, f"cannot be read: {problem}") from problem
    if chain.seq < fed.seq:
        raise _WrongError(DATABASE, chain.seq + 1, "is missing")
    if chain.seq > fed.seq:
        raise _WrongError(DATABASE, fed.seq + 1, "did not come from the journal")


def _check_beginnings(folder: Path, rows: Rows) -> None:
    """Each segment that is in the rows still begins with its first record."""
    for number in segment_numbers(folder):
        expected = rows.first_of(number)
        if expected is None:
            continue
        try:
            with segment_path(folder, number).open("rb") as source:
                line = source.readline()
        except FileNotFoundError:  # deleted meanwhile: the rows have all of it
            continue
        if not (line.startswith(b'{"seq":%d,' % expected) and line.endswith(b"\n")):
            raise _WrongError(_place(folder, number, 0), expected, "is missing")


def _walk_journal(folder: Path, chain: Chain, head: Head) -> int:
    """Follow the journal from its first line; returns the bytes behind its last one."""
    rows_end = Chain(chain.seq, chain.hash)
    walk: Chain | None = None
    end = (0, 0)
    for segment, offset, line in lines_from(folder, 0, 0):
        expected = (walk or rows_end).seq + 1
        place = _place(folder, segment, offset)
        _check_seam(folder, end, segment, expected)
        try:
            if walk is None:
                walk = _join(read_link(line), rows_end)
            link = walk.follow(line)
        except BrokenChainError as broken:
            raise _WrongError(place, expected, str(broken)) from broken
        _check_head(link, head, place)
        if link.seq == rows_end.seq and link.hash != rows_end.hash:
            raise _WrongError(place, link.seq, f"is another record than the one in {DATABASE}")
        if link.seq > rows_end.seq:
            chain.seq, chain.hash = link.seq, link.hash
        end = (segment, offset + len(line) + 1)
    reached = (walk or rows_end).seq
    if reached < max(head.seq, rows_end.seq):
        place = _place(folder, end[0] or head.segment, end[1])
        raise _WrongError(place, reached + 1, "is missing: it was on disk")
    return _behind(folder, end)


def _check_seam(folder: Path, end: tuple[int, int], segment: int, expected: int) -> None:
    """A piece of a line may stand at the end of the last segment only."""
    if end[0] not in {0, segment} and (extra := _behind(folder, end)):
        what = f"is not there: {extra} bytes that are no record stand behind the last one"
        raise _WrongError(_place(folder, *end), expected, what)


def _join(first: Link, rows_end: Chain) -> Chain:
    """The chain that the journal's first line goes on with."""
    if first.seq > rows_end.seq + 1:
        raise BrokenChainError(f"begins with record {first.seq}: what was before it is gone")
    if first.seq == rows_end.seq + 1:
        return Chain(rows_end.seq, rows_end.hash)
    return Chain(first.seq - 1, first.previous)


def _check_head(link: Link, head: Head, place: str) -> None:
    if link.seq == head.seq and link.hash != head.hash:
        raise _WrongError(place, link.seq, f"is another record than the one in {HEAD}")


def _behind(folder: Path, end: tuple[int, int]) -> int:
    """Bytes in a segment behind its last line."""
    segment, offset = end
    try:
        return max(0, segment_path(folder, segment).stat().st_size - offset)
    except FileNotFoundError:
        return 0


def _place(folder: Path, segment: int, offset: int) -> str:
    return f"{segment_path(folder, segment).name}, byte {offset}"
