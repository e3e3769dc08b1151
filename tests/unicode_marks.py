"""Rows of every character that is a mark or becomes one (UAX #15), and whether work on them grows with their length alone."""

from __future__ import annotations

import sys
import time
import unicodedata
from collections.abc import Callable, Iterator

__all__ = ["BECOMING", "ROWS", "steady"]

Row = Callable[[int], str]

BECOMING = "\u0f73\u0f75\u0f81\uff9e\uff9f"
"""Characters of class 0 of which NFKD makes marks."""
_FEW, _MANY = 1500, 12_000
_QUADRATIC = (_MANY // _FEW) ** 2 // 2
_NO_TIME_S = 0.02


def _kinds() -> Iterator[str]:
    """One mark of each class, and whatever becomes several marks."""
    classes: dict[int, str] = {}
    for char in map(chr, range(sys.maxunicode + 1)):
        apart = unicodedata.normalize("NFKD", char)
        if unicodedata.combining(apart[0]):
            if len(apart) > 1 or char in BECOMING:
                yield char
            else:
                classes.setdefault(unicodedata.combining(char), char)
    yield from classes.values()


_EVERY = "".join(dict.fromkeys(_kinds()))
_DOWN = "".join(sorted(_EVERY, key=lambda one: -unicodedata.combining(one)))


def _of(many: str, before: str = "a") -> Row:
    return lambda length: (before + many * (length // len(many) + 1))[:length]


def _down(length: int) -> str:
    """Marks in falling order of their classes: whoever inserts them one by one passes all that were there."""
    each = length // len(_DOWN) + 1
    return "a" + "".join(one * each for one in _DOWN)[:length]


ROWS: tuple[Row, ...] = (
    *(_of(one) for one in BECOMING),
    *(_of(f"\u0301{one}") for one in BECOMING),
    _of("\u0301\u0316"),
    _of("\u0301\u0327", "\u1100\u1161\u11a8" * 400),
    _of("\u0344\u0316"),
    _of(_EVERY),
    _of(_DOWN),
    _down,
)
"""Lengths → texts with a row of about so many characters."""


def steady(work: Callable[[str], object], row: Row) -> bool:
    """Whether work on a row eight times as long takes nowhere near sixty-four times as long, or no time worth mentioning."""
    work(row(40))
    for _ in range(2):
        few, many = _spent(work, row(_FEW)), _spent(work, row(_MANY))
        if many < _NO_TIME_S or many < few * _QUADRATIC:
            return True
    return False


def _spent(work: Callable[[str], object], text: str) -> float:
    began = time.process_time()
    work(text)
    return time.process_time() - began
