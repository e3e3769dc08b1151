"""Suggests similar names for a misspelt one, by shared letter pairs.

A few microseconds a name: an edit distance over a thousand names would hold up everybody else.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from itertools import chain, islice, pairwise

__all__ = ["NAME_CHARS", "closest", "closest_in_steps"]

NAME_CHARS = 128
"""Characters of a name that are compared."""

_COMPARED = 1000
_COMPARED_CHARS = 20_000
"""Of all names together so many characters are looked at: a quarter of a microsecond each."""
_BETWEEN = str.maketrans("", "", "_-./: ")
_SUGGESTED = 3
# Likeness (0 to 1) from which on a name is suggested.
_CLOSE = 0.5


def closest(wanted: str, names: Iterable[str], most: int = _SUGGESTED) -> list[str]:
    """Up to `most` names that come close to the wanted one, best first; of the first thousand, or fewer where they are long."""
    pairs = _pairs(wanted)
    return _best((one for name in _first(names) for one in _near(pairs, name)), most)


def closest_in_steps(
    wanted: str, names: Iterable[str], most: int = _SUGGESTED
) -> Generator[None, None, list[str]]:
    """The same, one name a step: a thousand of them take as long as several slices."""
    pairs, near = _pairs(wanted), list[tuple[float, str]]()
    for name in _first(names):
        yield
        near += _near(pairs, name)
    return _best(near, most)


def _near(wanted: set[tuple[str, str]], name: str) -> list[tuple[float, str]]:
    likeness = _likeness(wanted, _pairs(name))
    return [(-likeness, name)] if likeness >= _CLOSE else []


def _best(near: Iterable[tuple[float, str]], most: int) -> list[str]:
    return [name for _, name in sorted(near)[:most]]


def _first(names: Iterable[str]) -> Iterator[str]:
    left = _COMPARED_CHARS
    for name in islice(names, _COMPARED):
        left -= min(len(name), NAME_CHARS)
        if left < 0:
            return
        yield name


def _pairs(name: str) -> set[tuple[str, str]]:
    """Neighbours in either order, and next neighbours: two letters that changed places cost little."""
    letters = name[:NAME_CHARS].casefold().translate(_BETWEEN)
    pairs = chain(pairwise(letters), zip(letters, letters[2:], strict=False))
    # Never empty, because `_likeness` divides by the number.
    return {(one, two) if one < two else (two, one) for one, two in pairs} or {(letters, "")}


def _likeness(one: set[tuple[str, str]], other: set[tuple[str, str]]) -> float:
    """The share of common pairs in the smaller set, so that a missing prefix costs little, times
    their share in all, so that the nearest in length comes first."""
    common = len(one & other)
    return 0.75 * common / min(len(one), len(other)) + 0.25 * common / len(one | other)
