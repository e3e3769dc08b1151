"""Analyses tools (BM25F impacts, name trigrams, vector) and queries (weighted terms, concepts, clause vectors) for tool search."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Protocol

import msgspec

from gatewright.discovery.postings import Floats, trigrams
from gatewright.discovery.word_vectors import Table
from gatewright.discovery.words import Word, Words, fold, split
from gatewright.patterns import Pattern

__all__ = ["Described", "Query", "analysed", "impacts_of", "name_terms"]

_K1 = 1.2
_FIELDS = (  # how often a word counts, the usual number of words, how much a longer field counts against it
    (3.0, 3.0, 0.4),
    (1.0, 24.0, 0.6),
    (0.4, 20.0, 0.7),
    (0.7, 4.0, 0.5),
    (0.5, 3.0, 0.5),
)
_CONCEPT = 0.6
_FOLDED_CHARS = 500
"""Characters of a query that are folded in one step."""
_DESCRIPTION_CHARS, _PARAMETER_CHARS = 600, 500
_QUERY_CHARS = 2000
_QUERY_WORDS = 64
_CLAUSES = 8
_PARTS = 4 * _QUERY_WORDS
_CLAUSE = Pattern(
    "[.;:!?\n,\u3001\u3002\uff01\uff0c\uff1a\uff1b\uff1f]+| (?:and|then|und|dann|y|luego|et|puis) "
)
_VECTOR = (2.0, 1.0, 0.25, 0.5, 0.3)


class Described(Protocol):
    """What the engine reads of a tool (`index.Entry`)."""

    @property
    def server(self) -> str:
        """Its server."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def description(self) -> str:
        """What it is for."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names and descriptions."""

    @property
    def categories(self) -> tuple[str, ...]:
        """Paths."""

    @property
    def keywords(self) -> tuple[str, ...]:
        """Words."""


class Query(msgspec.Struct, frozen=True):
    """A query, taken apart. `terms` and `concepts` have weights; `clauses` are vectors of its parts, where it has several; `words`
    those that say something, each once."""

    text: str
    terms: dict[str, float]
    concepts: dict[str, float]
    triples: list[str]
    vector: Floats
    clauses: list[Floats]
    paths: list[str]
    words: list[Word]


def impacts_of(
    entry: Described, words: Words, table: Table
) -> tuple[dict[str, float], dict[str, float], Floats, list[int]]:
    """A tool's BM25F impacts, the trigrams of its name, its vector, and the rows of its words that say something."""
    texts = (
        (entry.name, 200),
        (entry.description, _DESCRIPTION_CHARS),
        (" ".join(entry.parameters), _PARAMETER_CHARS),
        (" ".join((*entry.categories, *entry.keywords)), 200),
        (entry.server, 100),
    )
    counts: dict[str, float] = {}
    has = counts.get
    rows: list[int] = []
    telling: list[int] = []
    weights: list[float] = []
    name: list[str] = []
    for (text, most), (times, usual, share), vector in zip(texts, _FIELDS, _VECTOR, strict=True):
        if not text:
            continue
        found = words.all_of(split(text, most))
        if times == _FIELDS[0][0]:
            name = [one.term for one in found if one.term]
        telling += [one.row for one in found if one.row >= 0 and (one.term or one.concepts)]
        once = times / (1 - share + share * len(found) / usual)
        for one in found:
            term = one.term
            if term:
                counts[term] = has(term, 0.0) + once
            for concept in one.concepts:
                counts[concept] = has(concept, 0.0) + once * _CONCEPT
            if one.row >= 0:
                rows.append(one.row)
                weights.append(one.weight * vector)
    impacts = {term: count / (_K1 + count) for term, count in counts.items()}
    triples = trigrams("".join(name))
    # The impact of a triple is how many the name has: all that Dice's coefficient needs.
    size = min(len(triples), 255) / 255
    return impacts, dict.fromkeys(triples, size), table.pool(rows, weights), telling


def name_terms(entry: Described, words: Words) -> list[str]:
    """The terms of a tool's name."""
    return [one.term for one in words.all_of(split(entry.name, 200)) if one.term]


def analysed(query: str, words: Words, table: Table) -> Generator[None, None, Query]:
    """What a query asks for. A step for a word: one of two hundred Han characters takes milliseconds."""
    text = query[:_QUERY_CHARS]
    found = yield from _words_of(split(text, _QUERY_CHARS)[: 2 * _QUERY_WORDS], words, _PARTS)
    terms: dict[str, float] = {}
    concepts: dict[str, float] = {}
    for one in found:
        if one.term and (one.term in terms or len(terms) < _QUERY_WORDS):
            terms[one.term] = terms.get(one.term, 0.0) + 1
        for concept in one.concepts:
            concepts[concept] = max(concepts.get(concept, 0.0), 1.0 / len(one.concepts) ** 0.5)
    terms = {term: 1 + 0.3 * (min(count, 3) - 1) for term, count in terms.items()}
    clauses = []
    parts = [part for part in _CLAUSE.split(text) if part.strip()] if len(found) > 14 else []
    for part in parts[:_CLAUSES]:
        said = yield from _words_of(split(part, 400), words, _PARTS // _CLAUSES)
        if sum(bool(one.term) for one in said) >= 2:
            clauses.append(_pooled(said, table))
    folded = yield from _folded(text)
    return Query(
        text=folded,
        terms=terms,
        concepts=concepts,
        triples=trigrams("".join(terms)) if len(terms) <= 8 else [],
        vector=_pooled(found, table),
        clauses=clauses,
        paths=[one for one in (folded.strip().strip("/"), *folded.split()) if one],
        words=list(
            {(one.term, one.concepts): one for one in found if one.term or one.concepts}.values()
        ),
    )


def _folded(text: str) -> Generator[None, None, str]:
    """A text folded, of which as much counts as of one that is not: a character may become eighteen (U+FDFA)."""
    found = ""
    for at in range(0, len(text), _FOLDED_CHARS):
        found += fold(text[at : at + _FOLDED_CHARS])
        if len(found) >= _QUERY_CHARS:
            break
        yield
    return found[:_QUERY_CHARS]


def _words_of(written: Sequence[str], words: Words, most: int) -> Generator[None, None, list[Word]]:
    """What words stand for, until they are so many: two hundred characters that are no word stand for a hundred."""
    found: list[Word] = []
    for one in written:
        found += words.of(one)
        yield
        if len(found) > most:
            break
    return found


def _pooled(found: Sequence[Word], table: Table) -> Floats:
    return table.pool(
        [one.row for one in found if one.row >= 0], [one.weight for one in found if one.row >= 0]
    )
