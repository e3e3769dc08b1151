"""Verifies the audit trail: the hash chain of SQLite rows and journal lines, their agreement, pruning, and the head file.

The rows must be a chain from record 1, or from the last one that retention took away: then a later
record must vouch for its number and hash (`audit/retention.py`). The lines that the journal still
has must be a chain of their own that goes on where the rows are, and each that the rows have too must be the
same there. At the end, the journal must reach the record that the head file names.

What is said of a trail that is not whole is as much as can be known. The wrong place with the lowest number is named.
The records before it count where they hang together and are alike wherever they are kept. Where two whole
chains contradict each other, and nothing settles it, none counts: somebody may have written all of
them anew up to there, hashes included.

A chain proves only itself: who can write the folder can also make a new chain with a new head. For
that, keep the number and hash of a late record elsewhere, and give them to `verify` as a `KnownRecord`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from gatewright.audit.chain import (
    GENESIS,
    BrokenChainError,
    Chain,
    ForeignRecordError,
    Link,
    read_link,
)
from gatewright.audit.retention import PRUNED
from gatewright.audit.rows import DATABASE, Rows
from gatewright.audit.segments import HEAD, lines_from, read_head, segment_numbers, segment_path
from gatewright.audit.verification import KnownRecord, Problem, Verification
from gatewright.storage.errors import StoreDamagedError
from gatewright.storage.sqlite import Database, DatabaseError

__all__ = ["verify"]


_FEW = 10_000
_TOLD = 1024
"""Records between two words of how far a walk has come."""
_PRUNED = b'"event_type":"%b"' % PRUNED.encode()
_NOBODY_KNOWS = ": this record or one before it was changed, and nothing here says which"


class _Gone(msgspec.Struct):
    last: int
    hash: str


class _Announcement(msgspec.Struct):
    """What of a record says that records may be gone."""

    event_type: str
    details: _Gone


_announcement = msgspec.json.Decoder(_Announcement)


class _WrongError(Exception):
    """A wrong place. `doubt` says that the records before it are in doubt as well."""

    def __init__(self, place: str, seq: int, what: str, *, doubt: bool = False) -> None:
        super().__init__(what)
        self.problem = Problem(place, seq, what)
        self.doubt = doubt


def verify(
    folder: Path,
    database: Database,
    kept: KnownRecord | None = None,
    told: Callable[[int], object] | None = None,
) -> Verification:
    """Walk the trail of `folder`, whose rows are in `database`, from its first record to its last.

    `kept` is of a record that somebody noted elsewhere. `told` hears now and then which record of the rows the walk has
    come to. A gateway may go on writing meanwhile. Raises nothing for a
    damaged trail: it says so.
    """
    witnesses = [] if kept is None else [kept]
    wrong: list[_WrongError] = []
    damage = None
    try:
        witnesses.append(_head(folder))
    except _WrongError as problem:
        damage = problem
    walk = _Walk(folder, database, witnesses, told)
    # Each step is made whatever the one before it found, since the wrong place with the lowest number is named.
    for step in (walk.rows, walk.beginnings, walk.journal, walk.end):
        try:
            step()
        except _WrongError as problem:
            wrong.append(problem)
        except DatabaseError as problem:
            wrong.append(_WrongError(DATABASE, 1, f"cannot be read: {problem}"))
    first = min(wrong, key=lambda one: one.problem.seq, default=damage)
    return walk.found(first)


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
            # Rows are deleted in several transactions, so they may begin before the number that was announced.
            self._vouched = said.last > self.seq or said.hash == self.hash.decode()

    def check(self) -> None:
        """Raise where no pruning record explains that the beginning is gone."""
        if not self._vouched:
            what = "is gone, and no record says that it may be"
            raise _WrongError(DATABASE, self.seq, what)


class _Hashes:
    """The hashes of the records of the rows, from one number on."""

    def __init__(self, start: int) -> None:
        self._start = start
        self._kept = bytearray()

    def add(self, link: Link) -> None:
        if link.seq < self._start:
            return
        if link.seq != self._start + len(self._kept) // 32:  # retention went on meanwhile
            self._start, self._kept = link.seq, bytearray()
        self._kept += bytes.fromhex(link.hash.decode())

    def of(self, seq: int) -> bytes | None:
        at = (seq - self._start) * 32
        found = self._kept[at : at + 32] if at >= 0 else b""
        return found.hex().encode() if found else None


class _Walk:
    """One walk: first the rows, then the journal beside them."""

    def __init__(
        self,
        folder: Path,
        database: Database,
        witnesses: Sequence[KnownRecord],
        told: Callable[[int], object] | None,
    ) -> None:
        self._folder = folder
        self._database = database
        self._told = told
        self._rows = Rows(database)
        self._witnesses = witnesses
        self._beginning = _Beginning()
        self._chain = Chain()
        """As far as rows, and behind them the journal, hang together."""
        self._hashes = _Hashes(0)
        self._unfinished = 0
        self._sworn = 0
        """Up to this record a witness has seen the rows."""
        self._journal_begins = 0

    def found(self, wrong: _WrongError | None) -> Verification:
        """The result; `wrong` is the first wrong place."""
        chain, gone = self._chain, self._beginning.seq
        last, digest = chain.seq, chain.hash
        if wrong is not None and wrong.problem.seq:
            last = min(last, wrong.problem.seq - 1)
            digest = self._hashes.of(last) or (chain.hash if last == chain.seq else GENESIS)
        if last <= gone or (wrong is not None and wrong.doubt):
            last, digest = 0, GENESIS
        problem = None if wrong is None else wrong.problem
        records = last - gone if last else 0
        return Verification(records, last, digest.decode(), problem, gone, self._unfinished)

    # -- the rows ------------------------------------------------------------------------------------

    def rows(self) -> None:
        """Follow the rows."""
        chain = self._chain
        self._journal_begins = _first(self._folder, self._rows)
        self._hashes = _Hashes(max(0, self._journal_begins - 1))
        new = -1
        while new < 0 or new > _FEW:  # a gateway feeds more rows while we walk
            new = -chain.seq
            # One snapshot for each round: a single long one would keep SQLite from resetting its log.
            with self._database.snapshot():
                gone = self._rows.pruned()
                if gone[0] > chain.seq:
                    self._beginning = _Beginning(*gone)
                    chain.seq, chain.hash = gone
                self._walk_rows()
            new += chain.seq
        self._beginning.check()

    def _walk_rows(self) -> None:
        chain = self._chain
        try:
            fed = self._rows.fed()
            for seq, line in self._rows.lines(chain.seq):
                if seq != chain.seq + 1:
                    raise _WrongError(DATABASE, chain.seq + 1, "is missing")
                link = chain.follow(line)
                self._hashes.add(link)
                self._sworn = max(self._sworn, self._ask(link, DATABASE))
                self._beginning.see(line)
                self._tell(seq)
        except ForeignRecordError as broken:
            raise self._contradiction(DATABASE, chain.seq + 1, str(broken)) from broken
        except BrokenChainError as broken:
            raise _WrongError(DATABASE, chain.seq + 1, str(broken)) from broken
        except DatabaseError as problem:
            raise _WrongError(DATABASE, chain.seq + 1, f"cannot be read: {problem}") from problem
        if chain.seq < fed.seq:
            raise _WrongError(DATABASE, chain.seq + 1, "is missing")
        if chain.seq > fed.seq:
            raise _WrongError(DATABASE, fed.seq + 1, "did not come from the journal")

    def _tell(self, seq: int) -> None:
        if self._told is not None and not seq % _TOLD:
            self._told(seq)

    def _ask(self, link: Link, place: str) -> int:
        """The number, where a witness knows this record. Raises `_WrongError` where it knows another one."""
        known = 0
        for one in self._witnesses:
            if one.seq == link.seq:
                if one.hash != link.hash:
                    what = f"is another record than the one in {one.name}{_NOBODY_KNOWS}"
                    raise _WrongError(place, link.seq, what, doubt=True)
                known = link.seq
        return known

    def _contradiction(self, place: str, seq: int, what: str) -> _WrongError:
        """The error for a whole record that denies the one before it. The journal beside the rows, or a
        witness, may say that those before it are what they were."""
        before = seq - 1
        settled = before in {0, self._beginning.seq} or self._sworn >= before or self._agree(before)
        return _WrongError(place, seq, what if settled else what + _NOBODY_KNOWS, doubt=not settled)

    def _agree(self, seq: int) -> bool:
        """Whether the journal has the rows' record of this number as well."""
        known = self._hashes.of(seq)
        ending = b'"hash":"%b"}' % (known or b"")
        return known is not None and any(
            line.endswith(ending) for _, _, line in lines_from(self._folder, 0, 0)
        )

    # -- the journal ---------------------------------------------------------------------------------

    def beginnings(self) -> None:
        """Each segment that is in the rows still begins with its first record."""
        for number in segment_numbers(self._folder):
            expected = self._rows.first_of(number)
            if expected is None:
                continue
            try:
                with segment_path(self._folder, number).open("rb") as source:
                    line = source.readline()
            except FileNotFoundError:  # deleted meanwhile: the rows have all of it
                continue
            if not (line.startswith(b'{"seq":%d,' % expected) and line.endswith(b"\n")):
                raise _WrongError(_place(self._folder, number, 0), expected, "is missing")

    def journal(self) -> None:
        """Follow the journal from its first line to its last."""
        rows_end = Chain(self._chain.seq, self._chain.hash)
        walk: Chain | None = None
        end = (0, 0)
        for segment, offset, line in lines_from(self._folder, 0, 0):
            expected = (walk or rows_end).seq + 1
            place = _place(self._folder, segment, offset)
            _check_seam(self._folder, end, segment, expected)
            try:
                if walk is None:
                    walk = self._join(read_link(line), rows_end)
                    expected = walk.seq + 1
                link = walk.follow(line)
            except ForeignRecordError as broken:
                other = f"is another record than the one in {DATABASE}"
                what = str(broken) if self._hashes.of(expected) is None else other
                raise self._contradiction(place, expected, what) from broken
            except BrokenChainError as broken:
                # A first line that is no record is the one that the rows say is there.
                at = expected if walk is not None else self._journal_begins or expected
                raise _WrongError(place, at, str(broken)) from broken
            self._compare(link, place)
            if link.seq > rows_end.seq:
                self._chain.seq, self._chain.hash = link.seq, link.hash
            end = (segment, offset + len(line) + 1)
        self._check_reached((walk or rows_end).seq, rows_end.seq, end)
        self._unfinished = _behind(self._folder, end)

    def _compare(self, link: Link, place: str) -> None:
        known = self._hashes.of(link.seq)
        if known is not None and known != link.hash:
            # Both go on from the same record: what is before it is not in doubt.
            raise _WrongError(place, link.seq, f"is another record than the one in {DATABASE}")
        self._ask(link, place)

    def _join(self, first: Link, rows_end: Chain) -> Chain:
        """The chain that the journal's first line goes on with."""
        if first.seq > rows_end.seq + 1:
            raise _WrongError(
                DATABASE,
                rows_end.seq + 1,
                f"is missing: the journal begins with record {first.seq}",
            )
        if first.seq == rows_end.seq + 1:
            return Chain(rows_end.seq, rows_end.hash)
        before = self._hashes.of(first.seq - 1) if first.seq > 1 else GENESIS
        return Chain(first.seq - 1, before or first.previous)

    def _check_reached(self, reached: int, rows: int, end: tuple[int, int]) -> None:
        # A witness beyond the last line: records were cut off at the end, which leaves a chain that is whole.
        heads = [one for one in self._witnesses if one.seq > max(reached, rows)]
        if reached < rows or heads:
            place = _place(self._folder, end[0] or 1, end[1])
            raise _WrongError(place, reached + 1, "is missing: it was on disk")

    def end(self) -> None:
        """What a witness knows of the last record that retention took away."""
        gone = self._beginning
        for one in self._witnesses:
            if gone.seq and one.seq == gone.seq and one.hash != gone.hash:
                what = f"was another record, says {one.name}{_NOBODY_KNOWS}"
                raise _WrongError(DATABASE, one.seq, what, doubt=True)


