"""What is said of tools that nobody sees: every number of them, every name a server may give them, every shape of an answer."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.servers.commands.held_tools import counted, unseen_notes, unseen_rows


def entry(names: list[str], count: int | None = None, kind: str = "held_back") -> dict[str, Any]:
    tools = [{"name": name, "why": "why"} for name in names]
    return {"id": "files", kind: {"count": len(names) if count is None else count, "tools": tools}}


@pytest.mark.parametrize("kind", ["held_back", "left_out"])
@given(names=st.lists(st.text(), min_size=1, max_size=12), more=st.integers(0, 10**6))
def test_every_name_stays_on_its_line_and_the_number_is_whole(
    kind: str, names: list[str], more: int
) -> None:
    found = entry(names, len(names) + more, kind)
    (line,) = unseen_notes(found)
    assert line.splitlines() == [line]
    assert len(line) < 3000
    assert counted(len(names) + more, kind) in line
    rows = list(unseen_rows(found))
    assert len(rows) == len(names) + (more > 0)
    assert all(row.splitlines() == [row] for _, row in rows)


@pytest.mark.parametrize(
    "answer", [{}, {"held_back": 3}, {"held_back": {}}, {"left_out": {"tools": 3}}]
)
def test_an_answer_of_another_shape_says_nothing(answer: dict[str, Any]) -> None:
    assert list(unseen_notes(answer)) == []
    assert list(unseen_rows(answer)) == []


def test_one_tool_is_no_plural() -> None:
    assert counted(1, "held_back") == "1 tool is held back"
    assert counted(2, "left_out") == "2 tools are left out"
