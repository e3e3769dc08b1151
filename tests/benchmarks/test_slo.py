"""benchmarks/slo.py measures what the table of seed 004 names; how quick this machine is, is not judged here."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path

import pytest

from benchmarks import slo
from benchmarks.rows import Options

# The table of the seed: operation → target.
SEED = {
    "slo.registration": (1.0, "ms", "ours <= target"),  # CDM-slo-1
    "slo.list": (5.0, "ms", "ours <= target"),  # CDM-slo-2
    "slo.schema": (1.0, "ms", "ours <= target"),  # CDM-slo-3
    "slo.validation": (1.0, "ms", "ours <= target"),  # CDM-slo-7
    "slo.discovery": (2000.0, "ms", "ours <= target"),  # CDM-slo-6
    "slo.dispatch.stdio": (10.0, "ms", "ours <= target"),  # CDM-slo-4
    "slo.throughput.stdio": (1000.0, "calls/s", "ours >= target"),  # CDM-slo-8
    "slo.dispatch.http": (100.0, "ms", "ours <= target"),  # CDM-slo-5
    "slo.throughput.http": (100.0, "calls/s", "ours >= target"),  # CDM-slo-9
}


def test_every_figure_of_the_table_is_measured_beside_its_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CDM-slo-1, CDM-slo-2, CDM-slo-3, CDM-slo-4, CDM-slo-5, CDM-slo-6, CDM-slo-7, CDM-slo-8, CDM-slo-9"""
    monkeypatch.setattr(slo, "MODULES", 20)
    monkeypatch.setattr(slo, "TOOLS", 50)
    with ExitStack() as stack:
        rows = [json.loads(one.as_json()) for one in slo.run(Options(tmp_path, 1, 0.1), stack)]
    found = {one["name"]: (one["target"], one["unit"], one["test"]) for one in rows}
    assert found == SEED | {"sdk.import": (60.0, "ms", "ours <= target")}
    assert all(one["ours"] >= 0 and one["peer"] == one["target"] for one in rows)
    for one in rows:
        within = one["ours"] <= one["target"], one["ours"] >= one["target"]
        assert one["met"] is within["<=" not in one["test"]], one


def test_a_percentile_is_a_value_that_was_seen() -> None:
    values = [float(one) for one in range(100, 0, -1)]
    assert slo.percentile(values, 0.5) == 51.0
    assert slo.percentile(values, 0.99) == 100.0
    assert slo.percentile([3.0], 0.99) == 3.0
