"""What a doubling of an input costs, and what it is held against."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from benchmarks.hostile.growth import LEAST_MS, cpu_ms, grown


@pytest.mark.parametrize(
    ("costs", "ratio"),
    [
        ([100, 200, 400], 2.0),
        ([100, 200, 900], 4.5),
        ([LEAST_MS / 2, LEAST_MS * 10, LEAST_MS * 20], 2.0),
        ([1, 2, 3], 0.0),
        ([100, 50, 10], 0.5),
    ],
)
def test_only_what_costs_more_than_any_call_is_judged(costs: list[float], ratio: float) -> None:
    assert grown(costs) == ratio


def test_what_a_process_and_its_children_used_is_counted_also_once_they_have_ended() -> None:
    before = cpu_ms(os.getpid())
    busy = "import time\nwhile time.process_time() < 0.2: pass"
    subprocess.run([sys.executable, "-c", busy], check=True)
    while time.process_time() < 0.1:
        pass
    assert cpu_ms(os.getpid()) - before >= 190
