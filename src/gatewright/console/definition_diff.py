"""Line diffs for console pages, in linear time: of JSON texts, lines or a unified diff, equal lines left out; `is_whole`: nothing was cut.

Lines that stand once in both texts are anchors (patience difference); between two anchors the same again, a few levels deep. What is
left between them counts as taken out and put in. So the work grows with the lines, whatever a server writes: usual differences take the
product of both texts where lines repeat.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

import msgspec

from gatewright.console.rendering import shows_all

__all__ = ["MOST_LINES", "Kind", "Line", "difference", "is_whole", "line_difference", "unified"]

MOST_LINES = 2_000
"""Of each text: more than that is nothing that a person reads."""
_AROUND = 3
_LEVELS = 8
Kind = Literal["same", "added", "removed", "gap", "cut"]
_SIGNS: Mapping[str, Kind] = {"+": "added", "-": "removed"}


class Line(msgspec.Struct, frozen=True):
    """One line, or a `gap`: how many that are alike in both are left out; or a `cut`: how many that are not."""

    kind: Kind
    text: str


def difference(before: str, after: str) -> list[Line]:
    """Of two JSON texts, one member a line; all lines of `after` where there is nothing before. Not on the event loop."""
    return line_difference(_lines(before), _lines(after))


def line_difference(before: list[str], after: list[str], most: int = MOST_LINES) -> list[Line]:
    """Of two texts by their lines, with some that are alike around each difference. Those with more than `most` lines are shown as
    the one removed and the other added, as far as `MOST_LINES` goes."""
    if max(len(before), len(after)) > most:
        return [*_cut("removed", before), *_cut("added", after)]
    return list(_compared(before, after))


def is_whole(lines: Iterable[Line]) -> bool:
    """Whether a page shows all that differs."""
    return all(
        one.kind in ("same", "gap") or (one.kind != "cut" and shows_all(one.text)) for one in lines
    )


def unified(text: str) -> list[Line]:
    """The lines of a unified difference that somebody else made; its head and its places are gaps."""
    found: list[Line] = []
    for one in text.split("\n")[: 2 * MOST_LINES]:
        if one.startswith(("---", "+++", "@@")):
            found.append(Line("gap", one))
        elif one:
            found.append(Line(_SIGNS.get(one[0], "same"), one[1:]))
    return found


def _lines(text: str) -> list[str]:
    # Never read: two numbers may differ by digits that a float does not have.
    return msgspec.json.format(text, indent=2).split("\n") if text else []


def _cut(kind: Literal["added", "removed"], lines: list[str]) -> Iterator[Line]:
    yield from (Line(kind, one) for one in lines[:MOST_LINES])
    if len(lines) > MOST_LINES:
        yield Line("cut", f"{len(lines) - MOST_LINES} more lines are not shown")


def _compared(before: list[str], after: list[str]) -> Iterator[Line]:
    """The lines of `after`, with what was taken out before what came in its place; lines that are alike far from a difference are left
    out. Nothing where both are the same."""
    if before == after:
        return
    at = there = 0
    whole = len(before), len(after)
    for old, new, length in [
        *_joined(_alike(before, after, (0, whole[0], 0, whole[1]), _LEVELS)),
        (*whole, 0),
    ]:
        yield from (Line("removed", one) for one in before[at:old])
        yield from (Line("added", one) for one in after[there:new])
        at, there = old + length, new + length
        yield from _around(after[new:there], first=(old, new) == (0, 0), last=(at, there) == whole)


def _around(lines: list[str], *, first: bool, last: bool) -> Iterator[Line]:
    """Lines that are alike: some behind the difference before them, and some before the next one."""
    head = 0 if first else _AROUND
    tail = 0 if last else _AROUND
    left_out = len(lines) - head - tail
    if left_out <= 0:
        yield from (Line("same", one) for one in lines)
        return
    yield from (Line("same", one) for one in lines[:head])
    yield Line("gap", "1 line alike" if left_out == 1 else f"{left_out} lines alike")
    yield from (Line("same", one) for one in lines[len(lines) - tail :])


_Block = tuple[int, int, int]
"""Lines that are alike: where they begin in both texts, and how many they are."""
_Part = tuple[int, int, int, int]
"""Of one text from where to where, and of the other."""


def _joined(blocks: Iterator[_Block]) -> Iterator[_Block]:
    """Blocks that follow each other in both texts, as one."""
    old = new = length = 0
    for one in blocks:
        if one[:2] == (old + length, new + length):
            length += one[2]
            continue
        if length:
            yield old, new, length
        old, new, length = one
    if length:
        yield old, new, length


def _alike(before: list[str], after: list[str], part: _Part, levels: int) -> Iterator[_Block]:
    """Blocks of a part of both texts, in their order."""
    i, i_end, j, j_end = part
    begun, ended = i, i_end
    while i < i_end and j < j_end and before[i] == after[j]:
        i, j = i + 1, j + 1
    if i > begun:
        yield begun, part[2], i - begun
    while i_end > i and j_end > j and before[i_end - 1] == after[j_end - 1]:
        i_end, j_end = i_end - 1, j_end - 1
    anchors = _anchors(before, after, (i, i_end, j, j_end)) if levels else []
    for old, new in anchors:
        yield from _alike(before, after, (i, old, j, new), levels - 1)
        yield old, new, 1
        i, j = old + 1, new + 1
    if anchors:
        yield from _alike(before, after, (i, i_end, j, j_end), levels - 1)
    if ended > i_end:
        yield i_end, j_end, ended - i_end


def _anchors(before: list[str], after: list[str], part: _Part) -> list[tuple[int, int]]:
    """The longest row of lines that stand once in both parts and in the same order."""
    i, i_end, j, j_end = part
    old, new = before[i:i_end], after[j:j_end]
    once, once_too = Counter(old), Counter(new)
    place = {line: at for at, line in enumerate(new, j) if once_too[line] == 1}
    pairs = [
        (at, place[line]) for at, line in enumerate(old, i) if once[line] == 1 and line in place
    ]
    # Patience sorting: the last of each pile of lengths, and what stands before each.
    tops: list[int] = []
    piles: list[int] = []
    previous: list[int] = []
    for number, (_, there) in enumerate(pairs):
        at = bisect_left(tops, there)
        previous.append(piles[at - 1] if at else -1)
        tops[at : at + 1], piles[at : at + 1] = [there], [number]
    found: list[tuple[int, int]] = []
    number = piles[-1] if piles else -1
    while number >= 0:
        found.append(pairs[number])
        number = previous[number]
    return found[::-1]
