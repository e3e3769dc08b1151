"""Concept lexicon: words of tools in English with their synonyms, and in German, Spanish, French, Japanese and Chinese (`lexicon.txt`).

A concept is a term of the index like a word, so that a query in another language, or in another word, meets a tool's
description. Latin entries of other languages are stems and fit with up to five more letters: `lösch` fits `löschen`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import resources

from gatewright.discovery.words import fold, stem

__all__ = ["Lexicon", "lexicon"]

_MORE_LETTERS = 5
_MOST = 4
_LONGEST_PART = 20
_KANA = "".join(map(chr, range(0x3041, 0x3097)))
"""Endings of Japanese verbs."""


class Lexicon:
    """Which concepts a word belongs to. A concept is named `#` and its number."""

    def __init__(self, text: str) -> None:
        """`text` is lines of columns between `|`: English first; words are between spaces, `-` joins those of several."""
        self._english: dict[str, list[str]] = {}
        self._others: dict[str, list[str]] = {}
        lines = [line for line in text.splitlines() if line and not line.startswith("#")]
        for number, line in enumerate(lines):
            english, *others = line.split("|")
            for word in english.split():
                _file(self._english, stem(fold(word)), f"#{number}")
            for column in others:
                for word in column.split():
                    for part in fold(word).split("-"):
                        if len(part) > 2 or not part.isascii():
                            _file(self._others, part, f"#{number}")
                            if (root := part.rstrip(_KANA)) and root != part:
                                _file(self._others, root, f"#{number}")

        self._lengths = _longest(self._others)

    def __call__(self, folded: str, root: str) -> tuple[str, ...]:
        """The concepts of a word, at most four."""
        found = self._english.get(root) or self._other(folded)
        return tuple(found[:_MOST])

    def longest(self, letter: str) -> int:
        """How long the longest entry of a script without spaces is that begins with this letter; 0 where there is none."""
        return self._lengths.get(letter, 0)

    def foreign(self, folded: str) -> bool:
        """Whether a word is known, but not as English."""
        return stem(folded) not in self._english and bool(self._other(folded))

    def _other(self, folded: str) -> list[str]:
        if found := self._others.get(folded):
            return found
        if folded[0] > "\u2e7f" or len(folded) < 4:
            return []
        return self._begun(folded) or self._compound(folded)

    def _begun(self, folded: str) -> list[str]:
        """The longest entry with which it begins, some letters before its end."""
        for length in range(len(folded), max(3, len(folded) - _MORE_LETTERS) - 1, -1):
            if found := self._others.get(folded[:length]):
                return found
        return []

    def _compound(self, folded: str) -> list[str]:
        """Both parts of a German compound: `Wetterbericht`."""
        for cut in range(min(len(folded) - 4, _LONGEST_PART), 3, -1):
            first = self._others.get(folded[:cut]) or self._english.get(folded[:cut])
            if first:
                rest = folded[cut:]
                second = self._begun(rest) or self._english.get(stem(rest)) or self._begun(rest[1:])
                if second:
                    return [*second[:2], *first[:2]]
        return []


def _longest(words: Iterable[str]) -> dict[str, int]:
    """How long words of scripts without spaces are at most, by their first letter."""
    found: dict[str, int] = {}
    for word in words:
        if word[0] > "\u2e7f":
            found[word[0]] = max(len(word), found.get(word[0], 0))
    return found


def _file(under: dict[str, list[str]], word: str, concept: str) -> None:
    filed = under.setdefault(word, [])
    if concept not in filed:
        filed.append(concept)


@cache
def lexicon() -> Lexicon:
    """The lexicon of the package, read once."""
    text = (
        resources.files("gatewright.discovery").joinpath("lexicon.txt").read_text(encoding="utf-8")
    )
    return Lexicon(text)
