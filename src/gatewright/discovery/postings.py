"""Inverted index (term → slots and BM25F impacts) with typo-tolerant look-up of terms by trigrams; appended to, swept in slices.

An impact is the part of BM25F (Robertson, Zaragoza and Taylor, 2004) that does not depend on other tools, in a byte. How rare a
term is, is asked at search time, of the tools that the searcher may see and of no others.
"""

from __future__ import annotations

from array import array
from collections.abc import Generator, Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

__all__ = ["Bools", "Floats", "Postings", "Slots", "Spelling", "alike", "trigrams"]

Floats = NDArray[np.float32]
Bools = NDArray[np.bool_]
Slots = NDArray[np.uint32]

_TYPOS_FROM = 4
_CANDIDATES = 24


class Postings:
    """Which slots have a term, and with what impact (0 to 1)."""

    def __init__(self) -> None:
        self._terms: dict[str, tuple[array[int], array[int]]] = {}

    def __contains__(self, term: str) -> bool:
        return term in self._terms

    def add(self, slot: int, impacts: Mapping[str, float]) -> list[str]:
        """File a slot under terms. The terms that were new."""
        new = []
        for term, impact in impacts.items():
            held = self._terms.get(term)
            if held is None:
                held = self._terms[term] = (array("I"), array("B"))
                new.append(term)
            held[0].append(slot)
            held[1].append(round(impact * 255) or 1)
        return new

    def of(self, term: str) -> tuple[Slots, NDArray[np.uint8]] | None:
        """Slots and impacts (of 255): copies, which stay as they are."""
        held = self._terms.get(term)
        if held is None:
            return None
        return np.array(held[0], dtype=np.uint32), np.array(held[1], dtype=np.uint8)

    def sweep(self, dead: Bools) -> Generator[None, None, list[str]]:
        """Take dead slots (true in `dead`; those beyond its end live) out of every term. The terms that are gone."""
        gone = []
        for term in list(self._terms):
            slots, impacts = (np.array(part) for part in self._terms[term])
            known = slots < len(dead)
            kept = ~known
            kept[known] = ~dead[slots[known]]
            if not kept.any():
                del self._terms[term]
                gone.append(term)
            elif not kept.all():
                self._terms[term] = (
                    array("I", slots[kept].astype(np.uint32).tobytes()),
                    array("B", impacts[kept].tobytes()),
                )
            yield
        return gone

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

    def like(self, word: str) -> list[tuple[str, float]]:
        """Terms with how alike they are (0 to 1), the most alike first."""
        if len(word) < _TYPOS_FROM - 1:
            return []
        lists = [held for one in _keys(word) if (held := self._by_trigram.get(one))]
        if not lists:
            return []
        numbers, shared = np.unique(np.concatenate(lists), return_counts=True)
        # One wrong letter costs three triples: what shares fewer than a fourth is no typing error.
        near = shared * 4 >= len(word)
        numbers, shared = numbers[near], shared[near]
        best = np.argsort(-shared, kind="stable")[:_CANDIDATES]
        found = [(term, alike(word, term)) for term in (self._terms[numbers[one]] for one in best)]
        return sorted((one for one in found if one[1] > 0), key=lambda one: -one[1])


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
    """Damerau's distance: letters wrong, missing or too many, and neighbours exchanged."""
    before: list[int] = []
    last = list(range(len(two) + 1))
    for row, letter in enumerate(one, 1):
        now = [row]
        for column, other in enumerate(two, 1):
            cost = min(last[column] + 1, now[column - 1] + 1, last[column - 1] + (letter != other))
            if row > 1 and column > 1 and letter == two[column - 2] and one[row - 2] == other:
                cost = min(cost, before[column - 2] + 1)
            now.append(cost)
        before, last = last, now
    return last[-1]
