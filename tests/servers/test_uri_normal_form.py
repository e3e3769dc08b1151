"""Spellings of one URI are one, as the parsers of clients have it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.servers.uri_normal_form import alike, begins

SAME = [
    ("http://example.com", "http://example.com/", "HTTP://Example.COM:80/", "http:\\\\example.com"),
    ("https://a.test/x", "https://A.test:443/x", "https://a.test/./x", "https://a.test/y/../x"),
    (
        "file:///a/b",
        "FILE:///a/b",
        "file:///%61/b",
        " file:///a/b\n",
        "file:///a/c/../b",
        "file:///a/./b",
    ),
    ("memo://Insights/x", "MEMO://insights/x"),
    ("x:a%2fb", "X:a%2Fb"),
    ("http://a.test?q=A", "http://a.test/?q=A"),
    ("http://a.test/b/", "http://a.test/b/.", "http://a.test/b/c/.."),
]


@pytest.mark.parametrize("spellings", SAME)
def test_spellings_of_one_uri_are_alike(spellings: tuple[str, ...]) -> None:
    assert len({alike(one) for one in spellings}) == 1, [alike(one) for one in spellings]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("file:///a", "file:///A"),
        ("http://a.test/x", "http://a.test/x/"),
        ("http://a.test:8080/", "http://a.test/"),
        ("memo://a", "memo://a/"),
        ("x:a", "x:A"),
        ("http://a.test/?q=%2F", "http://a.test/?q=/"),
        ("http://a.test/?q=/../x", "http://a.test/?q=/x"),
        ("a", "A"),
        ("http://a.test/x#a", "http://a.test/x"),
    ],
)
def test_what_parsers_keep_apart_is_not_alike(one: str, other: str) -> None:
    assert alike(one) != alike(other)


def test_a_beginning_stays_the_beginning_of_what_begins_so() -> None:
    assert begins("HTTP://Example.com/{+Path}") == "http://example.com/{+Path}"
    assert begins("http://exam") == "http://exam"
    assert begins("plain") == "plain"


@given(st.text(max_size=60))
def test_nothing_breaks_it_and_twice_is_once(text: str) -> None:
    assert alike(alike(text)) == alike(alike(alike(text)))
    begins(text)
