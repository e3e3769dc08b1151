"""A change of access in words, and what it is about."""

from __future__ import annotations

from typing import Any

import pytest

from gatewright.console.access_shapes import AccessChange, AccessUndo


@pytest.mark.parametrize(
    ("tool", "do", "words"),
    [
        ("echo", "allow", "ann may use demo/echo"),
        ("", "deny", "ann may not use demo"),
        ("echo", "revoke", "what was said of ann on demo/echo is taken back"),
    ],
)
def test_a_change_says_what_holds_once_it_is_saved(tool: str, do: Any, words: str) -> None:
    change = AccessChange(agent="ann", server="demo", tool=tool, do=do)
    assert change.words == words
    assert change.key == ("ann", "demo", tool or None)


def test_an_undo_that_names_nothing_is_of_the_last_change() -> None:
    assert AccessUndo().of == ""
