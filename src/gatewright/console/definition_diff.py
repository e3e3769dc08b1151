"""Line-by-line difference of two JSON texts for people: a tool's definition as it was accepted and as its server gives it now; bounded."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Literal

import msgspec

__all__ = ["MOST_LINES", "Line", "difference", "line_difference"]

MOST_LINES = 2_000
"""Of each text; comparing takes the product of both in the worst case."""
_AROUND = 3


class Line(msgspec.Struct, frozen=True):
    """One line, or a `gap`: how many that are alike in both are left out."""

    kind: Literal["same", "added", "removed", "gap"]
    text: str


def difference(before: str, after: str) -> list[Line]:
    """Of two JSON texts, one member a line; all lines of `after` where there is nothing before. Not on the event loop."""
    return line_difference(_lines(before), _lines(after))


def line_difference(before: list[str], after: list[str]) -> list[Line]:
    """Of two texts by their lines, with some that are alike around each difference. Longer ones than can be compared are shown as
    the one removed and the other added, as far as that goes."""
    if max(len(before), len(after)) > MOST_LINES:
        return [*_cut("removed", before), *_cut("added", after)]
    return list(_compared(before, after))


def _lines(text: str) -> list[str]:
    # Never read: two numbers may differ by digits that a float does not have.
    return msgspec.json.format(text, indent=2).split("\n") if text else []


def _cut(kind: Literal["added", "removed"], lines: list[str]) -> Iterator[Line]:
    yield from (Line(kind, one) for one in lines[:MOST_LINES])
    if len(lines) > MOST_LINES:
        yield Line("gap", f"{len(lines) - MOST_LINES} more lines")


def _compared(before: list[str], after: list[str]) -> Iterator[Line]:
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    end = 0
    for group in matcher.get_grouped_opcodes(_AROUND):
        begin = group[0][3]
        if begin > end:
            yield Line("gap", f"{begin - end} lines alike")
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                yield from (Line("same", one) for one in after[j1:j2])
                continue
            yield from (Line("removed", one) for one in before[i1:i2])
            yield from (Line("added", one) for one in after[j1:j2])
        end = group[-1][4]
    if end < len(after) and end:
        yield Line("gap", f"{len(after) - end} lines alike")
