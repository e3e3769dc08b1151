"""A list that is declared once: every order, filter and page of it has a URL, and its columns are those it is sorted by."""

from __future__ import annotations

from typing import Literal, NamedTuple
from urllib.parse import parse_qsl, urlsplit

import msgspec
import pytest

from gatewright.console.lists import Column, Paged, Table, shown_of
from gatewright.console.operations import read


class Row(NamedTuple):
    name: str
    size: int


class Asked(Paged, frozen=True, kw_only=True):
    q: str = ""
    sort: Literal["name", "size"] = "name"


COLUMNS = (
    Column("Name", "name", lambda one: one.name),
    Column("What"),
    Column("Size", "size", lambda one: one.size, numeric=True),
)
ROWS = [Row(f"r{number:02}", number % 3) for number in range(10)]


def a_table() -> Table[Row]:
    return Table(
        "/rows", Asked, COLUMNS, lambda one: one.name, lambda one, asked: asked.q in one.name
    )


def asked_by(url: str) -> Asked:
    found: Asked = read(Asked, dict(parse_qsl(urlsplit(url).query)), texts=True)
    return found


async def every(asked: Asked) -> list[Row]:
    """All pages, by the URLs that they give."""
    found: list[Row] = []
    while True:
        page = await a_table().page(ROWS, asked)
        found += page.rows
        shown = a_table().shown(asked, page.next)
        if not shown.next:
            return found
        asked = asked_by(shown.next)


def test_a_head_whose_words_fall_as_its_key_grows_says_so() -> None:
    column = Column("How long", "name", lambda one: one.name, turned=True)
    rises, falls = (
        shown_of("/rows", Asked(desc=desc), "", [column]).heads[0] for desc in (True, False)
    )
    assert (rises.sorted, falls.sorted) == ("ascending", "descending")
    assert (rises.url, falls.url) == ("/rows", "/rows?desc=true")


async def test_the_urls_of_a_list_lead_through_it_in_each_order() -> None:
    by_name = asked_by("/rows?limit=3")
    assert await every(by_name) == ROWS
    first = a_table().shown(by_name, "")
    assert [one.sorted for one in first.heads] == ["ascending", "", ""]
    by_size = asked_by(first.heads[2].url)  # of numbers the largest come first
    assert (by_size.sort, by_size.desc, by_size.limit) == ("size", None, 3)
    assert await every(by_size) == sorted(ROWS, key=lambda one: (one.size, one.name), reverse=True)
    again = asked_by(a_table().shown(by_size, "").heads[2].url)
    assert (again.sort, again.desc) == ("size", False)
    back = asked_by(a_table().shown(again, "").heads[2].url)
    assert (back.sort, back.desc) == ("size", None)


async def test_an_order_begins_at_the_first_page_and_a_filter_keeps_the_order() -> None:
    asked = Asked(q="r0", sort="size", desc=True, after='[1,"r04"]', limit=2)
    page = await a_table().page(ROWS, asked)
    shown = a_table().shown(asked, page.next)
    assert page.total == 10
    assert all(not asked_by(one.url).after for one in shown.heads if one.url)
    assert asked_by(shown.first) == msgspec.structs.replace(asked, after="")
    assert asked_by(shown.whole) == msgspec.structs.replace(asked, after="", q="")
    assert dict(shown.kept) == {"sort": "size", "desc": "true", "limit": "2"}
    assert (shown.filtered, shown.part.startswith("/rows/list?")) == (True, True)
    nothing = shown_of("/rows", Asked(), "")
    assert (nothing.first, nothing.next, nothing.filtered, dict(nothing.kept)) == (
        "",
        "",
        False,
        {},
    )


def test_columns_and_orders_that_are_not_the_same_are_no_list() -> None:
    with pytest.raises(ValueError, match="size"):
        Table("/rows", Asked, COLUMNS[:2], lambda one: one.name)
