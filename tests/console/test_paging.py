"""Pages by key: all items once, in order, whichever page size; what is no key is refused."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.console.operations import ApiError
from gatewright.console.paging import key_of, page_of, url_of
from gatewright.transport.slices import whole

hostile = st.builds(
    lambda stem, end: stem + end,
    st.sampled_from(["", "a/b", "*", "!", "\ud800", "\u202e", "x" * 119, "x" * 400, "\x00" * 130]),
    st.text(max_size=3),
)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("size", [1, 3, 50])
def test_all_pages_together_are_the_sorted_list(size: int, descending: bool) -> None:
    """Also where many are alike in what is sorted by."""
    items = [(number % 3, f"id{number}") for number in range(20)]
    found: list[tuple[int, str]] = []
    after = ""
    while True:
        page, after, total = whole(
            page_of(items, lambda one: one, after=after, limit=size, descending=descending)
        )
        found += page
        assert total == 20
        if not after:
            break
    assert found == sorted(items, reverse=descending)


@pytest.mark.parametrize("after", ["x", "[1]", '["a",1]', '[1,"a"]', "[" * 2000])
def test_what_no_page_ended_with_is_refused(after: str) -> None:
    """Also the key of a list that is sorted by something else."""
    with pytest.raises(ApiError) as found:
        whole(page_of(["a", "b"], lambda one: (one, one), after=after))
    assert found.value.status == 422


class _Asked(msgspec.Struct):
    q: str = ""
    desc: bool = False
    limit: int = 50


def test_a_url_names_what_is_not_as_usual() -> None:
    asked = _Asked(q="a&b", limit=50)
    assert url_of("/x", asked) == "/x?q=a%26b"
    assert url_of("/x", asked, q="", desc=True) == "/x?desc=true"
    assert url_of("/x", _Asked()) == "/x"


@given(
    st.lists(
        st.tuples(st.one_of(st.text(max_size=300), hostile), hostile), unique=True, max_size=25
    ),
    st.integers(1, 4),
    st.booleans(),
)
def test_whatever_things_are_called_each_is_on_one_page(
    items: list[tuple[str, str]], size: int, descending: bool
) -> None:
    """Long names, and names that are alike but for their ends, too; and an `after` fits into a URL."""
    found, after, keys = list[tuple[str, str]](), "", list[Any]()
    while True:
        page, after, total = whole(
            page_of(items, lambda one: one, after=after, limit=size, descending=descending)
        )
        assert (total, len(after) <= 2000) == (len(items), True)
        found += page
        if not after:
            break
        keys.append(key_of(after))
    assert sorted(found) == sorted(items)
    assert keys == sorted(keys, reverse=descending)


def test_numbers_that_json_does_not_know_have_their_place() -> None:
    items = [
        (value, str(value)) for value in (math.inf, 1.0, -math.inf, math.nan, 1e300, 2**90, 1e-10)
    ]
    found, after = list[float](), ""
    while True:
        page, after, _ = whole(page_of(items, lambda one: one, after=after, limit=1))
        found += [one for one, _ in page]
        if not after:
            break
    assert len(found) == 7
    assert found[:3] == [-math.inf, 1e-10, 1.0]


def test_rows_that_nobody_can_tell_apart_are_named_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    whole(page_of(["a", "b", "c"], lambda one: (0, "the same" if one < "c" else one), limit=2))
    assert "cannot be told apart" in caplog.text


def test_of_a_long_list_no_more_than_a_few_pages_are_in_hand() -> None:
    """However it is sorted, and whatever part of it fits."""
    kept: list[int] = []

    class Row(int):
        def __del__(self) -> None:
            kept[0] -= 1

    def rows() -> Iterator[Row]:
        kept.append(0)
        for number in range(10_000):
            kept[0] += 1
            assert kept[0] < 100
            yield Row(number * 7919 % 10_007)

    page = page_of(rows(), lambda one: (int(one), ""), limit=10, fits=lambda one: one % 2 == 0)
    found, _, total = whole(page)
    fitting = [
        number * 7919 % 10_007 for number in range(10_000) if number * 7919 % 10_007 % 2 == 0
    ]
    assert (found, total) == (sorted(fitting)[:10], len(fitting))
