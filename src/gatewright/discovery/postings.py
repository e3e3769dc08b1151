"""Inverted index for tool search: `Postings` (term → slots, BM25F impacts), `Spelling` (typo-tolerant look-up by trigrams); saved, swept.

An impact is the part of BM25F (Robertson, Zaragoza and Taylor, 2004) that does not depend on other tools, in a byte. How rare a
term is, is asked at search time, of the tools that the searcher may see and of no others.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Generator, Iterable, Mapping
from math import ceil

import msgspec
import numpy as np
from numpy.typing import NDArray

__all__ = ["Bools", "Floats", "Lists", "Postings", "Slots", "Spelling", "alike", "trigrams"]

Floats = NDArray[np.float32]
Bools = NDArray[np.bool_]
Slots = NDArray[np.intp]
Slots32 = NDArray[np.uint32]

_NONE = array("I")
_TYPOS_FROM = 4
_CANDIDATES = 24
_AT_ONCE = 256
_AT_A_TIME = 16
"""Terms between two steps where it is asked which tools have each."""


class Lists(msgspec.Struct, frozen=True):
    """Lists of numbers by text, as they are kept: the texts, how long the list of each is, and all of them in a row."""

    texts: list[str]
    lengths: bytes
    numbers: bytes


class Postings:
    """Which slots have a term, and with what impact (0 to 1)."""

    def __init__(self) -> None:
        # A slot, and in the lowest eight bits its impact.
        self._terms: dict[str, array[int]] = {}

    def __contains__(self, term: str) -> bool:
        return term in self._terms

    def add(self, slot: int, impacts: Mapping[str, float]) -> list[str]:
        """File a slot under terms. The terms that were new."""
        new, terms, place = [], self._terms, slot << 8
        for term, impact in impacts.items():
            held = terms.get(term)
            if held is None:
                held = terms[term] = array("I")
                new.append(term)
            held.append(place | (int(impact * 255 + 0.5) or 1))
        return new

    def of(self, term: str) -> tuple[Slots, NDArray[np.uint8]]:
        """Slots and impacts (of 255), empty where no tool has it: copies, which stay as they are."""
        held = np.array(self._terms.get(term, _NONE), dtype=np.uint32)
        return (held >> 8).astype(np.intp), held.astype(np.uint8)

    def any_of(self, term: str, among: Bools) -> bool:
        """Whether any of these slots has a term (slots beyond the end of `among` are none of them)."""
        held, at, some = self._terms.get(term, _NONE), 0, _AT_ONCE
        if held and (slot := held[0] >> 8) < len(among) and among[slot]:
            return True  # mostly
        while at < len(held):
            slots = np.array(held[at : at + some], dtype=np.uint32) >> 8
            if among[slots[slots < len(among)]].any():
                return True
            at, some = at + some, some * 8
        return False

    def sweep(self, dead: Bools) -> Generator[None, None, list[str]]:
        """Take dead slots (true in `dead`; those beyond its end live) out of every term. The terms that are gone."""
        gone = []
        for term in list(self._terms):
            held = np.array(self._terms[term], dtype=np.uint32)
            known = (held >> 8) < len(dead)
            kept = ~known
            kept[known] = ~dead[held[known] >> 8]
            if not kept.any():
                del self._terms[term]
                gone.append(term)
            elif not kept.all():
                self._terms[term] = array("I", held[kept].tobytes())
            yield
        return gone

    def kept(self, places: Slots) -> Generator[None, None, Lists]:
        """What is to be kept; `places` says where each slot is to be found again, -1 for those that are not."""

        def placed(held: Slots32) -> Slots32:
            found = places[held >> 8]
            live = found >= 0
            moved: Slots32 = (found[live].astype(np.uint32) << 8) | (held[live] & 255)
            return moved

        return (yield from _packed(self._terms, placed))

    def take(self, kept: Lists) -> None:
        """Have what was kept."""
        self._terms = _unpacked(kept)

    def terms(self) -> list[str]:
        """All that there are."""
        return list(self._terms)

    def __len__(self) -> int:
        return len(self._terms)


def trigrams(word: str) -> list[str]:
    """The distinct triples of neighbours, with a mark at both ends: `^ab`, `abc`, `bc$`."""
    marked = f"^{word}$"
    return list(dict.fromkeys(marked[at : at + 3] for at in range(len(marked) - 2)))


class Spelling:
    """Terms that are spelled like a word: with a letter more, less, wrong or in the wrong place, or longer."""

    def __init__(self) -> None:
        self._terms: list[str] = []
        self._numbers: dict[str, int] = {}
        self._by_trigram: dict[str, array[int]] = {}

    def add(self, terms: Iterable[str]) -> None:
        """Know these terms."""
        for term in terms:
            if (
                term in self._numbers
                or len(term) < _TYPOS_FROM
                or term[0] == "#"
                or term[0] > "\u2e7f"
            ):
                continue
            number = self._numbers[term] = len(self._terms)
            self._terms.append(term)
            for one in _keys(term):
                self._by_trigram.setdefault(one, array("I")).append(number)

    def __len__(self) -> int:
        return len(self._terms)

    def kept(self) -> Generator[None, None, tuple[list[str], Lists]]:
        """What is to be kept: the terms, and which have each triple."""
        lists = yield from _packed(self._by_trigram, lambda held: held)
        return list(self._terms), lists

    def take(self, terms: list[str], kept: Lists) -> None:
        """Have what was kept."""
        self._terms = terms
        self._numbers = {term: number for number, term in enumerate(terms)}
        self._by_trigram = _unpacked(kept)

    def like(
        self, word: str, seen: Callable[[str], bool] = lambda term: True
    ) -> Generator[None, None, list[tuple[str, float]]]:
        """Terms with how alike they are (0 to 1), the most alike first. Of those that are not `seen` none takes a place."""
        if len(word) < _TYPOS_FROM - 1:
            return []
        lists = [held for one in _keys(word) if (held := self._by_trigram.get(one))]
        if not lists:
            return []
        counts = np.bincount(np.concatenate(lists))
        # One wrong letter costs three triples: what shares fewer than a fourth is no typing error.
        least = max(1, ceil(len(word) / 4))
        terms, best = self._terms, list[str]()
        for shared in range(int(counts.max()), least - 1, -1):
            yield
            for at, number in enumerate(np.flatnonzero(counts == shared)):
                if len(best) == _CANDIDATES:
                    break
                if seen(term := terms[number]):
                    best.append(term)
                if at % _AT_A_TIME == 0:
                    yield
        found = [(term, alike(word, term)) for term in best]
        return sorted((one for one in found if one[1] > 0), key=lambda one: (-one[1], one[0]))


def _keys(word: str) -> list[str]:
    """Its triples, and its letters in the order of the alphabet: short words with two letters exchanged share no triple."""
    return [*trigrams(word), "".join(sorted(word))]


def alike(word: str, other: str) -> float:
    """1 for equal words, 0 for those with more than one typing error in four letters; `dir` and `directory` are alike a little."""
    longest = max(len(word), len(other))
    if other.startswith(word):
        return 0.4 + 0.6 * len(word) / len(other)
    allowed = 1 if longest <= 5 else 2 if longest <= 9 else 3
    if abs(len(word) - len(other)) > allowed:
        return 0.0
    errors = _errors(word, other)
    return 1 - errors / longest * 1.2 if errors <= allowed else 0.0


def _errors(one: str, two: str) -> int:
    """Damerau's distance: letters wrong, missing or too many, and neighbours exchanged. A column of its table is one number, with a bit
    for each difference between neighbours (Hyyrö, 2003)."""
    places: dict[str, int] = {}
    for at, letter in enumerate(one):
        places[letter] = places.get(letter, 0) | 1 << at
    last, errors = 1 << len(one) >> 1, len(one)
    more, less, straight, before = (1 << len(one)) - 1, 0, 0, 0
    for letter in two:
        here = places.get(letter, 0)
        exchanged = ((~straight & here) << 1) & before
        straight = (((here & more) + more) ^ more) | here | less | exchanged
        up, down = less | ~(straight | more), more & straight
        errors += bool(up & last) - bool(down & last)
        up, down = up << 1 | 1, down << 1
        more, less, before = down | ~(straight | up), up & straight, here
    return errors


def _packed(
    held: Mapping[str, array[int]], kept: Callable[[Slots32], Slots32]
) -> Generator[None, None, Lists]:
    """Those of the lists of which something is kept."""
    texts, lengths, numbers = list[str](), array("I"), bytearray()
    for at, (text, one) in enumerate(held.items()):
        found = kept(np.array(one, dtype=np.uint32))
        if len(found):
            texts.append(text)
            lengths.append(len(found))
            numbers += found.tobytes()
        if at % _AT_ONCE == 0:
            yield
    return Lists(texts, lengths.tobytes(), bytes(numbers))


def _unpacked(kept: Lists) -> dict[str, array[int]]:
    lengths, numbers = array("I", kept.lengths), memoryview(kept.numbers)
    if len(lengths) != len(kept.texts) or 4 * sum(lengths) != len(numbers):
        raise ValueError("the lists of an index do not fit")
    held, at = {}, 0
    for text, length in zip(kept.texts, lengths, strict=True):
        one = held[text] = array("I")
        one.frombytes(numbers[at : at + 4 * length])
        at += 4 * length
    return held
