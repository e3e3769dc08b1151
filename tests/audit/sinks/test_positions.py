"""How far sinks have come is remembered, each for itself."""

from __future__ import annotations

from pathlib import Path
from sys import maxsize

import pytest

from gatewright.audit.sinks.positions import SinkPositions


def test_each_sink_has_its_own_and_the_last_one_counts(tmp_path: Path) -> None:
    positions = SinkPositions(tmp_path, ["one", "other"])
    assert positions.taken() == 0
    positions.of("one").move(7)
    positions.of("other").move(5)
    assert (positions.of("one").taken, positions.taken()) == (7, 5)
    again = SinkPositions(tmp_path, ["one", "other", "third"])
    assert (again.of("one").taken, again.of("other").taken, again.taken()) == (7, 5, 0)
    with pytest.raises(KeyError):
        again.of("fourth")


def test_without_sinks_nothing_is_held_back(tmp_path: Path) -> None:
    assert SinkPositions(tmp_path, ()).taken() == maxsize


@pytest.mark.parametrize("content", [b"", b"nonsense", b'{"taken":"x"}'])
def test_one_that_is_nonsense_begins_anew(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "audit-sink.one.json").write_bytes(content)
    assert SinkPositions(tmp_path, ["one"]).taken() == 0


def test_one_that_cannot_be_read_is_said_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "audit-sink.one.json").mkdir()
    with pytest.raises(OSError, match="audit-sink"):
        SinkPositions(tmp_path, ["one"])
