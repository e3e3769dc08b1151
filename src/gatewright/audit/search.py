"""`AuditSearch`: pages of audit records by agent, tool, rule, time, …; counts over time, top values, a trace, one record, hash verified.

It follows the trail with an index in memory (`search_index.py`): the newest part at once, older parts when a search comes there or
`fill` asks for them. What a search could not look at in its time it says, and the next one goes on from there. For any thread.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import msgspec

from gatewright.audit.chain import BrokenChainError, Link, read_link
from gatewright.audit.rows import Query, Rows, open_rows_to_read
from gatewright.audit.search_facts import admits, facts_of, seq_of
from gatewright.audit.search_index import BITS, FACTS, SIZE, Block, Wanted
from gatewright.audit.segments import lines_from
from gatewright.storage.errors import StoreError
from gatewright.storage.sqlite import Database, DatabaseError

__all__ = ["AuditSearch", "Counted", "Found", "Opened"]

_BLOCKS = 2048
"""At most in memory, eight million records; what is older, only the command searches."""
_FILL_S = 0.03
"""So long the index is filled before a search has its turn."""
_TRACE = 500
"""Records of one trace that are looked at together: it is agents that name traces, and one may have given all its calls the same."""

_EVERYTHING = Wanted()

_RULE = "coalesce(json_extract(record, '$.decision.reason'), json_extract(record, '$.details.reason'), json_extract(record, '$.details.access'))"
_COLUMNS = (
    "seq",
    "CAST(round((julianday(time) - 2440587.5) * 86400000) AS INTEGER)",
    "agent",
    "server",
    "tool",
    "event_type",
    "outcome",
    "json_extract(record, '$.decision.gate')",
    f"CAST({_RULE} AS TEXT)",
)
# One row, whatever it holds: between two rows SQLite would have to ask for Python's global lock each time.
_PIECE = f"SELECT {', '.join(f'json_group_array(c{at})' for at in range(len(_COLUMNS)))} FROM (SELECT {', '.join(f'{one} AS c{at}' for at, one in enumerate(_COLUMNS))} FROM records WHERE seq BETWEEN ? AND ? ORDER BY seq)"  # noqa: S608 - constants


class Found(msgspec.Struct, frozen=True):
    """One page of what a search found."""

    lines: Sequence[bytes]
    before: int | None
    """Where the next page begins: it has what is before this number, or, oldest first, behind it. None where there is no more."""
    unsearched: bool = False
    """Whether the time was over before the page was full: the next page may have more of it."""


class Counted(msgspec.Struct, frozen=True):
    """How many records fit in each slice of time."""

    edges: Sequence[int]
    """Milliseconds since 1970, one more than slices."""
    counts: Mapping[str, Sequence[int]]
    """By outcome."""
    whole: bool
    """Whether everything was counted; else what is older than the index goes is not in it."""


class Opened(msgspec.Struct, frozen=True):
    """One record, and how it stands in the chain."""

    line: bytes
    hash: Literal["holds", "broken"]
    previous: Literal["holds", "broken", "first", "gone"]
    """`first`: nothing is before it. `gone`: retention took the record before it away."""
    problem: str = ""


class AuditSearch:
    """The trail of one state folder."""

    def __init__(self, folder: Path, monotonic: Callable[[], float]) -> None:
        self._folder = folder
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._blocks: dict[int, Block] = {}
        self._took = 0.0
        """Seconds that the last block took to be read in: so long it takes to read another one."""

    def search(
        self,
        wanted: Wanted,
        *,
        before: int | None = None,
        most: int = 50,
        budget_s: float = 0.1,
        oldest: bool = False,
    ) -> Found:
        """The newest records that fit, with a number before `before`, or the `oldest`, with one behind it; one block is read in even where
        it takes longer than `budget_s`, seconds. Raises `StoreError`."""
        ends = self._monotonic() + budget_s
        with self._lock, self._reading() as look:
            seqs: list[int] = []
            begun = False
            for number in look.blocks(before, oldest=oldest):
                is_missing = number not in self._blocks
                # One of them whatever it takes: a search that is asked for again and again must come to an end.
                block = self._block(look, number, None if is_missing and not begun else ends)
                begun = begun or is_missing
                if block is None:
                    return Found(look.lines(seqs), _edge(number, before, oldest), unsearched=True)
                for seq in _within(block, wanted, before, oldest):
                    if len(seqs) == most:
                        return Found(look.lines(seqs), seqs[-1])
                    seqs.append(seq)
            return Found(look.lines(seqs), None)

    def counted(self, wanted: Wanted, edges: Sequence[int]) -> Counted:
        """How many fit between one edge and the next, of what the index has; by outcome. Raises `StoreError`."""
        counts: dict[str, list[int]] = {}
        since, until = edges[0], edges[-1]
        within = msgspec.structs.replace(
            wanted,
            since=since if wanted.since is None else max(since, wanted.since),
            until=until if wanted.until is None else min(until, wanted.until),
        )
        with self._lock, self._reading() as look:
            whole = True
            for number in look.blocks():
                block = self._block(look, number, 0.0)
                if block is None:
                    whole = False
                    break
                for outcome in block.values("outcome"):
                    facts = {**wanted.facts, "outcome": outcome}
                    if wanted.facts.get("outcome", outcome) != outcome:
                        continue
                    found = block.fits(msgspec.structs.replace(within, facts=facts))
                    if found:
                        known = counts.setdefault(outcome, [0] * (len(edges) - 1))
                        slices = block.counted(found, edges)
                        known[:] = [a + b for a, b in zip(known, slices, strict=True)]
                if block.begins is not None and block.begins < edges[0] and number != look.head:
                    break
        return Counted(edges, counts, whole)

    def span(self) -> tuple[int, int] | None:
        """The times of the first record and of the last; None where there is none. Raises `StoreError`."""
        with self._lock, self._reading() as look:
            block = self._block(look, look.head, 0.0)
            first = look.first_time()
            if block is None or block.ends is None:
                return None
            return block.ends if first is None else first, block.ends

    def names(self, name: str, most: int = 200) -> list[str]:
        """Values that one of `FACTS` has in the newest part, sorted."""
        with self._lock:
            head = self._blocks.get(max(self._blocks, default=0))
            return [] if head is None else sorted(head.values(name))[:most]

    def ranked(self, name: str, wanted: Wanted, most: int = 10) -> list[tuple[str, int]]:
        """The values of one of `FACTS` that most records have among those that fit, of what the index has. Raises `StoreError`."""
        counts: Counter[str] = Counter()
        with self._lock, self._reading() as look:
            for number in look.blocks():
                block = self._block(look, number, 0.0)
                if block is None:
                    break
                for value, found in block.among(name, block.fits(wanted)):
                    counts[value] += found
                if block.begins is not None and block.begins < (wanted.since or 0):
                    break
        return counts.most_common(most)

    def fill(self) -> bool:
        """Read some more of the trail into the index; whether there was something to read. Raises `StoreError`."""
        ends = self._monotonic() + _FILL_S
        with self._lock, self._reading() as look:
            missing = [one for one in look.blocks(None) if one not in self._blocks]
            for number in missing:
                if self._block(look, number, None) is None:
                    return False
                if self._monotonic() > ends:  # searches wait for it meanwhile
                    break
            return bool(missing)

    def of_trace(
        self,
        trace: str,
        wanted: Wanted = _EVERYTHING,
        *,
        before: int | None = None,
        most: int = _TRACE,
        oldest: bool = True,
    ) -> Found:
        """The records of one trace that fit, in the order and from the place of a `search`. Raises `StoreError`."""
        with self._reading() as look:
            place = {"after" if oldest else "before": before}
            lines = look.of_trace(trace, newest_first=not oldest, **place)
        found: list[bytes] = []
        for line in filter(partial(admits, wanted), lines):
            if len(found) == most:
                return Found(found, seq_of(found[-1]))
            found.append(line)
        more = len(lines) == _TRACE
        return Found(found, seq_of(lines[-1]) if more else None, unsearched=more)

    def opened(self, seq: int) -> Opened | None:
        """One record, whose hash and place behind the one before it are proven anew; None where it is not there. Raises `StoreError`."""
        with self._reading() as look:
            lines = {seq_of(line): line for line in look.lines([seq - 1, seq])}
        line = lines.get(seq)
        if line is None:
            return None
        try:
            here = read_link(line)
        except BrokenChainError as problem:
            return Opened(line, "broken", "broken", str(problem))
        previous, said = _standing(here, lines.get(seq - 1))
        return Opened(line, "holds", previous, said)

    # -- the index

    def _reading(self) -> _Look:
        return _Look(self._folder)

    def _block(self, look: _Look, number: int, ends: float | None) -> Block | None:
        """The block of that number, brought up to date where it is the newest one; read in where that is not, unless it is later than
        `ends`."""
        block = self._blocks.get(number)
        if block is None:
            late = ends is not None and self._monotonic() + self._took > ends
            if (late and number != look.head) or len(self._blocks) >= _BLOCKS:
                return None
            block = Block(number << BITS)
            self._blocks[number] = block
        if block.last < min(look.last, block.first + SIZE - 1):
            is_new, begin = block.last < block.first, self._monotonic()
            try:
                look.read_into(block)
            except BaseException:
                self._blocks.pop(number, None)  # half of it would be taken for all
                raise
            self._took = self._monotonic() - begin if is_new else self._took
        return block


class _Look:
    """One look at the trail, all of one moment."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._database: Database | None = None
        self._tail: dict[int, bytes] = {}
        self._fed = self.first = self.last = 0

    def __enter__(self) -> _Look:
        self._database = database = open_rows_to_read(self._folder)
        try:
            database.execute("BEGIN")
            fed = Rows(database).fed()
            lines = [line for _, _, line in lines_from(self._folder, fed.segment, fed.offset)]
            self._tail = dict(enumerate(lines, fed.seq + 1))
            self._fed, self.last = fed.seq, fed.seq + len(lines)
            (self.first,) = database.execute("SELECT coalesce(min(seq), 0) FROM records").fetchone()
        except BaseException as problem:
            self.__exit__(type(problem), problem, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: Any
    ) -> None:
        database, self._database = self._database, None
        if database is not None:
            database.close()
        if isinstance(problem, DatabaseError | msgspec.DecodeError):
            raise StoreError(
                f"the audit trail in {self._folder} cannot be read: {problem}"
            ) from problem

    @property
    def head(self) -> int:
        """The number of the newest block."""
        return self.last >> BITS

    def blocks(self, before: int | None = None, *, oldest: bool = False) -> Sequence[int]:
        """The numbers of the blocks that have records, newest first, or oldest first those behind a number."""
        first = max(self.first, 1)
        if oldest:
            low = first if before is None else max(first, before + 1)
            return range(low >> BITS, (self.last >> BITS) + 1)
        high = self.last if before is None else min(self.last, before - 1)
        return range(high >> BITS, (first >> BITS) - 1, -1)

    def read_into(self, block: Block) -> None:
        """Add what the trail has and the block has not."""
        end = block.first + SIZE - 1
        if block.last < min(end, self._fed):
            row = self._execute(_PIECE, (block.last + 1, min(end, self._fed))).fetchone()
            seqs, times, *facts = (msgspec.json.decode(one) for one in row)
            block.add(seqs, [0 if one is None else one for one in times], facts)
        new = [seq for seq in self._tail if block.last < seq <= end]
        if new:
            told = [facts_of(self._tail[seq]) for seq in new]
            block.add(
                new,
                [one[0] for one in told],
                [[one[1][at] for one in told] for at in range(len(FACTS))],
            )

    def lines(self, seqs: Sequence[int]) -> list[bytes]:
        """The records of these numbers, as they are written, as far as they are there."""
        stored = [seq for seq in seqs if seq not in self._tail]
        marks = ", ".join("?" * len(stored))
        asked = f"SELECT seq, CAST(record AS BLOB) FROM records WHERE seq IN ({marks})"  # noqa: S608 - question marks
        rows = self._execute(asked, stored)
        known = {**dict(rows), **self._tail}
        return [known[seq] for seq in seqs if seq in known]

    def of_trace(self, trace: str, **place: Any) -> list[bytes]:
        """Some of one trace, from a place on."""
        rows = Rows(self._opened())
        rows.show_also([*self._tail.values()], self.last)
        return [*rows.find(Query(trace_id=trace, limit=_TRACE, **place))]

    def first_time(self) -> int | None:
        """The time of the first record that is in the rows."""
        row = self._execute(
            "SELECT CAST(record AS BLOB) FROM records WHERE seq = ?", (self.first,)
        ).fetchone()
        return None if row is None else facts_of(row[0])[0]

    def _execute(self, statement: str, values: Sequence[Any]) -> Any:
        return self._opened().execute(statement, tuple(values))

    def _opened(self) -> Database:
        if self._database is None:
            raise RuntimeError("it is looked at inside `with` alone")
        return self._database


def _within(block: Block, wanted: Wanted, before: int | None, oldest: bool) -> Iterator[int]:
    """The numbers of the records that fit, in their order."""
    found = block.fits(wanted)
    if before is not None and oldest:
        behind = max(0, before + 1 - block.first)
        found = found >> behind << behind
    elif before is not None and before < block.first + SIZE:
        found &= (1 << max(0, before - block.first)) - 1
    while found:
        at = ((found & -found) if oldest else found).bit_length() - 1
        found ^= 1 << at
        yield block.first + at


def _edge(block: int, before: int | None, oldest: bool) -> int:
    """Where a search goes on that has not come to a block."""
    if oldest:
        return max((block << BITS) - 1, before or 0)
    end = (block + 1) << BITS
    return end if before is None else min(end, before)


def _standing(
    here: Link, before: bytes | None
) -> tuple[Literal["holds", "broken", "first", "gone"], str]:
    if before is None:
        return ("first" if here.seq == 1 else "gone"), ""
    try:
        there = read_link(before)
    except BrokenChainError as problem:
        return "broken", f"record {here.seq - 1} {problem}"
    if there.hash != here.previous:
        return "broken", f"record {here.seq - 1} is another one than this record names before it"
    return "holds", ""
