"""Escapes control, invisible and direction-changing characters of foreign text for display to a person."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

__all__ = ["Spelling", "is_seen", "is_unseen", "spelled"]

_DRAWS_NOTHING = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180e\u180f\u2800\u3164\uffa0"
)
"""Letters, marks and symbols that count as printable and show nothing."""


_PRINTABLE_UNSEEN = _DRAWS_NOTHING.union(
    map(chr, range(0xFE00, 0xFE10)), map(chr, range(0xE0100, 0xE01F0))
)


class Spelling(dict[int, str]):
    """A table for `str.translate` that asks once how a character is spelled: ten times as fast as to ask about each one in a text."""

    MOST = 8192
    """So many characters are remembered, unless another number is given: what is looked at in every script needs a few times as many."""

    def __init__(self, spell: Callable[[str], str], most: int = MOST) -> None:
        super().__init__()
        self._spell = spell
        self._most = most

    def __missing__(self, number: int) -> str:
        if len(self) >= self._most:
            self.clear()
        found = self[number] = self._spell(chr(number))
        return found


def is_seen(text: str) -> bool:
    """Whether no character of a text is one that `is_unseen` finds; at the speed of C."""
    return text.isprintable() and _PRINTABLE_UNSEEN.isdisjoint(text)


def is_unseen(char: str) -> bool:
    """Whether a character shows nothing, acts on a terminal, or changes the direction or form of what stands beside it."""
    if not char.isprintable() or char in _DRAWS_NOTHING:
        return True
    return "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"


def spelled(text: str, keep: str = "") -> str:
    """The text with control, invisible and direction characters written as JSON writes them, `\\uXXXX`, except those in
    `keep`. JSON text in which they stand inside texts says the same as before."""
    if text.isascii() and text.isprintable():
        return text
    return text.translate(_keeping(keep))


@cache
def _keeping(keep: str) -> Spelling:
    return Spelling(lambda char: _escaped(char) if is_unseen(char) and char not in keep else char)


def _escaped(char: str) -> str:
    # JSON writes a character beyond U+FFFF as two (RFC 8259, 7).
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
