"""Lines as agents write them under the preset `inspect`: those that only read pass, and each that writes, runs, sends or shows secrets is refused."""

import tomllib
from pathlib import Path

import pytest

from gatewright.validators.sandbox import prepare

_FILE = Path(__file__).with_name("inspect_lines.toml")


def _lines(name: str) -> list[str]:
    said = tomllib.loads(_FILE.read_text("utf-8"))[name]
    return [line for line in said.splitlines() if line and not line.startswith("## ")]


INSPECT = prepare({"allow": ["inspect"]})


@pytest.mark.parametrize("line", _lines("honest"))
def test_what_only_reads_passes_inspect(line: str) -> None:
    assert INSPECT.judge(line) is None


@pytest.mark.parametrize("line", _lines("attacks"))
def test_what_does_more_is_refused(line: str) -> None:
    """MGP-4.5-1 and MGP-4.5-2"""
    assert INSPECT.judge(line) is not None


def test_each_line_stands_once() -> None:
    lines = [*_lines("honest"), *_lines("attacks")]
    assert len(set(lines)) == len(lines)
