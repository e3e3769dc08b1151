"""RE2 without its wrapper."""

from __future__ import annotations

from gatewright.redaction.patterns import Pattern, Several, either


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


def test_either_joins_patterns_without_mixing_them() -> None:
    assert not Pattern(either(["ab", "cd"])).hits(b"abd"[1:])
    assert Pattern(either(["a|b", "c"])).hits(b"c")
