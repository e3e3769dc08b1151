"""Rows say whether a target is met, and the frame prints them and keeps the exit code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from benchmarks.processes import Trouble
from benchmarks.rows import Options, Row, Test, main


@pytest.mark.parametrize(
    ("ours", "peer", "target", "test", "met"),
    [
        (10.0, None, 9.0, "ours >=", True),
        (10.0, None, 11.0, "ours >=", False),
        (10.0, None, 9.0, "ours <=", False),
        (10.0, 2.0, 5.0, "ratio >=", True),
        (10.0, 2.0, 5.1, "ratio >=", False),
        (10.0, None, 5.0, "ratio >=", False),
        (10.0, 9.0, 1.0, "added <=", True),
        (10.0, 8.5, 1.0, "added <=", False),
        (10.0, 8.5, None, "ours >=", None),
    ],
)
def test_a_target_is_held_against_what_its_test_names(
    ours: float, peer: float | None, target: float | None, test: Test, met: bool | None
) -> None:
    row = Row("some", ours, "ms", peer, "somebody", target, test)
    assert row.met is met
    assert json.loads(row.as_json())["met"] is met


def _run(options: Options, stack: ExitStack) -> Iterator[Row]:
    """Two rows, the second with a missed target."""
    assert options.folder.is_dir()
    stack.callback(lambda: None)
    yield Row("first", 6.0, "calls/s", 2.0, "peer", extras={"p50_us": 1.5})
    yield Row("second", 6.0, "calls/s", target=7.0, test="ours >=")


def test_json_output_is_one_object_a_row_and_a_missed_target_is_no_failure(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(_run, "Some.", ["--json"]) == 0
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first["name"] == "first"
    assert first["ratio"] == 3.0
    assert first["p50_us"] == 1.5
    assert (second["target"], second["met"]) == (7.0, False)


def test_a_benchmark_that_cannot_run_ends_with_one_and_says_why(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def broken(options: Options, stack: ExitStack) -> Iterator[Row]:
        yield from _run(options, stack)
        raise Trouble("the peer is not installed; run `make peers` first")

    assert main(broken, "Some.", []) == 1
    captured = capsys.readouterr()
    assert "make peers" in captured.err
    assert "MISSED" in captured.out
