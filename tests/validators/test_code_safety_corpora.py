"""Ways out of the closed levels, none of which passes, and programs of data science, of which nearly all do."""

from pathlib import Path

import pytest

from gatewright.validators.code_safety import prepare

_CORPORA = Path(__file__).with_name("corpora")
MOST_REFUSED = 0.045
"""Share of honest programs: templates that are parameters, packages that are not listed, generic functions, `fields` …"""


def programs(name: str) -> list[str]:
    return (_CORPORA / name).read_text("utf-8").split("\n====\n")


@pytest.mark.parametrize("level", ["strict", "readonly"])
def test_no_way_out_passes(level: str) -> None:
    judge = prepare({"level": level}).judge
    ways = programs("code_escapes.txt")
    assert len(ways) > 600
    assert [one for one in ways if judge(one) is None] == []


def test_what_sends_passes_no_reader() -> None:
    judge = prepare({"level": "readonly"}).judge
    assert [one for one in programs("code_writes.txt") if judge(one) is None] == []


@pytest.mark.parametrize("level", ["strict", "readonly"])
def test_programs_of_data_science_pass(level: str) -> None:
    judge = prepare({"level": level}).judge
    honest = programs("code_honest.txt")
    refused = [one for one in honest if judge(one) is not None]
    assert len(honest) > 380
    assert len(refused) <= MOST_REFUSED * len(honest), refused
