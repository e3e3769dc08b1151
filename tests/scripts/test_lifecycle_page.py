"""`scripts/docs lifecycle`: the page is what the tables say, text by hand stays, and a page that is behind is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from gatewright.servers.states import STATES, TRANSITIONS
from scripts.lifecycle_page import PAGE, PARTS, ROOT, main, written


def test_the_page_is_current() -> None:
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    assert written(text) == text, "run: scripts/docs lifecycle"


def test_the_page_shows_every_part_state_and_transition() -> None:
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    for part in PARTS:
        assert f"<!-- begin {part}:" in text
    for state in STATES:
        assert f"| `{state}` |" in text
    for one in TRANSITIONS:
        assert f"    {one.before} --> {one.after}: {one.when}" in text


def test_a_page_that_is_behind_is_named_and_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "docs").mkdir()
    page = tmp_path / PAGE
    page.write_text("before\n<!-- begin states: x -->\nold\n<!-- end states -->\nafter\n")
    assert main(["--check"], tmp_path) == 1
    assert "old" in page.read_text()
    assert main([], tmp_path) == 0
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "`draining`" in text
    assert "old" not in text
    assert main(["--check"], tmp_path) == 0
    assert capsys.readouterr().out == f"{PAGE}\n" * 2
