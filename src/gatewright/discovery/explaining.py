"""Why a tool fits a query, for people: which words of the query stand in its name, description or parameters, or mean the same as one there."""

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
    fields: list[tuple[str, list[tuple[str, Word]]]] = []
    for where, text in (
        ("name", entry.name),
        ("description", entry.description),
        ("parameters", " ".join(entry.parameters)),
        ("categories", " ".join((*entry.categories, *entry.keywords))),
    ):
        fields.append((where, _read(text, words)))
        yield
    found = (_first(written, word, fields) for written, word in _read(query, words))
    once = {one.word: one for one in found if one is not None}
    return list(once.values())[:_MOST]


def _read(text: str, words: Words) -> list[tuple[str, Word]]:
    pieces = (part for one in split(text, _FIELD_CHARS) for part in parts(one))
    return [(part, word) for part in pieces for word in words.of(part)]


def _first(
    written: str, word: Word, fields: list[tuple[str, list[tuple[str, Word]]]]
) -> Reason | None:
    """The first field that has the word itself, else the first with one that means the same."""
    for where, there in fields:
        if word.term and any(one.term == word.term for _, one in there):
            return Reason(written, where)
    meant = set(word.concepts)
    for where, there in fields:
        for other, one in there:
            if meant.intersection(one.concepts):
                return Reason(written, where, other)
    return None
