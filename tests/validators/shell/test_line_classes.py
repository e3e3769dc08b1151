"""Lines as agents write them: what only reads passes `inspect`, work inside the workspace passes `develop`, and attacks pass neither."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from gatewright.validators.sandbox import prepare


def _lines(file: str, name: str) -> list[str]:
    said = tomllib.loads(Path(__file__).with_name(file).read_text("utf-8"))[name]
    return [line for line in said.splitlines() if line and not line.startswith("## ")]


INSPECT = prepare({"allow": ["inspect"]})
DEVELOP = prepare({"allow": ["develop"]})
HONEST = _lines("inspect_lines.toml", "honest")
SECRETS = _lines("secret_lines.toml", "attacks")
ATTACKS = [
    *SECRETS,
    *_lines("attack_lines.toml", "attacks"),
    *_lines("detour_lines.toml", "attacks"),
]
GAPS = [_lines("gap_lines.toml", name) for name in ("honest", "attacks")]
WORKS, NEVER = _lines("work_lines.toml", "works"), _lines("work_lines.toml", "never")


@pytest.mark.parametrize("line", HONEST)
def test_what_only_reads_passes_inspect(line: str) -> None:
    assert INSPECT.judge(line) is None


@pytest.mark.parametrize("line", [*ATTACKS, *NEVER])
def test_what_does_more_is_refused_by_inspect(line: str) -> None:
    """MGP-4.5-1 and MGP-4.5-2"""
    assert INSPECT.judge(line) is not None


@pytest.mark.parametrize("line", WORKS)
def test_work_inside_the_workspace_passes_develop(line: str) -> None:
    assert DEVELOP.judge(line) is None


@pytest.mark.parametrize("line", [*SECRETS, *NEVER])
def test_secrets_and_what_leads_elsewhere_are_refused_by_develop(line: str) -> None:
    """MGP-4.5-2"""
    assert DEVELOP.judge(line) is not None


def test_known_gaps_are_there_as_long_as_they_are_listed() -> None:
    refused, passing = GAPS
    assert [line for line in refused if INSPECT.judge(line) is None] == []
    assert [line for line in passing if INSPECT.judge(line) is not None] == []


def test_each_line_stands_once() -> None:
    lines = [*HONEST, *ATTACKS, *WORKS, *NEVER, *GAPS[0], *GAPS[1]]
    assert len(set(lines)) == len(lines)
