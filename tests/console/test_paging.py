"""Pages by key: all items once, in order, whichever page size; what is no key is refused."""

from __future__ import annotations

import msgspec
import pytest

from gatewright.console.operations import ApiError
from gatewright.console.paging import page_of, url_of
from gatewright.transport.slices import whole


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("size", [1, 3, 50])
def test_all_pages_together_are_the_sorted_list(size: int, descending: bool) -> None:
    """Also where many are alike in what is sorted by."""
    items = [(number % 3, f"id{number}") for number in range(20)]
    found: list[tuple[int, str]] = []
    after = ""
    while True:
        page, after = whole(
            page_of(items, lambda one: one, after=after, limit=size, descending=descending)
        )
        found += page
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
