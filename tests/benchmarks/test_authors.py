"""docs/authors.md shows what the three SDKs said: our column is asked here, the others where they are installed."""

from __future__ import annotations

import pytest

from benchmarks.authors import __main__ as authors
from benchmarks.authors.probe import CALLS, MISTAKES, lines_of, report
from examples.sdk import ten_tools


def cells(text: str) -> dict[str, list[str]]:
    """First cell of a row → the others."""
    rows = [[one.strip() for one in line.strip("|").split(" | ")] for line in text.splitlines()]
    return {row[0]: row[1:] for row in rows if len(row) > 1 and row[0] != "---"}


async def test_the_page_says_what_our_sdk_says() -> None:
    """CDM-con-1, CDM-con-4, CDM-err-7: ten bad calls are refused, and ten mistakes heard of."""
    found = await report("ours")
    shown = cells(authors.section(authors.PAGE.read_text(encoding="utf-8")))
    said = cells("\n".join(authors.tables({"ours": found})))
    assert {what: row[0] for what, row in shown.items()} == {
        what: row[0] for what, row in said.items()
    }
    assert {when for when, _ in found["calls"].values()} == {"call"}
    assert "never" not in {when for when, _ in found["mistakes"].values()}
    assert (len(CALLS), len(MISTAKES)) == (10, 10)


@pytest.mark.peers
def test_the_page_says_what_the_other_two_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert authors.main([]) == 0
    assert capsys.readouterr().out == authors.section(authors.PAGE.read_text(encoding="utf-8"))


def test_only_lines_with_code_are_counted() -> None:
    assert 40 < lines_of(ten_tools) < 60
