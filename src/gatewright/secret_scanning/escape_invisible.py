"""Escapes control, invisible and direction-changing characters of foreign text for display to a person."""

from __future__ import annotations

__all__ = ["is_seen", "is_unseen", "spelled"]

_DRAWS_NOTHING = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180e\u180f\u2800\u3164\uffa0"
)
"""Letters, marks and symbols that count as printable and show nothing."""


_PRINTABLE_UNSEEN = _DRAWS_NOTHING.union(
    map(chr, range(0xFE00, 0xFE10)), map(chr, range(0xE0100, 0xE01F0))
)


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
    return "".join(
        _escaped(char) if is_unseen(char) and char not in keep else char for char in text
    )


def _escaped(char: str) -> str:
    # JSON writes a character beyond U+FFFF as two (RFC 8259, 7).
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
