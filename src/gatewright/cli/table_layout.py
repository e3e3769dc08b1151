"""Widths of texts on a terminal (wide and combining characters), padding and cutting by them, and how a table fits: columns, or row by row.

A word that is broken is one that nobody reads or copies: an id, a date, the name of a tool. So a column is as wide as its longest word, but
the last one, which takes what may be long and is folded anywhere. Where that does not fit, columns in which nothing stands are left out; and
where that does not help either, each row is printed by itself, one line a column.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

__all__ = ["cut", "layout", "padded", "width_of"]

GAP = 2
"""Columns of the terminal between two of the table."""
_LAST = 16
"""The last column is folded down to this."""


def width_of(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return len(text) if text.isascii() else sum(map(_width, text))


def _width(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def padded(text: str, width: int) -> str:
    """The text with blanks behind it up to a width."""
    return text + " " * (width - width_of(text))


def cut(text: str, width: int) -> str:
    """The text where it is no wider, else its beginning and an ellipsis."""
    if width_of(text) <= width:
        return text
    taken, kept = 1, 0  # 1 for the ellipsis
    for kept, char in enumerate(text):  # noqa: B007 - where it ends is what is asked
        taken += _width(char)
        if taken > width:
            break
    return text[:kept] + "…"


def layout(
    columns: Sequence[str], rows: Sequence[Sequence[str]], room: int
) -> list[tuple[int, int]] | None:
    """The numbers of the columns to show and the width of each, in a terminal that is `room` wide. None: row by row."""
    every = range(len(columns))
    full = [number for number in every if any(row[number] for row in rows)]
    for shown in (list(every), full):
        widths = _fit([[columns[number], *(row[number] for row in rows)] for number in shown], room)
        if widths is not None and shown:
            return list(zip(shown, widths, strict=True))
    return None


def _fit(columns: Sequence[Sequence[str]], room: int) -> list[int] | None:
    """The width of each column that breaks no word; None where there is none. What is left goes to those that need least of it first."""
    least = [max((width_of(w) for cell in one for w in cell.split()), default=0) for one in columns]
    whole = [max(map(width_of, one)) for one in columns]
    if least:
        least[-1] = max(width_of(columns[-1][0]), min(least[-1], _LAST))
    left = room - sum(least) - GAP * (len(columns) - 1)
    if left < 0:
        return None
    for number in sorted(range(len(columns)), key=lambda number: whole[number] - least[number]):
        more = min(whole[number] - least[number], left)
        least[number] += more
        left -= more
    return least
