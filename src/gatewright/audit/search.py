"""`AuditSearch`: searches with an in-memory index: pages by agent, tool, rule, time; counts over time; top values; a trace; a verified record.

It follows the trail with an index in memory (`search_index.py`): the newest part when somebody searches, older parts when a search comes
there, or when they are handed over (`adopt`), read by another process. While nobody searches, nothing is read. What a search could not
look at in its time it says, and the next one goes on from there. For any thread.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec

from gatewright.audit.chain import BrokenChainError, Link, read_link
from gatewright.audit.search_facts import admits, seq_of
from gatewright.audit.search_index import BITS, SIZE, Block, Wanted
from gatewright.audit.trail_reading import TrailReading

__all__ = ["AuditSearch", "Counted", "Found", "Opened", "Ranked"]

_BLOCKS = 2048
"""At most in memory, the newest eight million records; what is older is read anew by each search that comes there, a block at a time."""
_TRACE = 500
"""Records of one trace that are looked at together: it is agents that name traces, and one may have given all its calls the same."""

_EVERYTHING = Wanted()


class Found(msgspec.Struct, frozen=True):
    """One page of what a search found."""

    lines: Sequence[bytes]
    before: int | None
    """Where the next page begins: it has what is before this number, or, oldest first, behind it. None where there is no more."""
    unsearched: bool = False
    """Whether the time was over before the page was full: the next page may have more of it."""
    newest: int = 0
    """The number of the last record that there was."""


class Counted(msgspec.Struct, frozen=True):
    """How many records fit in each slice of time."""

    edges: Sequence[int]
    """Milliseconds since 1970, one more than slices."""
    counts: Mapping[str, Sequence[int]]
    """By outcome."""
    whole: bool
    """Whether everything was counted; else what is older than the index goes is not in it."""
    newest: int
    """The number of the last record that was counted, whether it fits or not."""
    more: bool = False
    """Whether more will be counted for who asks again later; what the index has no room for never is."""


class Ranked(msgspec.Struct, frozen=True):
    """Which values most records have."""

    values: Sequence[tuple[str, int]]
    """The most frequent first, each with its records."""
    since: int | None
    """Records from this time on were counted, in milliseconds since 1970; None where all that were asked for were."""


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
                is_missing = self._is_behind(look, number)
                # One of them whatever it takes: a search that is asked for again and again must come to an end.
                block = self._block(look, number, None if is_missing and not begun else ends)
                begun = begun or is_missing
                if block is None:
                    edge = _edge(number, before, oldest)
                    return Found(look.lines(seqs), edge, unsearched=True, newest=look.last)
                for seq in _within(block, wanted, before, oldest):
                    if len(seqs) == most:
                        return Found(look.lines(seqs), seqs[-1], newest=look.last)
                    seqs.append(seq)
            return Found(look.lines(seqs), None, newest=look.last)

    def counted(self, wanted: Wanted, edges: Sequence[int], newest: int | None = None) -> Counted:
        """How many fit between one edge and the next, of what the index has; by outcome. Those behind record `newest` are left out: who
        asks again until all are counted comes to an end, whatever is written meanwhile. Raises `StoreError`."""
        counts: dict[str, list[int]] = {}
        since, until = edges[0], edges[-1]
        within = msgspec.structs.replace(
            wanted,
            since=since if wanted.since is None else max(since, wanted.since),
            until=until if wanted.until is None else min(until, wanted.until),
        )
        with self._lock, self._reading() as look:
            whole, more = True, False
            newest = look.last if newest is None else min(newest, look.last)
            for number in look.blocks(newest + 1):
                block = self._block_to(look, number, newest)
                if block is None:
                    whole, more = False, number > look.head - _BLOCKS
                    break
                known_bits = (1 << max(0, newest + 1 - block.first)) - 1
                for outcome in block.values("outcome"):
                    facts = {**wanted.facts, "outcome": outcome}
                    if wanted.facts.get("outcome", outcome) != outcome:
                        continue
                    found = block.fits(msgspec.structs.replace(within, facts=facts)) & known_bits
                    if found:
                        known = counts.setdefault(outcome, [0] * (len(edges) - 1))
                        slices = block.counted(found, edges)
                        known[:] = [a + b for a, b in zip(known, slices, strict=True)]
                if block.begins is not None and block.begins < edges[0] and number != look.head:
                    break
        return Counted(edges, counts, whole, newest, more)

    def span(self, newest: int | None = None) -> tuple[int, int] | None:
        """The times of the first record and of the last, or one about `newest`; None where there is none. Raises `StoreError`."""
        with self._lock, self._reading() as look:
            newest = look.last if newest is None else min(newest, look.last)
            block = self._block_to(look, newest >> BITS, newest)
            first = look.first_time()
            if block is None or block.ends is None:
                return None
            return block.ends if first is None else first, block.ends

    def names(self, name: str, most: int = 200) -> list[str]:
        """Values that one of `FACTS` has in the newest part, sorted."""
        with self._lock:
            head = self._blocks.get(max(self._blocks, default=0))
            return [] if head is None else sorted(head.values(name))[:most]

    def ranked(self, name: str, wanted: Wanted, most: int = 10) -> Ranked:
        """The values of one of `FACTS` that most records have among those that fit, of what the index has. Raises `StoreError`."""
        counts: Counter[str] = Counter()
        begins: int | None = None
        with self._lock, self._reading() as look:
            for number in look.blocks():
                block = self._block(look, number, 0.0)
                if block is None:
                    return Ranked(counts.most_common(most), begins)
                for value, found in block.among(name, block.fits(wanted)):
                    counts[value] += found
                begins = block.begins
                if begins is not None and begins < (wanted.since or 0):
                    break
        return Ranked(counts.most_common(most), None)

    def missing(self) -> list[int]:
        """The numbers of the blocks that the index has not, or not whole, the newest first; the one that is still written to is none of them:
        each search reads it. Raises `StoreError`."""
        with self._lock, self._reading() as look:
            numbers = look.blocks()[1:_BLOCKS]
            return [one for one in numbers if self._is_behind(look, one)]

    def adopt(self, packed: bytes) -> None:
        """Take a block that another process has read, `Block.packed`."""
        block = Block.unpacked(packed)
        with self._lock:
            known = self._blocks.get(block.first >> BITS)
            if known is None or known.last < block.last or not known.whole:
                self._keep(block)

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
            lines = look.of_trace(trace, _TRACE, newest_first=not oldest, **place)
            newest = look.last
        found: list[bytes] = []
        for line in filter(partial(admits, wanted), lines):
            if len(found) == most:
                return Found(found, seq_of(found[-1]), newest=newest)
            found.append(line)
        more = len(lines) == _TRACE
        return Found(found, seq_of(lines[-1]) if more else None, more, newest)

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

    def _reading(self) -> TrailReading:
        return TrailReading(self._folder)

    def _block(self, look: TrailReading, number: int, ends: float | None) -> Block | None:
        """The block of that number, brought up to date where it is the newest one; read in where that is not, unless it is later than
        `ends`."""
        if not self._is_behind(look, number):
            return self._blocks[number]
        late = ends is not None and self._monotonic() + self._took > ends
        if late and number != look.head:
            return None
        block = self._blocks.get(number)
        if block is None:
            block = Block(number << BITS)
            self._keep(block)
        is_new, begin = block.last < block.first, self._monotonic()
        try:
            look.read_into(block)
        except BaseException:
            self._blocks.pop(number, None)  # half of it would be taken for all
            raise
        self._took = self._monotonic() - begin if is_new else self._took
        return block

    def _block_to(self, look: TrailReading, number: int, newest: int) -> Block | None:
        """The block of that number as far as record `newest`, which is read in where it is in it; of others those that the index has."""
        block = self._blocks.get(number)
        if block is not None and block.last >= newest:
            return block
        return self._block(look, number, None if number == newest >> BITS else 0.0)

    def _is_behind(self, look: TrailReading, number: int) -> bool:
        """Whether the trail has more of this block than the index. One that was the newest when somebody searched last is, once others
        follow it."""
        block = self._blocks.get(number)
        return block is None or (
            not block.whole and (number != look.head or block.last < look.last)
        )

    def _keep(self, block: Block) -> None:
        """Take a block in, and let the oldest one go where there are too many; one that is older than all of them is read for one search."""
        number = block.first >> BITS
        if number not in self._blocks and len(self._blocks) >= _BLOCKS:
            oldest = min(self._blocks)
            if oldest > number:
                return
            del self._blocks[oldest]
        self._blocks[number] = block


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
