"""RE2 without its wrapper."""

from __future__ import annotations

import re
from re import _parser as parser  # type: ignore[attr-defined]

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.secret_scanning import context, passwords
from gatewright.secret_scanning.patterns import (
    REACH,
    AnyOf,
    Next,
    OnLine,
    Pattern,
    Run,
    Several,
    compiled,
    either,
    looks_random,
)

BOUNDED = {
    f"{module.__name__.rsplit('.')[-1]}.{name}": pattern
    for module in (passwords, context)
    for name, pattern in vars(module).items()
    if isinstance(pattern, Pattern) and pattern.bounded
}


def test_all_matches_are_found_with_their_groups() -> None:
    found = list(Pattern("(a)|(b+)", captures=True).all(b"xabba"))
    assert found == [
        [(1, 2), (1, 2), (-1, -1)],
        [(2, 4), (-1, -1), (2, 4)],
        [(4, 5), (4, 5), (-1, -1)],
    ]


def test_a_match_of_nothing_does_not_hold_the_search_up() -> None:
    assert [spans[0] for spans in Pattern("a*").all(b"ba")] == [(0, 0), (1, 2), (2, 2)]


def test_hits_says_only_whether_there_is_a_match() -> None:
    assert Pattern("b").hits(b"abc")
    assert not Pattern("d").hits(b"abc")


def test_bytes_that_are_no_text_are_searched_like_all_others() -> None:
    assert Pattern(r"\xff(.)", captures=True).after(b"\xc3\xff\xfe", 0) == [(1, 3), (2, 3)]


def test_several_patterns_tell_which_of_them_match() -> None:
    assert sorted(Several(["a+", "b", "c$"]).hits(b"xac")) == [0, 2]
    assert Several(["a"]).hits(b"x") == []


def test_a_long_text_is_searched_pattern_by_pattern_however_plain_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Random words without digits are plain, and make one automaton of all patterns cost microseconds a byte."""
    found, asked = AnyOf(["qq", "zz"]), list[int]()
    together = found._together.hits

    def counted(text: bytes) -> bool:
        asked.append(len(text))
        return together(text)

    monkeypatch.setattr(found._together, "hits", counted)
    for times in (1, 10, 200, 2000):
        assert not found.hits_plain(b"a word " * times)
        assert found.hits_plain(b"a word " * times + b"zz")
    assert max(asked) < 100


def test_either_joins_patterns_without_mixing_them() -> None:
    assert not Pattern(either(["ab", "cd"])).hits(b"abd"[1:])
    assert Pattern(either(["a|b", "c"])).hits(b"c")


def test_a_run_is_measured_once_for_all_places_in_it() -> None:
    text = b"aaaa--aa"
    run = Run(Pattern("a*"), text)
    assert [run.end(at) for at in (0, 2, 3, 4, 5, 6, 7)] == [4, 4, 4, 4, 5, 8, 8]


def test_the_next_place_is_looked_for_once_between_two() -> None:
    following = Next(Pattern("[0-9]"), b"a1bb2c")
    assert [following.after(at) for at in (0, 1, 2, 4, 5)] == [
        (1, 2),
        (1, 2),
        (4, 5),
        (4, 5),
        (6, 6),
    ]


@given(st.lists(st.sampled_from(["zip ", " -P ", "abcdef", "\n", ";", " x", "-P"]), max_size=12))
def test_an_option_is_found_behind_a_program_on_its_line_alone(words: list[str]) -> None:
    text = "".join(words).encode()
    found = list(OnLine(r"\bzip[ ]", r"[ ]-P ?([a-z]{6})").all(text))
    for start, end in found:
        line = text[:end].split(b"\n")[-1]
        option = re.search(rb" -P ?([a-z]{6})\Z", text[:end])
        assert option is not None
        assert option.span(1) == (start, end)
        assert b"zip " in line
    plain = re.search(rb"\bzip (?:[^\r\n|;]*? )??-P ?([a-z]{6})", text)
    assert (plain is None) is (not found)


def test_a_match_longer_than_any_window_is_found_whole() -> None:
    text = b"x" * 5000 + b"<" + b"a" * 100_000 + b">" + b"y" * 5000
    assert Pattern("<a+>").after(text, 0) == [(5000, 105_002)]


@pytest.mark.parametrize("name", BOUNDED)
def test_what_is_called_bounded_takes_no_more_than_the_reach(name: str) -> None:
    assert parser.parse(BOUNDED[name].text).getwidth()[1] <= REACH


def test_the_searches_that_meet_all_of_a_text_are_bounded() -> None:
    assert {f"context.{one}" for one in ("NAMED", "_after_words", "_in_url", "_key")} <= {*BOUNDED}
    assert "passwords._words" in BOUNDED


@given(st.lists(st.sampled_from(["token", ": ", "a", " ", "\n", "b" * 900, "=", "é"]), max_size=30))
def test_a_bounded_search_finds_what_windows_find(words: list[str]) -> None:
    text, pattern = "".join(words).encode(), r"token[a-z]{0,20}(?:: |=)(a{0,40}b?)"
    windowed = Pattern(pattern, captures=True)
    assert list(Pattern(pattern, captures=True, bounded=True).all(text)) == list(windowed.all(text))


@pytest.mark.parametrize(("bounded", "most"), [(True, 1.0), (False, 2.0)])
def test_a_text_without_a_match_is_read_once_where_the_search_is_bounded(
    bounded: bool, most: float
) -> None:
    text, pattern = b"x" * 100_000, Pattern("token", bounded=bounded)
    search, read = pattern._match, 0

    def counted(how: object, said: bytes, at: int, end: int) -> object:
        nonlocal read
        read += end - at
        return search(how, said, at, end)

    pattern.__dict__["_match"] = counted
    assert pattern.after(text, 0) is None
    assert len(text) <= read <= most * len(text)


def test_all_patterns_can_be_compiled_before_somebody_waits_for_them() -> None:
    unused = Pattern("ab+c"), Several(["a", "b"])
    assert not any({"_match", "_matches"} & vars(one).keys() for one in unused)
    assert compiled() >= 2
    assert all({"_match", "_matches"} & vars(one).keys() for one in unused)
    assert (unused[0].hits(b"abc"), unused[1].hits(b"b")) == (True, [1])


_MIXED = st.text(st.sampled_from("aZ0 9_-\u00e9"), max_size=40) | st.integers(20, 26).map(
    "b".__mul__
)


@given(st.lists(_MIXED, max_size=12), st.just(257))
def test_a_short_text_is_taken_for_random_as_a_long_one_is(parts: list[str], before: int) -> None:
    """Each piece behind so many blanks: one automaton, or the plain passes before it."""
    text = "-".join(parts).encode()
    assert looks_random(b" " * before + text) == looks_random(text)
