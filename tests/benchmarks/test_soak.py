"""Fifteen seconds of it; the benchmark itself takes five minutes."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from pathlib import Path

from benchmarks.crowds import house_in
from benchmarks.soak import soaked


def test_every_call_that_is_lost_says_why_whatever_is_killed_read_again_or_hangs_up(
    tmp_path: Path,
) -> None:
    with ExitStack() as stack:
        found = asyncio.run(soaked(house_in(tmp_path / "soak", stack), 15.0, 50.0, 1.5))
    assert found.unexplained == []
    assert found.faults >= 6
    assert len(found.crowded_ms) > 100
