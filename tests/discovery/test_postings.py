from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gatewright.discovery.postings import Lists, Postings, Spelling, alike, trigrams
from gatewright.transport.slices import whole


def test_a_slot_is_filed_under_its_terms_with_its_impacts() -> None:
    held = Postings()
    assert held.add(3, {"read": 1.0, "file": 0.5}) == ["read", "file"]
    assert held.add(7, {"file": 0.0001}) == []
    found = held.of("file")
    assert found[0].tolist() == [3, 7]
    assert found[1].tolist() == [128, 1]
    assert not len(held.of("none")[0])
    assert "read" in held


def test_what_was_asked_for_stays_as_it_is_while_more_is_filed() -> None:
    held = Postings()
    held.add(1, {"file": 1.0})
    found = held.of("file")
    held.add(2, {"file": 1.0})
    assert found[0].tolist() == [1]


def test_the_dead_are_swept_and_terms_that_nobody_has_are_gone() -> None:
    held = Postings()
    held.add(0, {"read": 1.0, "file": 1.0})
    held.add(1, {"file": 1.0})
    held.add(9, {"file": 1.0})
    assert whole(held.sweep(np.array([True, False]))) == ["read"]
    found = held.of("file")
    assert found[0].tolist() == [1, 9]
    assert len(held) == 1


@pytest.mark.parametrize(
    ("word", "other"),
    [("raed", "read"), ("recieve", "receive"), ("fil", "file"), ("filee", "file"), ("dir", "directory"),
     ("recommned", "recommend"), ("paqge", "page")],
)  # fmt: skip
def test_words_with_typing_errors_are_alike(word: str, other: str) -> None:
    assert 0 < alike(word, other) < 1
    spelling = Spelling()
    spelling.add([other, "zebra"])
    assert [one for one, _ in whole(spelling.like(word))] == [other]


def distance(one: str, two: str) -> int:
    """Damerau's, by its table."""
    rows = {(at, 0): at for at in range(len(one) + 1)} | {(0, at): at for at in range(len(two) + 1)}
    for at, letter in enumerate(one, 1):
        for to, other in enumerate(two, 1):
            ways = [rows[at - 1, to], rows[at, to - 1], rows[at - 1, to - 1] - (letter == other)]
            if at > 1 and to > 1 and letter == two[to - 2] and one[at - 2] == other:
                ways.append(rows[at - 2, to - 2])
            rows[at, to] = min(ways) + 1
    return rows[len(one), len(two)]


words_ab = st.text("abcd", min_size=6, max_size=14)


@given(words_ab, words_ab, st.lists(st.integers(0, 12), max_size=3))
@example("aaaaaa", "bbbbbb", [0, 2])
def test_how_alike_words_are_follows_from_the_errors_between_them(
    one: str, two: str, exchanged: list[int]
) -> None:
    letters = list(one)
    for at in exchanged:
        letters[at : at + 2] = letters[at : at + 2][::-1]
    for word, other in ((one, two), (one, "".join(letters))):
        if not other.startswith(word):
            longest, errors = max(len(word), len(other)), distance(word, other)
            allowed = 2 if longest <= 9 else 3
            said = 1 - errors / longest * 1.2 if errors <= allowed else 0
            assert alike(word, other) == pytest.approx(said)


def test_a_term_is_seen_where_any_slot_of_it_is() -> None:
    held = Postings()
    for slot in range(5000):
        held.add(slot, {"file": 1.0})
    among = np.zeros(4000, np.bool_)
    assert not held.any_of("file", among)
    assert not held.any_of("none", among)
    among[3999] = True
    assert held.any_of("file", among)


@pytest.mark.parametrize(
    ("word", "other"), [("read", "mail"), ("cat", "dog"), ("delete", "insert")]
)
def test_other_words_are_not_alike(word: str, other: str) -> None:
    assert alike(word, other) == 0


def test_concepts_and_short_terms_have_no_spelling() -> None:
    spelling = Spelling()
    spelling.add(["#123", "abc", "搜索引擎词"])
    assert whole(spelling.like("#12")) == []
    assert whole(spelling.like("ab")) == []


def test_trigrams_mark_both_ends() -> None:
    assert trigrams("file") == ["^fi", "fil", "ile", "le$"]


def test_what_is_kept_comes_back_at_other_places() -> None:
    held = Postings()
    held.add(0, {"read": 1.0, "file": 0.5})
    held.add(1, {"gone": 1.0})
    held.add(300, {"file": 1.0})
    places = np.full(301, -1)
    places[[0, 300]] = 1, 0
    again = Postings()
    again.take(whole(held.kept(places)))
    assert sorted(again.terms()) == ["file", "read"]
    assert again.of("file")[0].tolist() == [1, 0]
    assert again.of("file")[1].tolist() == [128, 255]


def test_lists_that_do_not_fit_are_no_index() -> None:
    with pytest.raises(ValueError, match="fit"):
        Postings().take(Lists(["a"], b"\x02\0\0\0", b"\0\0\0\0"))


def test_spelling_is_kept() -> None:
    spelling, again = Spelling(), Spelling()
    spelling.add(["receive", "zebra"])
    again.take(*whole(spelling.kept()))
    assert whole(again.like("recieve")) == whole(spelling.like("recieve")) != []
    again.add(["recipe"])
    assert [one for one, _ in whole(again.like("recipee"))] == ["recipe"]
