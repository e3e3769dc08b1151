"""Matches a capability of `mgp/tools/request` with tools that were found for it: by shared words, then risk, types and relevance.

A search always finds something; whether that is what an agent lacks has to be told by evidence. Here that is words: most words of the
capability stand in the tool's name, description, parameters, categories or keywords, as they are or by their stem.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from gatewright.discovery.catalogue_index import entry_of
from gatewright.discovery.lookup import RISKS, Offered
from gatewright.discovery.ranking import words

__all__ = ["Requirements", "Wanted", "best_for", "covers"]

_STEM = 4
_LIKE = 0.7
_Word = Annotated[str, Meta(max_length=256)]
_Words = Annotated[list[_Word], Meta(max_length=16)]


class Requirements(msgspec.Struct):
    """What a request asks for (MGP §16.6)."""

    capabilities: _Words = []
    input_types: _Words = []
    output_types: _Words = []
    preferred_risk_level: Literal["safe", "moderate", "dangerous"] | None = None


class Wanted(msgspec.Struct, frozen=True):
    """One capability, and the tool that covers it: one that may be used, else one that waits for a permission."""

    capability: str
    usable: Offered | None = None
    pending: Offered | None = None


def best_for(
    capability: str,
    found: Sequence[tuple[Offered, float]],
    wanted: Requirements,
    chosen: Collection[str] = (),
) -> Wanted:
    """The best of what was `found`, with its relevance. What is no riskier than preferred comes first (without a preference, what is
    not dangerous), then what was `chosen` for another capability, then what deals with the types, then the more relevant."""
    most = RISKS.index(wanted.preferred_risk_level or "moderate")
    types = [one for text in (*wanted.input_types, *wanted.output_types) for one in words(text)]
    fitting: list[tuple[tuple[float, ...], int, Offered]] = []
    for one, score in found:
        said = _words_of(one)
        if covers(capability, said):
            deals = sum(_among(word, said) for word in types)
            rank = max(0, one.risk - most), float(one.id not in chosen), -deals, -score
            fitting.append((rank, len(fitting), one))
    best = [one for _, _, one in sorted(fitting)]
    usable = next((one for one in best if not one.missing), None)
    pending = next((one for one in best if one.missing), None)
    return Wanted(capability, usable, None if usable is not None else pending)


def covers(capability: str, said: Collection[str]) -> bool:
    """Whether most words of a capability are among those that are said of a tool."""
    needed = words(capability)
    return bool(needed) and sum(_among(word, said) for word in needed) * 2 > len(needed)


def _among(word: str, said: Iterable[str]) -> bool:
    return any(_alike(word, one) for one in said)


def _alike(one: str, other: str) -> bool:
    """`statistics` and `statistical`, `analysis` and `analyze`."""
    if one == other:
        return True
    shorter = min(len(one), len(other))
    shared = 0
    while shared < shorter and one[shared] == other[shared]:
        shared += 1
    return shared >= _STEM and shared >= _LIKE * shorter


def _words_of(one: Offered) -> frozenset[str]:
    entry = entry_of(one.tool)
    texts = (entry.name, entry.description, *entry.parameters, *entry.categories, *entry.keywords)
    return frozenset(word for text in texts for word in words(text))
