"""Why a tool fits a query, for people: which query words stand in its name, description, parameters, categories, or mean the same."""

from __future__ import annotations

from collections.abc import Generator

import msgspec

from gatewright.discovery.index import Entry
from gatewright.discovery.words import Word, Words, parts, split

__all__ = ["Reason", "reasons"]

_FIELD_CHARS = 600
_MOST = 8


class Reason(msgspec.Struct, frozen=True):
    """One word of the query, where it was found, and the tool's word where that is another one."""

    word: str
    where: str
    """`name`, `description`, `parameters`, `categories`."""
    means: str = ""
    """The tool's own word, which means the same."""


def reasons(query: str, entry: Entry, words: Words) -> Generator[None, None, list[Reason]]:
    """At most eight, in the order of the query; none where the tool is close in meaning alone (by its vector). A step for a field."""
    terms: dict[str, str] = {}
    meanings: dict[str, _Place] = {}
    for where, text in (
        ("name", entry.name),
        ("description", entry.description),
        ("parameters", " ".join(entry.parameters)),
        ("categories", " ".join((*entry.categories, *entry.keywords))),
    ):
        for other, word in _read(text, words):
            if word.term:
                terms.setdefault(word.term, where)
            for concept in word.concepts:
                meanings.setdefault(concept, (len(meanings), where, other))
        yield
    found: dict[str, Reason] = {}
    for written, word in _read(query, words):
        if written not in found:
            reason = _first(written, word, terms, meanings)
            if reason is not None:
                found[written] = reason
    return list(found.values())[:_MOST]


_Place = tuple[int, str, str]
"""The how manieth, in which field, as which word."""


def _read(text: str, words: Words) -> list[tuple[str, Word]]:
    pieces = (part for one in split(text, _FIELD_CHARS) for part in parts(one))
    return [(part, word) for part in pieces for word in words.of(part)]


def _first(
    written: str, word: Word, terms: dict[str, str], meanings: dict[str, _Place]
) -> Reason | None:
    """The first field that has the word itself, else the first word that means the same. Looked up: a query may have as many words as
    it likes, and so may a description."""
    if word.term in terms:
        return Reason(written, terms[word.term])
    same = min((meanings[one] for one in word.concepts if one in meanings), default=None)
    return None if same is None else Reason(written, same[1], same[2])