def _head(folder: Path) -> KnownRecord:
    try:
        head = read_head(folder)
    except StoreDamagedError as damage:
        raise _WrongError(HEAD, 0, "is not what Gatewright wrote") from damage
    except OSError as problem:
        raise _WrongError(HEAD, 0, f"cannot be read: {problem.strerror}") from problem
    if head is None:
        raise _WrongError(HEAD, 0, "is missing")
    return KnownRecord(head.seq, head.hash, HEAD)


def _first(folder: Path, rows: Rows) -> int:
    """The number of the record with which the journal begins, as the rows or else its first line say; 0 where it is empty."""
    found = [known for number in segment_numbers(folder) if (known := rows.first_of(number))]
    for _, _, line in lines_from(folder, 0, 0):
        with suppress(BrokenChainError):
            found.append(read_link(line).seq)
        break
    return min(found, default=0)


def _check_seam(folder: Path, end: tuple[int, int], segment: int, expected: int) -> None:
    """A piece of a line may stand at the end of the last segment only."""
    if end[0] not in {0, segment} and (extra := _behind(folder, end)):
        what = f"is not there: {extra} bytes that are no record stand behind the last one"
        raise _WrongError(_place(folder, *end), expected, what)


def _behind(folder: Path, end: tuple[int, int]) -> int:
    """Bytes in a segment behind its last line."""
    segment, offset = end
    try:
        return max(0, segment_path(folder, segment).stat().st_size - offset)
    except FileNotFoundError:
        return 0


def _place(folder: Path, segment: int, offset: int) -> str:
    return f"{segment_path(folder, segment).name}, byte {offset}"
