"""Splits identifiers (`awsHTTPKey2`, `read_file`) into their words, for whatever judges texts by the names in them."""

from __future__ import annotations

from itertools import groupby
from string import ascii_lowercase, ascii_uppercase, digits

__all__ = ["words_of"]

_KINDS = {
    letter: kind
    for kind, letters in enumerate((ascii_uppercase, ascii_lowercase, digits), 1)
    for letter in letters
}
_CAPITALS, _SMALL = _KINDS["A"], _KINDS["a"]


def words_of(name: str) -> list[str]:
    """The words of a name as programs write it: `awsHTTPKey2` is aws, HTTP, Key, 2."""
    found: list[str] = []
    before = None
    for kind, letters in groupby(name, _KINDS.get):
        said = "".join(letters)
        if kind == _SMALL and before == _CAPITALS:
            said = found[-1][-1] + said  # the last capital is of this word
            found[-1:] = [found[-1][:-1]] if len(found[-1]) > 1 else []
        if kind:
            found.append(said)
        before = kind
    return found
