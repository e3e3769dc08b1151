"""`chooses`: whether each alternative of a `find` expression selects files by name or `-empty`, so that `-delete` cannot empty a folder."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from gatewright.patterns import Pattern
from gatewright.validators.shell_globs import letters_of

__all__ = ["chooses"]

_NAMING = Pattern(r"-(?:i?name|i?path|i?wholename|i?regex|empty)")
_ANY = Pattern(r"[^\w]*")
_OR, _NOT = frozenset({"-o", "-or"}), frozenset({"!", "-not"})


def chooses(texts: Sequence[str]) -> bool:
    """Whether each alternative holds a test that leaves files out by their names."""
    if "," in texts or any(one in _NOT and after == "(" for one, after in pairwise(texts)):
        return False
    found = False
    for at, text in enumerate(texts):
        if text in _OR:
            if not found:
                return False
            found = False
        elif _NAMING.fits(text) and not (at and texts[at - 1] in _NOT):
            value = texts[at + 1] if at + 1 < len(texts) else ""
            found = found or text == "-empty" or not _ANY.fits(letters_of(value))
    return found
