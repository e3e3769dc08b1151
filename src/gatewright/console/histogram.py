"""Histogram over time as data of an SVG: slices of a round length, stacked bars by outcome, and the interval that each bar stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from gatewright.console.audit_query import recorded

__all__ = ["HEIGHT", "Bar", "Piece", "bars", "edges_of"]

HEIGHT = 64
"""Units of the drawing's height."""
_LEAST, _MOST = 40, 72
"""Slices."""
_SECOND, _MINUTE, _HOUR, _DAY = 1_000, 60_000, 3_600_000, 86_400_000
_STEPS = (
    *(n * _SECOND for n in (1, 2, 5, 10, 30)),
    *(n * _MINUTE for n in (1, 2, 5, 10, 30)),
    *(n * _HOUR for n in (1, 2, 3, 6, 12)),
    *(n * _DAY for n in (1, 2, 7, 28, 91, 364)),
)
_STATES = {"success": "ok", "denied": "bad", "error": "bad"}


class Piece(msgspec.Struct, frozen=True):
    """A part of a bar, of one state."""

    state: str
    y: float
    height: float


class Bar(msgspec.Struct, frozen=True):
    """One slice of time."""

    x: int
    since: str
    until: str
    count: int
    words: str
    pieces: Sequence[Piece]


def edges_of(since: int, until: int) -> list[int]:
    """Edges of slices of a round length that cover both times, in milliseconds."""
    least = max(1, until - since) / (_MOST - 2)
    step = next((one for one in _STEPS if one >= least), int(least) + 1)
    end = -(-max(until, since + 1) // step) * step
    first = min(since // step * step, end - _LEAST * step)
    return [*range(first, end + step, step)]


def bars(edges: Sequence[int], counts: Mapping[str, Sequence[int]]) -> list[Bar]:
    """One for each slice."""
    slices = len(edges) - 1
    totals = [sum(one[at] for one in counts.values()) for at in range(slices)]
    most = max(totals, default=0) or 1
    found = []
    for at in range(slices):
        here = {name: one[at] for name, one in sorted(counts.items()) if one[at]}
        said = ", ".join(f"{count:,} {name}" for name, count in here.items()) or "none"
        since, until = recorded(edges[at]), recorded(edges[at + 1])
        words = f"{since[:19].replace('T', ' ')} UTC: {said}"
        found.append(Bar(at, since, until, totals[at], words, _pieces(here, most)))
    return found


def _pieces(counts: Mapping[str, int], most: int) -> list[Piece]:
    """From the bottom: what succeeded, what else ended, what was refused or broke."""
    by_state = {"ok": 0, "warn": 0, "bad": 0}
    for name, count in counts.items():
        by_state[_STATES.get(name, "warn")] += count
    pieces, top = [], float(HEIGHT)
    for state, count in by_state.items():
        if count:
            # A single refusal among thousands is what somebody looks for: it is never thinner than can be seen.
            height = max(1.5, round(count / most * (HEIGHT - 6), 2))
            top -= height
            pieces.append(Piece(state, round(max(0.0, top), 2), height))
    return pieces
