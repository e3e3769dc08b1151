"""`Block`: bitmap index of up to 4,096 audit records: finds by agent, tool, rule, time (`Wanted`), counts; packs for another process.

Theory. A search in an index of SQLite is quick where the first column is known, and reads everything where it is not; and a histogram
over time has to look at every record that fits. A bitmap for each value answers both with a few operations on integers of 4,096 bits,
whatever the combination. The values of a trail are few (agents, tools), so that the bitmaps of a million records take some 20 MB.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import accumulate, pairwise
from typing import TypeAlias

import msgspec

__all__ = ["BITS", "FACTS", "SIZE", "Block", "Wanted", "indexed"]

BITS = 12
SIZE = 1 << BITS
"""So many are read in some hundredths of a second: a search that finds the index empty reads one block in any case."""
FACTS = ("agent", "server", "tool", "kind", "outcome", "gate", "rule")
"""What a record can be found by, besides its time and its trace."""
_LONGEST, _HEAD = 256, 128
"""Characters of a value; of a longer one the beginning is in the index, and its digest: callers choose names of thousands, another one with each
call, and a block of them would be more than one process hands over to another."""
_SPARSE = SIZE >> 4
"""Up to so many numbers of two bytes are shorter than a bitmap."""

Postings: TypeAlias = "array[int]"


def indexed(value: str) -> str:
    """A value as the index has it."""
    if len(value) <= _LONGEST:
        return value
    digest = sha256(value.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{value[:_HEAD]}… (SHA-256 {digest})"


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What to look for. Members left out do not restrict; times are milliseconds since 1970."""

    facts: Mapping[str, str] = {}
    """Of `FACTS`, each with the value that it has to have."""
    since: int | None = None
    """Not before this time."""
    until: int | None = None
    """Before this time."""


class _Packed(msgspec.Struct, array_like=True):
    first: int
    last: int
    whole: bool
    ordered: bool
    every: bytes
    times: bytes
    facts: Sequence[Mapping[str, bytes]]
    """Bitmaps, or numbers of two bytes: what is of odd length is a bitmap."""


_packed, _unpack = msgspec.msgpack.Encoder(), msgspec.msgpack.Decoder(_Packed)


