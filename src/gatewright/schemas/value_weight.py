"""Weighs decoded JSON values against a bound (characters, and some for each value); how long a JSON text may be to stay under it."""

from __future__ import annotations

from typing import Any

__all__ = ["light_text", "outweighs"]


_EACH = 8
"""What a value weighs besides its characters."""


def outweighs(value: Any, most: int, each: int = _EACH, wide: int = 1) -> bool:
    """Whether the characters of a value, and `each` for each value in it, are more than so many. Ends as soon as they are. Those of a
    text or name that is not ASCII count `wide` times, for whoever reads it as it looks: U+FDFA is eighteen characters then."""
    weight = 0
    stack = [value]
    while stack:
        found = stack.pop()
        weight += each
        if type(found) is str:
            weight += len(found) if found.isascii() else len(found) * wide
        elif type(found) is dict:
            weight += sum(len(one) if one.isascii() else len(one) * wide for one in found)
            stack.extend(found.values())
        elif type(found) is list:
            stack.extend(found)
        # What still waits weighs `each` at least, so a list of a million ends the walk before it begins.
        if weight > most or weight + len(stack) * each > most:
            return True
    return False


def light_text(most: int, each: int = _EACH) -> int:
    """The bytes that a JSON text may have so that no value in it, nor a list of one, `outweighs` so much, whatever it says: each
    value takes a byte and something between it and the next, and no character takes less than one."""
    return max(0, (most - 2 * each) * 2 // (each + 2))
