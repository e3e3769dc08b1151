"""Whole lines under `inspect` and `develop`: what each refuses and what honest work needs, class by class."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from gatewright.validators.sandbox import prepare

INSPECT, DEVELOP = prepare({"allow": ["inspect"]}), prepare({"allow": ["develop"]})
LINES = tomllib.loads(Path(__file__).with_name("kind_lines.toml").read_text("utf-8"))


@pytest.mark.parametrize("line", LINES["reads"])
def test_what_reads_passes_both(line: str) -> None:
    assert INSPECT.judge(line) is None
    assert DEVELOP.judge(line) is None


@pytest.mark.parametrize("line", [*LINES["spies"], *LINES["harms"]])
def test_what_shows_secrets_changes_something_or_has_no_end_is_refused_by_inspect(
    line: str,
) -> None:
    """MGP-4.5"""
    assert INSPECT.judge(line) is not None


@pytest.mark.parametrize("line", LINES["works"])
def test_what_works_inside_passes_develop(line: str) -> None:
    assert DEVELOP.judge(line) is None


@pytest.mark.parametrize("line", LINES["harms"])
def test_what_leads_outside_empties_or_runs_what_was_fetched_is_refused_by_develop(
    line: str,
) -> None:
    """MGP-4.5"""
    assert DEVELOP.judge(line) is not None
