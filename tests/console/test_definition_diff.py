"""The difference of two definitions, line by line, within bounds."""

from __future__ import annotations

import json

from gatewright.console.definition_diff import MOST_LINES, Line, difference, line_difference


def test_what_was_taken_out_stands_before_what_came() -> None:
    before = json.dumps({"a": 1, "b": 2})
    assert difference(before, json.dumps({"a": 1, "b": 3})) == [
        Line("same", "{"),
        Line("same", '  "a": 1,'),
        Line("removed", '  "b": 2'),
        Line("added", '  "b": 3'),
        Line("same", "}"),
    ]


def test_numbers_are_compared_by_their_digits() -> None:
    """A float has fewer of them than JSON may."""
    kinds = {one.kind for one in difference("[1.00000000000000000001]", "[1.00000000000000000002]")}
    assert kinds == {"same", "removed", "added"}


def test_what_is_new_is_added_as_a_whole() -> None:
    assert {one.kind for one in difference("", '{"a":1}')} == {"added"}


def test_lines_alike_are_counted_and_not_shown() -> None:
    before = [str(number) for number in range(100)]
    after = [*before]
    after[50] = "x"
    found = line_difference(before, after)
    assert [one.text for one in found if one.kind == "gap"] == ["47 lines alike", "46 lines alike"]
    assert [one.text for one in found if one.kind in ("removed", "added")] == ["50", "x"]


def test_texts_that_are_too_long_are_not_compared() -> None:
    """The work would grow with the product of both."""
    found = line_difference(["a"], [str(number) for number in range(MOST_LINES + 5)])
    assert found[0] == Line("removed", "a")
    assert (len(found), found[-1]) == (MOST_LINES + 2, Line("gap", "5 more lines"))
