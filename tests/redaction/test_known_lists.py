"""Lists that were cleaned before: known again, and no more of them than in so many bytes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gatewright.redaction.known_lists import KEPT, KnownLists


def test_a_list_is_known_as_it_was_cleaned_until_more_is_known_to_be_secret() -> None:
    lists = KnownLists()
    assert lists.clean(b"raw", 1) is None
    lists.keep(b"raw", b"clean", 1)
    assert lists.clean(b"raw", 1) == b"clean"
    assert lists.clean(b"raw", 2) is None
    assert lists.size == 0
    lists.keep(b"raw", b"clean", 1)
    assert lists.clean(b"raw", 2) is None


def test_where_nothing_was_found_no_second_text_is_kept() -> None:
    lists, raw = KnownLists(), b"x" * 1000
    assert lists.clean(raw, 1) is None
    lists.keep(raw, bytes(bytearray(raw)), 1)
    assert lists.clean(raw, 1) is raw
    assert lists.size == 1000


@given(st.lists(st.tuples(st.integers(0, 30), st.booleans()), max_size=200))
def test_former_lists_are_kept_within_their_bytes_and_the_last_one_in_any_case(
    steps: list[tuple[int, bool]],
) -> None:
    """The tenth of them alone has more than there may be."""
    lists = KnownLists(1000)
    for number, clean in steps:
        raw = b"%03d" % number * (400 if number == 10 else 40)
        before = lists.clean(raw, 1)
        assert before in (None, raw, b"clean of " + raw)
        if before is None:
            lists.keep(raw, raw if clean else b"clean of " + raw, 1)
        assert lists.clean(raw, 1) is not None
        assert lists.size <= 1000 or lists.size <= 2 * len(raw) + 9


def test_many_small_lists_are_not_kept_for_ever_either() -> None:
    lists = KnownLists()
    lists.clean(b"", 1)
    for number in range(2 * KEPT):
        lists.keep(b"%d" % number, b"", 1)
    found = [lists.clean(b"%d" % number, 1) is not None for number in range(2 * KEPT)]
    assert found == [False] * KEPT + [True] * KEPT
