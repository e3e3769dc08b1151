"""What nobody sees in a text: found, taken out, and nothing else touched."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.secret_scanning.invisible import (
    hidden,
    open_end,
    visible,
    visible_json,
    visible_value,
)

SEEN = (
    "plain\ttext\nof two lines\r\n",
    "naïve café, 漢字, 한국어, עברית",
    "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "family \U0001f468\u200d\U0001f469\u200d\U0001f467 and heart ❤️",
    "flag \U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "a\u00a0b\u2003c",
)
UNSEEN = {
    "a\x00b": "ab",
    "r\u200bm": "rm",
    "\x1b[31mred\x1b[0m": "red",
    "\x1b]0;title\x07text": "text",
    "\x9b1mbold": "bold",
    "right\u202eleft": "rightleft",
    "tag\U000e0041\U000e0042": "tag",
    "blank\u3164": "blank",
    "mark\ufeff": "mark",
    "twice\u200b\u200b": "twice",
}


@pytest.mark.parametrize("text", SEEN)
def test_what_writing_needs_stays_and_is_the_very_text(text: str) -> None:
    assert hidden(text) == ""
    assert visible(text) == (text, 0)
    assert visible(text)[0] is text


@pytest.mark.parametrize(("text", "seen"), UNSEEN.items())
def test_what_nobody_sees_is_taken_out_whole(text: str, seen: str) -> None:
    """GRH-val-3: the sanitizer changes control characters."""
    found, count = visible(text)
    assert (found, count > 0, hidden(text) != "") == (seen, True, True)


@given(st.text())
def test_what_is_left_has_nothing_hidden_and_is_left_alone(text: str) -> None:
    found, _ = visible(text)
    assert visible(found) == (found, 0)
    assert hidden(found) == ""


def test_every_text_of_a_value_is_looked_at_and_the_rest_is_kept() -> None:
    value: dict[str, Any] = {"a\u200b": ["x\x00", 1.5, None, True, {"b": "y"}], "c": "\u202ez"}
    assert visible_value(value) == ({"a": ["x", 1.5, None, True, {"b": "y"}], "c": "z"}, 3)
    same: dict[str, Any] = {"a": ["x", {"b": "y"}]}
    assert visible_value(same)[0] is same


@pytest.mark.parametrize("names", [("a", "a\u200b"), ("a\u200b", "a"), ("a\u200b", "a\x00")])
def test_no_member_is_dropped_where_two_names_would_be_one(names: tuple[str, str]) -> None:
    found, _ = visible_value(dict.fromkeys(names, "v"))
    assert len(found) == 2


def test_of_json_text_only_the_strings_change_that_have_to() -> None:
    raw = b'{ "n" : 1.10, "a":"x\\u0000y", "b":"\\u0041", "c":"\xe2\x80\x8bz", "d":"\\b" }'
    assert visible_json(raw) == (b'{ "n" : 1.10, "a":"xy", "b":"\\u0041", "c":"z", "d":"" }', 3)


@pytest.mark.parametrize(
    "raw", [b'{"a":"plain"}', b'{"a":"\\u00e9"}', '{"a":"é"}'.encode(), b'"\\ud800"']
)
def test_json_text_without_anything_hidden_is_the_very_text(raw: bytes) -> None:
    found, count = visible_json(raw)
    assert (found is raw, count) == (True, 0)


@given(
    st.recursive(
        st.text() | st.integers() | st.none(),
        lambda of: st.lists(of) | st.dictionaries(st.just("k"), of),
    )
)
def test_json_text_and_value_say_the_same(value: Any) -> None:
    raw = json.dumps(value).encode()
    try:
        raw.decode().encode("utf-8")
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return
    assert json.loads(visible_json(raw)[0]) == visible_value(value)[0]


@pytest.mark.parametrize("char", "\u034f\u180b\u180c\u180d\u180f")
def test_marks_that_draw_nothing_and_choose_no_form_are_taken_out(char: str) -> None:
    assert visible(f"a{char}b {char}{char}c") == ("ab c", 3)
    assert hidden(f"a{char}b") == f"U+{ord(char):04X}"


def test_a_mongolian_letter_keeps_the_form_that_was_chosen() -> None:
    assert hidden("\u1820\u180b\u1821") == ""
    assert visible("\u1820\u180b\u180b\u1821") == ("\u1820\u180b\u1821", 1)


@given(st.text(st.characters(max_codepoint=127)))
def test_a_text_that_prints_is_judged_like_one_of_two_lines(text: str) -> None:
    """One shows at once that nothing is hidden in it, the other is looked through."""
    assert hidden("\n" + text) == hidden(text)
    clean, count = visible(text)
    assert visible("\n" + text) == ("\n" + clean, count)
    both = visible_value({"a": text}), visible_value({"a": text, "b": "\\b"})
    assert both[0] == ({"a": clean}, count)
    assert both[1] == ({"a": clean, "b": "\\b"}, count)


@pytest.mark.parametrize(
    "end",
    ["\x1b", "\x1b[3", "\x9b", "\x1b]0;title", "\x1b]0;\x1b", "\x1b(", "\u200d", "\u200d\x1b["],
)
def test_what_the_next_piece_may_complete_is_an_open_end(end: str) -> None:
    assert open_end(f"café{end}") == 4
    assert open_end("café") == 4


@pytest.mark.parametrize(
    "text", ["\x1b[31mred", "\x1b]0;title\x07", "\u200dx", "", "\x1b]" + "t" * 5000]
)
def test_what_is_whole_or_too_long_is_none(text: str) -> None:
    assert open_end(text) == len(text)


def test_a_character_is_judged_by_what_was_before_its_piece() -> None:
    assert visible("\ufe0f", "\u2764") == ("\ufe0f", 0)
    assert visible("\ufe0f\u200b", "\u2764") == ("\ufe0f", 1)
    assert visible("\ufe0f") == ("", 1)
