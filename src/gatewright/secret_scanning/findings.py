"""Merges overlapping findings of secret rules, and widens each to whole UTF-8 characters, since patterns count bytes."""

from __future__ import annotations

from collections.abc import Iterable

from gatewright.secret_scanning.context import Finding

__all__ = ["apart", "begin_of_character", "end_of_character"]

_MORE = 3
"""Bytes of a character of UTF-8 behind its first, at most: in text that is none, no step is longer."""


def apart(text: bytes, found: Iterable[Finding]) -> list[Finding]:
    """In order, of whole characters; of those that overlap the first, which reaches as far as any of them."""
    # A rule may find a place with nothing in it.
    places = [
        (begin_of_character(text, start), end_of_character(text, end), rule)
        for start, end, rule in found
        if end > start
    ]
    kept: list[Finding] = []
    for start, end, rule in sorted(places, key=lambda one: (one[0], -one[1])):
        if kept and start < kept[-1][1]:
            last = kept[-1]
            kept[-1] = (last[0], max(last[1], end), last[2])
        else:
            kept.append((start, end, rule))
    return kept


def begin_of_character(text: bytes, at: int) -> int:
    """The same place, or the beginning of the character that it is in."""
    least = max(0, at - _MORE)
    while least < at and _continues(text, at):
        at -= 1
    return at


def end_of_character(text: bytes, at: int) -> int:
    """The same place, or the end of the character that it is in."""
    most = at + _MORE
    while at < most and _continues(text, at):
        at += 1
    return at


def _continues(text: bytes, at: int) -> bool:
    return at < len(text) and text[at] & 0xC0 == 0x80
