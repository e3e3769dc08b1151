"""Pages with a few approvals and tools; the benchmark itself has thousands."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from benchmarks.console_lists import PAGES, took


def test_every_page_of_a_long_list_is_there(tmp_path: Path) -> None:
    with ExitStack() as stack:
        found = took(tmp_path, stack, 120, 40, 2)
    assert {name: len(figures) for name, figures in found.items()} == dict.fromkeys(PAGES, 2)
    assert min(min(figures) for figures in found.values()) > 0
