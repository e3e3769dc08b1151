"""Walks every string of a decoded JSON value with its `Place`; writes JSON pointers (RFC 6901); tells which steps are list indexes.

A validator that looks at one well-known parameter protects only tools that use this name. So, where
nobody said which parameter matters, all of them do, at every depth. The walk keeps its own stack,
because nesting is the caller's choice and Python's stack is not; places are linked to the place above
them instead of being spelled out, so that the walk stays linear in the value's size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

__all__ = ["STEP_CHARS", "Place", "is_place", "pointer", "strings"]

STEP_CHARS = 200
"""Characters of each step of a pointer that is written."""
# Digits of an index, at most: no list is longer, and `int` takes the square of a text's length.
_DIGITS = 10


class Place(NamedTuple):
    """One step into a value; `above` is None directly below the whole value."""

    above: Place | None
    step: str | int

    def path(self) -> list[str | int]:
        """The steps from the whole value to here."""
        steps: list[str | int] = []
        place: Place | None = self
        while place is not None:
            steps.append(place.step)
            place = place.above
        return steps[::-1]


def strings(value: Any) -> Iterator[tuple[Place | None, str, bool]]:
    """Yield (place, text, whether it is a member's name) for every string, in document order. Of a list no more is looked at than
    up to the string that is asked for."""
    stack: list[Iterator[tuple[Place | None, Any]]] = [iter([(None, value)])]
    while stack:
        for place, found in stack[-1]:
            if isinstance(found, str):
                yield place, found, False
            elif isinstance(found, dict):
                for name in found:
                    yield Place(place, name), name, True
                stack.append(_values(place, found.items()))
                break
            elif isinstance(found, list):
                stack.append(_values(place, enumerate(found)))
                break
        else:
            stack.pop()


def _values(
    above: Place | None, within: Iterable[tuple[str | int, Any]]
) -> Iterator[tuple[Place, Any]]:
    return ((Place(above, step), one) for step, one in within)


def is_place(step: str, items: Sequence[Any]) -> bool:
    """Whether a step of a pointer leads to an item of a list."""
    return len(step) < _DIGITS and step.isdecimal() and int(step) < len(items)


def pointer(steps: Iterable[str | int]) -> str:
    """The JSON pointer (RFC 6901) of some steps; empty for the whole value. Of a name of more than `STEP_CHARS` the beginning: whoever
    sent it knows the rest, and it would be said again with each flaw."""
    return "".join(f"/{_written(str(step))}" for step in steps)


def _written(step: str) -> str:
    shown = step if len(step) <= STEP_CHARS else f"{step[:STEP_CHARS]}…"
    return shown.replace("~", "~0").replace("/", "~1")
