"""Slices of time, and their bars."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from gatewright.console.histogram import HEIGHT, bars, edges_of


@given(st.integers(0, 2 * 10**12), st.integers(0, 10**11))
def test_slices_cover_the_span_and_are_few(since: int, length: int) -> None:
    edges = edges_of(since, since + length)
    assert edges[0] <= since <= since + length <= edges[-1]
    assert 40 <= len(edges) - 1 <= 73
    assert len({b - a for a, b in pairwise(edges)}) == 1


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), min_size=1, max_size=40))
def test_bars_stay_within_the_drawing_and_say_their_counts(slices: list[tuple[int, int]]) -> None:
    edges = [*range(0, 1000 * len(slices) + 1, 1000)]
    counts = {"success": [one[0] for one in slices], "denied": [one[1] for one in slices]}
    for bar, (good, bad) in zip(bars(edges, counts), slices, strict=True):
        assert bar.count == good + bad
        assert (f"{bad:,} denied" in bar.words) == bool(bad)
        assert all(0 <= piece.y <= HEIGHT and piece.height >= 1.5 for piece in bar.pieces)
        assert ("bad" in [piece.state for piece in bar.pieces]) == bool(bad)
