"""`size_of`: counts values, depth, characters and large or fractional numbers in a decoded JSON value, to estimate validation cost."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["Size", "size_of"]

_EXACT = 2**53
"""Up to here two whole numbers have two different floats, by which the library hashes them."""
_INT64 = 2**63
_DECIMAL = 3
"""Whole numbers that a number counts for which keeps its own text (`jsonrpc.Num`): comparing decimals takes longer."""


class Size(NamedTuple):
    """What a value has of each."""

    values: int
    depth: int
    """Levels below the value itself; 0 for a scalar."""
    chars: int
    longest: int
    """Characters of the longest text or name."""
    numbers: int
    fractions: int
    """Numbers among them that are no whole ones of 64 bits."""
    wide: int
    """Whole numbers of 54 to 64 bits: up to 1024 of them have one hash."""
    exact: int
    """Numbers that are compared as decimals, because no float and no 64 bits hold them: all of them may have one hash."""


def size_of(value: Any) -> Size:
    """Go through a value once."""
    values, depth, level = 0, -1, [value]
    texts: list[int] = []
    numbers: list[Any] = []
    while level:
        depth += 1
        values += len(level)
        below: list[Any] = []
        for one in level:
            if isinstance(one, str):
                texts.append(len(one))
            elif isinstance(one, dict):
                texts.extend(map(len, one))
                below.extend(one.values())
            elif isinstance(one, list):
                below.extend(one)
            elif one is not None and type(one) is not bool:
                numbers.append(one)
        level = below
    return Size(values, depth, sum(texts), max(texts, default=0), *_widths(numbers))


def _widths(numbers: list[Any]) -> tuple[int, int, int, int]:
    fractions = wide = exact = 0
    for one in numbers:
        if type(one) is float:
            fractions += 1
        elif type(one) is not int:
            exact += _DECIMAL
        elif not -_EXACT <= one <= _EXACT:
            wide += 1
            exact += not -_INT64 <= one < _INT64
    return len(numbers), fractions + exact, wide, exact
