"""BM25 ranking for the search members of `tools/list` (not `ToolIndex`): name, categories, description; indexed for each query, in slices.

Theory: Okapi BM25 (Robertson and Zaragoza, 2009) with one field, in which a word of the name counts four
times and one of a category twice; a word that begins with a wanted one counts half, so that `dir` finds
`directory`. The index is made for one question over what its asker may see: nobody's ranking depends on
tools that are hidden from him.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Generator, Iterable
from string import ascii_lowercase, ascii_uppercase, digits

import msgspec

__all__ = ["Text", "ranked", "words"]

_CAPITALS, _BEFORE_HUMPS = frozenset(ascii_uppercase), frozenset(ascii_lowercase + digits)
_K1, _B = 1.2, 0.75
_NAME_TIMES, _CATEGORY_TIMES = 4, 2
_QUERY_WORDS = 32
_TEXT_CHARS = 4096


class Text(msgspec.Struct, frozen=True):
    """What is known of one tool in words."""

    name: str
    description: str = ""
    categories: tuple[str, ...] = ()


def words(text: str) -> list[str]:
    """The words of a text, folded; `readFile`, `read_file` and `read file` are the same two."""
    # Sign by sign: a pattern that is asked again behind each hump and each word takes ten times as long where all are short.
    said, before = [], ""
    for sign in text[:_TEXT_CHARS]:
        if sign in _CAPITALS and before in _BEFORE_HUMPS:
            said.append(" ")
        said.append(sign if sign.isalnum() else " ")
        before = sign
    return "".join(said).casefold().split()


def ranked(query: str, texts: Iterable[Text]) -> Generator[None, None, list[int]]:
    """The numbers of the texts that fit at all, the best first; equals stay in their order. Step by step (`slices`)."""
    wanted = list(dict.fromkeys(words(query)))[:_QUERY_WORDS]
    bags = []
    for one in texts:
        yield
        bags.append(_bag(one))
    lengths = [sum(bag.values()) for bag in bags]
    average = sum(lengths) / len(lengths) if lengths else 0.0
    scores = [0.0] * len(bags)
    for word in wanted:
        hits = []
        for number, bag in enumerate(bags):
            yield
            if count := _hits(word, bag):
                hits.append((number, count))
        # The 1 keeps a word that nearly all tools have from counting against them.
        rarity = math.log(1 + (len(bags) - len(hits) + 0.5) / (len(hits) + 0.5))
        for number, count in hits:
            norm = _K1 * (1 - _B + _B * lengths[number] / average)
            scores[number] += rarity * count * (_K1 + 1) / (count + norm)
    fitting = [number for number, score in enumerate(scores) if score > 0]
    return sorted(fitting, key=lambda number: -scores[number])


def _bag(text: Text) -> Counter[str]:
    bag: Counter[str] = Counter()
    _add(bag, words(text.name), _NAME_TIMES)
    for category in text.categories:
        _add(bag, words(category), _CATEGORY_TIMES)
    _add(bag, words(text.description), 1)
    return bag


def _add(bag: Counter[str], found: Iterable[str], times: int) -> None:
    for word in found:
        bag[word] += times


def _hits(wanted: str, bag: Counter[str]) -> float:
    exact = bag.get(wanted, 0)
    if exact or len(wanted) < 3:
        return float(exact)
    return 0.5 * sum(count for word, count in bag.items() if word.startswith(wanted))
