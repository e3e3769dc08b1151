"""Text for people: nothing that is there stays unseen."""

import json
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.secret_scanning.escape_invisible import Spelling, is_seen, is_unseen, spelled


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("größe", "größe"),
        ("a\u202eb", "a\\u202eb"),
        ("a\u200bb", "a\\u200bb"),
        ("a\x1b[2J", "a\\u001b[2J"),
        ("a\nb", "a\\u000ab"),
    ],
)
def test_what_nobody_would_see_is_spelled(text: str, shown: str) -> None:
    assert spelled(text) == shown


def test_what_is_to_be_kept_is_kept() -> None:
    assert spelled("a\nb\tc", keep="\n") == "a\nb\\u0009c"


IGNORABLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180e\u180f\u2800\u3164\ufeff\uffa0"
    + "".join(map(chr, [*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070)]))
    + "".join(
        map(chr, [*range(0xFE00, 0xFE10), *range(0xE0000, 0xE0080), *range(0xE0100, 0xE01F0)])
    )
)
"""What a renderer draws nothing for (Default_Ignorable_Code_Point), and letters that are blank."""


def test_no_character_that_draws_nothing_or_turns_the_line_is_shown() -> None:
    """Every code point there is."""
    hidden = {
        char
        for char in map(chr, range(sys.maxunicode + 1))
        if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")
        or unicodedata.bidirectional(char) in ("LRE", "RLE", "LRO", "RLO", "PDF")
        or unicodedata.bidirectional(char) in ("LRI", "RLI", "FSI", "PDI")
    }
    shown = [f"{ord(char):x}" for char in sorted({*hidden, *IGNORABLE}) if not is_unseen(char)]
    assert shown == []
    assert not any(is_unseen(char) for char in " aäßжع日한🙂①\u0301")


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_json_text_with_its_hidden_characters_spelled_says_the_same(text: str) -> None:
    assert json.loads(spelled(json.dumps(text, ensure_ascii=False))) == text


@given(st.text())
def test_whatever_is_shown_is_printable(text: str) -> None:
    assert spelled(text).isprintable()


@given(st.text())
def test_a_text_is_seen_whole_where_each_character_is(text: str) -> None:
    assert is_seen(text) == (not any(map(is_unseen, text)))


@pytest.mark.parametrize("char", IGNORABLE)
def test_no_text_with_such_a_character_is_seen_whole(char: str) -> None:
    assert not is_seen(f"a{char}b")


def test_a_character_is_looked_at_once_however_often_it_stands_there() -> None:
    """And of a text that has all there are, not more is remembered than there is room for."""
    asked: list[str] = []

    def spell(char: str) -> str:
        asked.append(char)
        return f"<{char}>"

    table = Spelling(spell)
    assert ("\u200bé" * 5000).translate(table) == "<\u200b><é>" * 5000
    assert asked == ["\u200b", "é"]
    every = "".join(map(chr, range(3 * Spelling.MOST)))
    assert every.translate(table) == "".join(f"<{char}>" for char in every)
    assert len(table) <= Spelling.MOST
