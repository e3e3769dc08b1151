"""Unicode normalization (UAX #15) of strangers' text in linear time: rows of more than 30 combining marks are cut.

The marks on a letter are put in order of their classes by insertion, which takes the square of their number: eight thousand take a second.
No script writes more than a few, and the Stream-Safe Text Format has room for thirty. A longer row is normalized in pieces of so many: the
letter with the first thirty, then thirty by thirty. So a text without such a row is normalized as everywhere, one with such a
row keeps every character, and nothing but the rest of the row is composed with anything else, or out of order.

What counts as a mark is what becomes one: U+0F73 and U+FF9E have the class 0, and what they stand for has another.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from typing import Literal

from gatewright.secret_scanning.escape_invisible import Spelling

__all__ = ["MARKS", "Form", "has_long_row", "normal"]

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]
MARKS = 30
"""Marks on one letter, as of UAX #15's Stream-Safe Text Format."""
_LONG = "^" * (MARKS + 1)
_APART = 10
"""Every so many characters one is looked at: three in a row are marks wherever there are more than `MARKS`."""
_SOME = "^^^"
_LETTERS = 32_768


def normal(form: Form, text: str) -> str:
    """The text in a form of Unicode."""
    if len(text) <= MARKS or text.isascii():
        return unicodedata.normalize(form, text)
    cuts = list(_cuts(text))
    if not cuts:
        return unicodedata.normalize(form, text)
    return "".join(
        unicodedata.normalize(form, text[at:end]) for at, end in pairwise((0, *cuts, len(text)))
    )


def has_long_row(text: str) -> bool:
    """Whether a letter has more marks than any script writes."""
    return len(text) > MARKS and not text.isascii() and next(_cuts(text), None) is not None


def _cuts(text: str) -> Iterator[int]:
    """Where rows of marks are cut. To look at one character takes a hundred times as long as to normalize it, so not all are looked at."""
    seen = text[::_APART].translate(_marked)
    at = seen.find(_SOME)
    while at >= 0:
        end = seen.find(" ", at)
        end = len(seen) if end < 0 else end
        # The row begins behind the character before, which is no mark, and ends before the one at `end`.
        begin = max(0, (at - 1) * _APART + 1)
        row = text[begin : end * _APART].translate(_marked)
        place = row.find(_LONG)
        while place >= 0:
            yield begin + place + MARKS
            place = row.find(_LONG, place + MARKS)
        at = seen.find(_SOME, end)


_marked = Spelling(
    lambda char: "^" if unicodedata.combining(unicodedata.normalize("NFKD", char)[0]) else " ",
    _LETTERS,
)