class Block:
    """The records from number `first` on, at most `SIZE`; some of these numbers may not be there. For one thread at a time."""

    def __init__(self, first: int) -> None:
        self.first = first
        self.last = first - 1
        """The number of the last record that was added."""
        self.whole = False
        """Whether the trail will have no more records of these numbers."""
        self._every = 0
        self._times = array("q")
        self._ordered = True
        self._facts: dict[str, dict[str, int | Postings]] = {name: {} for name in FACTS}

    def add(
        self, seqs: Sequence[int], times: Sequence[int], facts: Sequence[Sequence[str | None]]
    ) -> None:
        """Add records in the order of their numbers, each behind `last`: numbers, times, and of each of `FACTS` the values."""
        offsets = [seq - self.first for seq in seqs]
        for offset, time in zip(offsets, times, strict=True):
            before = self._times[-1] if self._times else time
            self._times.extend([before] * (offset - len(self._times)))  # numbers that are not there
            self._times.append(time)
            self._ordered = self._ordered and time >= before
        self._every |= _bits(array("H", offsets))
        for known, values in zip(self._facts.values(), facts, strict=True):
            _sort_in(known, offsets, values)
        self.last = seqs[-1] if seqs else self.last

    def packed(self) -> bytes:
        """All of it, for another process of this machine and version."""
        facts = [
            {value: _spelled(has) for value, has in one.items()} for one in self._facts.values()
        ]
        every, times = self._every.to_bytes(SIZE >> 3, "little"), self._times.tobytes()
        packed = _Packed(self.first, self.last, self.whole, self._ordered, every, times, facts)
        return _packed.encode(packed)

    @classmethod
    def unpacked(cls, packed: bytes) -> Block:
        """A block out of what `packed` gave. Raises `msgspec.DecodeError`."""
        said = _unpack.decode(packed)
        found = cls(said.first)
        found.last, found.whole, found._ordered = said.last, said.whole, said.ordered
        found._every = int.from_bytes(said.every, "little")
        found._times.frombytes(said.times)
        found._facts = {
            name: {value: _read(has) for value, has in one.items()}
            for name, one in zip(FACTS, said.facts, strict=True)
        }
        return found

    def fits(self, wanted: Wanted) -> int:
        """A bit for each record that fits: bit n is that of record `first` + n."""
        found = self._within(wanted.since, wanted.until)
        for name, value in wanted.facts.items():
            if not found:
                break
            has = self._facts[name].get(indexed(value), 0)
            found &= has if isinstance(has, int) else _bits(has)
        return found

    def values(self, name: str) -> Iterator[str]:
        """Every value of one of `FACTS`."""
        yield from self._facts[name]

    def among(self, name: str, found: int) -> Iterator[tuple[str, int]]:
        """Each value of one of `FACTS`, and how many of these records have it."""
        for value, has in self._facts[name].items():
            count = (found & (has if isinstance(has, int) else _bits(has))).bit_count()
            if count:
                yield value, count

    def counted(self, found: int, edges: Sequence[int]) -> list[int]:
        """How many of these records fall between one edge and the next; of a clock that went back, each counts as not
        earlier than the one before it."""
        times = self._times if self._ordered else array("q", accumulate(self._times, max))
        counts = [0] * (len(edges) - 1)
        if not times:
            return counts
        # Of a long time a block is in one slice, or in few.
        first = max(0, bisect_right(edges, times[0]) - 1)
        last = min(len(counts), bisect_right(edges, times[-1]))
        cuts = [bisect_left(times, one) for one in edges[first : last + 1]]
        for at, (low, high) in enumerate(pairwise(cuts), first):
            counts[at] = (found >> low & (1 << high - low) - 1).bit_count()
        return counts

    @property
    def begins(self) -> int | None:
        """The time of its first record."""
        return self._times[0] if self._times else None

    @property
    def ends(self) -> int | None:
        """The time of its last record."""
        return self._times[-1] if self._times else None

    def _within(self, since: int | None, until: int | None) -> int:
        if since is None and until is None:
            return self._every
        low = -(1 << 62) if since is None else since
        high = 1 << 62 if until is None else until
        if self._ordered:
            first, last = bisect_left(self._times, low), bisect_left(self._times, high)
            return self._every & (((1 << last) - 1) >> first << first) if last > first else 0
        return self._every & _bits(
            array("H", (at for at, time in enumerate(self._times) if low <= time < high))
        )


def _sort_in(
    known: dict[str, int | Postings], offsets: Sequence[int], values: Sequence[str | None]
) -> None:
    new: dict[str, Postings] = {}
    for offset, value in zip(offsets, values, strict=True):
        if value is None:
            continue
        value = value if len(value) <= _LONGEST else indexed(value)  # noqa: PLW2901
        if (numbers := new.get(value)) is None:
            numbers = new[value] = array("H")
        numbers.append(offset)
    for value, numbers in new.items():
        before = known.get(value)
        if isinstance(before, int):
            known[value] = before | _bits(numbers)
        else:
            whole = numbers if before is None else before + numbers
            known[value] = whole if len(whole) <= _SPARSE else _bits(whole)


def _bits(numbers: Postings) -> int:
    found = bytearray(SIZE >> 3)
    for one in numbers:
        found[one >> 3] |= 1 << (one & 7)
    return int.from_bytes(found, "little")


def _spelled(has: int | Postings) -> bytes:
    return has.to_bytes((SIZE >> 3) + 1, "little") if isinstance(has, int) else has.tobytes()


def _read(has: bytes) -> int | Postings:
    return int.from_bytes(has, "little") if len(has) % 2 else array("H", has)
