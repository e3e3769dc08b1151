"""Lines of everyday development pass under the preset `develop`, and lines that harm do not."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from gatewright.validators.sandbox import prepare

FILES = [Path(__file__).with_name(one) for one in ("develop_lines.toml", "develop_lines_more.toml")]
LINES = [tomllib.loads(one.read_text("utf-8")) for one in FILES]
DEVELOP = prepare({"allow": ["develop"]})
INSPECT = prepare({"allow": ["inspect"]})


@pytest.mark.parametrize("line", [line for one in LINES for line in one["honest"]])
def test_a_line_of_development_passes(line: str) -> None:
    assert DEVELOP.judge(line) is None


@pytest.mark.parametrize("line", [line for one in LINES for line in one["attacks"]])
def test_a_line_that_harms_is_refused_by_both_presets(line: str) -> None:
    assert DEVELOP.judge(line) is not None
    assert INSPECT.judge(line) is not None
