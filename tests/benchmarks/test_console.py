"""One approval in a page, and a page of each kind under load; the benchmark itself does twenty, and five by five."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from benchmarks.console import DIFFERENT, LIVE, first_pages, waits, with_pages
from benchmarks.rows import Options


@pytest.mark.browser
def test_what_is_asked_stands_in_a_page_before_it_is_decided_and_answered(tmp_path: Path) -> None:
    with ExitStack() as stack:
        found = waits(tmp_path, stack, 1)
    assert len(found.seen) == len(found.decided) == 1
    assert found.seen[0] > 0
    assert found.decided[0] > 0


@pytest.mark.browser
def test_a_first_page_listens(tmp_path: Path) -> None:
    with ExitStack() as stack:
        (first,) = first_pages(tmp_path, stack, 1)
    assert first > 0


def test_pages_look_while_calls_are_made(tmp_path: Path) -> None:
    """One of each kind: every part that they ask for is there, and those that look most often do so meanwhile."""
    with ExitStack() as stack:
        options = Options(tmp_path, rounds=1, seconds=2.5)
        pages = (LIVE, *DIFFERENT)
        watched, alone, fetched = with_pages(tmp_path, stack, options, "all", pages)
    assert fetched >= 2
    assert min(one.rate for one in (*watched, *alone)) > 0
