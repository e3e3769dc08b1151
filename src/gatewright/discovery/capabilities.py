"""Matches a capability of `mgp/tools/request` with tools that were found for it: by shared words, then risk, types and relevance.

A search always finds something; whether that is what an agent lacks has to be told by evidence. Here that is words: most words of the
capability stand in the tool's name, description, parameters, categories or keywords, as they are or by their stem.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Sequence
from itertools import islice
from math import ceil
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from gatewright.discovery.catalogue_index import entry_of
from gatewright.discovery.lookup import RISKS, Offered
from gatewright.discovery.ranking import words
from gatewright.transport.slices import whole

__all__ = ["Requirements", "Wanted", "best_for", "covers", "types_of"]

_STEM = 4
_LIKE = 0.7
_WORDS, _COMPARED = 64, 64
"""So many words of what is asked for are looked at, each beside so many of a tool that begin like it."""
_SAID = 4096
"""So many words of a tool are looked at."""
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


def types_of(wanted: Requirements) -> Generator[None, None, list[str]]:
    """The words of the types that a request deals with, for `best_for`. A step for a type."""
    return (yield from _few((*wanted.input_types, *wanted.output_types)))


def best_for(
    capability: str,
    found: Sequence[tuple[Offered, float]],
    wanted: Requirements,
    types: Collection[str] = (),
    chosen: Collection[str] = (),
) -> Generator[None, None, Wanted]:
    """The best of what was `found`, with its relevance. What is no riskier than preferred comes first (without a preference, what is
    not dangerous), then what was `chosen` for another capability, then what deals with the `types`, then the more relevant. A step for
    each text of a tool and for each word that is looked for in it."""
    most = RISKS.index(wanted.preferred_risk_level or "moderate")
    needed = yield from _few([capability])
    fitting: list[tuple[tuple[float, ...], int, Offered]] = []
    for one, score in found:
        said = yield from _words_of(one)
        if (yield from _cover(needed, said)):
            deals = yield from _counted(types, said)
            rank = max(0, one.risk - most), float(one.id not in chosen), -deals, -score
            fitting.append((rank, len(fitting), one))
    best = [one for _, _, one in sorted(fitting)]
    usable = next((one for one in best if not one.missing), None)
    pending = next((one for one in best if one.missing), None)
    return Wanted(capability, usable, None if usable is not None else pending)


def covers(capability: str, said: Iterable[str]) -> bool:
    """Whether most words of a capability are among those that are said of a tool."""
    return whole(_cover(whole(_few([capability])), _Said(said)))


class _Said:
    """Words that are said of a tool, by their beginnings: a word is compared with those that begin like it."""

    def __init__(self, said: Iterable[str]) -> None:
        self._begun: dict[str, list[str]] = {}
        self._all = frozenset(said)
        for one in self._all:
            like = self._begun.setdefault(one[:_STEM], [])
            if len(like) < _COMPARED:
                like.append(one)

    def has(self, word: str) -> bool:
        """Whether it is among them, as it is or by its stem."""
        if word in self._all:
            return True
        return any(_alike(word, one) for one in self._begun.get(word[:_STEM], ()))


def _few(texts: Iterable[str]) -> Generator[None, None, list[str]]:
    """The first words of some texts, each once. A step for a text; those behind the last word are not looked at."""
    found: dict[str, None] = {}
    for text in texts:
        found.update(dict.fromkeys(words(text)))
        yield
        if len(found) >= _WORDS:
            break
    return list(islice(found, _WORDS))


def _cover(needed: Collection[str], said: _Said) -> Generator[None, None, bool]:
    count = yield from _counted(needed, said)
    return count * 2 > len(needed)


def _counted(wanted: Iterable[str], said: _Said) -> Generator[None, None, int]:
    """How many words are among those that are said. A step for a word."""
    count = 0
    for word in wanted:
        count += said.has(word)
        yield
    return count


def _alike(one: str, other: str) -> bool:
    """`statistics` and `statistical`, `analysis` and `analyze`. For words that are not the same."""
    shorter = min(len(one), len(other))
    # As one comparison: letter by letter, sixty-four words of 250 letters beside as many take as long as a frame may.
    least = max(_STEM, ceil(_LIKE * shorter))
    return least <= shorter and one[:least] == other[:least]


def _words_of(one: Offered) -> Generator[None, None, _Said]:
    """What is said of a tool. A step for a text: a description and the parameters may have thirty thousand letters."""
    entry = entry_of(one.tool)
    yield
    found: list[str] = []
    for text in (entry.name, entry.description, *entry.parameters, *entry.categories, *entry.keywords):  # fmt: skip
        found += words(text)
        yield
        if len(found) >= _SAID:
            break
    return _Said(islice(found, _SAID))
