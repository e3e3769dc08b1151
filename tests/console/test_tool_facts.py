"""What is shown of tools; the rest: `screens/test_tools.py`."""

from __future__ import annotations

import pytest

from gatewright.console.tool_facts import first_line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", ""),
        ("\n\n one\ntwo", "one"),
        ("x" * 300, "x" * 300),
        ("x" * 301, "x" * 300 + "…"),
    ],
)
def test_a_description_is_one_line_in_a_list(text: str, line: str) -> None:
    assert first_line(text) == line
