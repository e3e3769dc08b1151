"""Category paths in tool search: `within` matches a wanted path or one below it (`data/storage` in `data`); `letters`: their total length.

What a tool says of its categories is a stranger's: `LETTERS` of them are looked at between two turns of the loop.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

__all__ = ["LETTERS", "letters", "within"]

LETTERS = 16_384
"""Of categories between two steps: a tool may have eight thousand, and half as many levels."""


def letters(categories: Sequence[str]) -> int:
    """How many a tool's categories have, altogether."""
    return sum(map(len, categories))


def within(categories: Sequence[str], wanted: Collection[str]) -> bool:
    """Whether one of the categories is one of those wanted (a set of texts in lower case), or below it."""
    for text in categories:
        has = text.casefold().strip("/")
        while has:
            if has in wanted:
                return True
            # Upwards, so that the work does not grow with how much is wanted.
            has = has.rpartition("/")[0]
    return False
