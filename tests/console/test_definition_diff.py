"""The difference of two definitions, line by line, within bounds."""

from __future__ import annotations

import difflib
import json
import random

import pytest

from gatewright.console import definition_diff
from gatewright.console.definition_diff import (
    MOST_LINES,
    Line,
    difference,
    is_whole,
    line_difference,
    unified,
)
from gatewright.console.rendering import foreign
from gatewright.console.whole_texts import MOST_CHARS
from tests.costs import lines_run


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
    """Nobody would read what came of it."""
    found = line_difference(["a"], [str(number) for number in range(MOST_LINES + 5)])
    assert found[0] == Line("removed", "a")
    assert (len(found), found[-1]) == (MOST_LINES + 2, Line("cut", "5 more lines are not shown"))


def test_a_difference_of_somebody_else_keeps_its_lines() -> None:
    text = "--- a\n+++ b\n@@ -1 +1 @@\n same\n-old\n+new\n"
    assert unified(text) == [
        Line("gap", "--- a"),
        Line("gap", "+++ b"),
        Line("gap", "@@ -1 +1 @@"),
        Line("same", "same"),
        Line("removed", "old"),
        Line("added", "new"),
    ]


def _texts(shape: str, count: int) -> tuple[list[str], list[str]]:
    """What a server may write, of so many lines."""
    lines = [str(number) for number in range(count)]
    choose = random.Random(5)
    if shape == "the same line":
        return ["}"] * count, ["}"] * (count - 1) + ["{"] + ["}"] * count
    if shape == "two lines by turns":
        return ["a", "b"] * (count // 2), ["b", "a"] * (count // 2)
    if shape == "few lines mixed":
        return [choose.choice("abcdef") for _ in lines], [choose.choice("abcdef") for _ in lines]
    if shape == "turned around":
        return lines, lines[::-1]
    if shape == "every other one":
        return lines, [one for pair in zip(lines, lines[::-1], strict=True) for one in pair]
    if shape == "nothing alike":
        return lines, [f"{one}x" for one in lines]
    # An anchor at the end alone, behind which the next one shows.
    twice = [one for one in lines for _ in range(2)]
    return [*twice, *lines[::-1]], [*twice[::-1], *lines]


SHAPES = (
    "the same line",
    "two lines by turns",
    "few lines mixed",
    "turned around",
    "every other one",
    "nothing alike",
    "anchors in anchors",
)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_work_grows_with_the_lines(shape: str) -> None:
    """Counted in lines of Python, whoever's: servers write the texts, and a person who looks at one waits for it."""

    def lines(count: int) -> int:
        before, after = _texts(shape, count)
        inside = lambda: line_difference(before, after, 10_000)  # noqa: E731
        return lines_run((definition_diff, difflib), inside)

    few, many = lines(100), lines(400)
    assert many <= 4.6 * few
    assert many < 400 * 3 * 40


@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_shown_leads_from_the_one_text_to_the_other(shape: str) -> None:
    before, after = _texts(shape, 60)
    found = line_difference(before, after)
    old = [one.text for one in found if one.kind in ("removed", "same")]
    new = [one.text for one in found if one.kind in ("added", "same")]
    left_out = sum(int(one.text.split()[0]) for one in found if one.kind == "gap")
    assert (len(old) + left_out, len(new) + left_out) == (len(before), len(after))
    assert _is_within(old, before)
    assert _is_within(new, after)


def test_of_a_definition_only_what_changed_is_shown_as_changed() -> None:
    properties = {f"name_{n}": {"type": "string", "description": "x"} for n in range(40)}
    before = {"name": "a", "inputSchema": {"type": "object", "properties": properties}}
    changed = {**properties, "name_9": {"type": "number", "description": "x"}}
    changed["more"] = {"type": "string", "description": "x"}
    after = {"name": "a", "inputSchema": {"type": "object", "properties": changed}}
    found = difference(json.dumps(before), json.dumps(after))
    said = [(one.kind, one.text.strip()) for one in found if one.kind in ("removed", "added")]
    assert said == [
        ("removed", '"type": "string",'),
        ("added", '"type": "number",'),
        ("added", '"type": "string",'),
        ("added", '"description": "x"'),
        ("added", "},"),
        ("added", '"more": {'),
    ]


def test_the_same_twice_is_no_difference() -> None:
    assert line_difference(["a", "b"], ["a", "b"]) == []


def _is_within(some: list[str], all_: list[str]) -> bool:
    rest = iter(all_)
    return all(one in rest for one in some)


def test_what_no_page_shows_is_not_whole() -> None:
    """Text that is alike in both hides nothing."""
    long = "x" * (MOST_CHARS + 1)
    assert is_whole(line_difference(["a", long], ["b", long]))
    assert is_whole(line_difference(["a", long[:-1]], ["b"]))
    assert not is_whole(line_difference(["a"], ["b", long]))
    assert not is_whole(line_difference(["a", long], ["b"]))
    many = [str(number) for number in range(MOST_LINES + 1)]
    assert line_difference([], many)[-1].text == "1 more lines are not shown"
    assert not is_whole(line_difference([], many))


def test_a_page_that_does_not_name_all_hidden_characters_does_not_show_all() -> None:
    """Two hundred of them are named. What stands behind these may say anything, in letters that nobody sees."""
    for count, shown in ((200, True), (201, False)):
        text = "".join(f"{chr(0xE0020 + number % 90)}a" for number in range(count))
        assert is_whole(line_difference(["a"], ["b", text])) is shown
        assert ("are not named" in foreign(text)) is not shown
    assert is_whole(line_difference(["a", text], ["b", text]))
