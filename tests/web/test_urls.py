"""Which URLs of strangers may be used, and how two of them compare."""

from __future__ import annotations

import pytest

from gatewright.web.urls import bare, flaw_of, is_loopback, is_within, origin_of


@pytest.mark.parametrize(
    "url",
    [
        "https://as.example/token",
        "https://as.example:8443/tenant1?x=1",
        "https://[2001:db8::1]/token",
    ],
)
def test_https_is_good_anywhere(url: str) -> None:
    assert flaw_of(url, loopback=False) == ""


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:9000/x",
        "http://127.8.9.1/x",
        "http://localhost:1/x",
        "http://[::1]:9000/x",
        "http://[::ffff:127.0.0.1]/x",
    ],
)
def test_plain_http_is_good_on_this_machine_where_that_was_said(url: str) -> None:
    assert is_loopback(url)
    assert flaw_of(url, loopback=True) == ""
    assert "only https" in flaw_of(url, loopback=False)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://as.example/token", "only https"),
        ("http://127.0.0.1.as.example/", "only https"),
        ("http://10.0.0.1/", "only https"),
        ("javascript:alert(1)", "not an HTTP URL"),
        ("file:///etc/passwd", "not an HTTP URL"),
        ("//as.example/x", "not an HTTP URL"),
        ("https:///x", "not an HTTP URL"),
        ("https://[::1", "not an HTTP URL"),
        ("https://as.example:99999/", "not an HTTP URL"),
        ("https://as.example:0/", "not an HTTP URL"),
        ("https://good.example@evil.example/", "user name"),
        ("https://as.example/#x", "fragment"),
        ("https://as.example/a b", "characters"),
        ("https://as.example/\r\nX: y", "characters"),
        ("https://as.example\\@evil.example/", "characters"),
        ("https://exämple.org/", "characters"),
        ("https://as.example/" + "a" * 2048, "longer"),
    ],
)
def test_everything_else_is_refused_with_its_flaw(url: str, why: str) -> None:
    assert why in flaw_of(url, loopback=True)


@pytest.mark.parametrize(
    "parent",
    [
        "https://h.example/a/mcp",
        "https://h.example/a/mcp/",
        "https://h.example/a",
        "https://h.example/",
        "https://h.example",
        "https://H.EXAMPLE:443/a",
    ],
)
def test_a_url_is_within_itself_and_what_stands_above_it(parent: str) -> None:
    assert is_within("https://h.example/a/mcp", parent)


@pytest.mark.parametrize(
    "parent",
    [
        "https://evil.example.com/a/mcp",
        "https://h.example.evil.com",
        "http://h.example/a/mcp",
        "https://h.example:8443/a",
        "https://h.example/a/m",
        "https://h.example/a/mcp/more",
        "https://h.example/b",
        "https://x@h.example/a",
        "https://h.example/a#mcp",
        "https://h.example/a?tenant=1",
        "https://h.example/a/m\ncp",
        "not a url",
        "",
    ],
)
def test_nothing_else_is_above_it(parent: str) -> None:
    assert not is_within("https://h.example/a/mcp", parent)


def test_a_parent_with_a_query_is_only_the_very_same_place() -> None:
    assert is_within("https://h.example/mcp?t=1", "https://h.example/mcp?t=1")
    assert not is_within("https://h.example/mcp?t=2", "https://h.example/mcp?t=1")


def test_the_origin_is_scheme_and_authority() -> None:
    assert origin_of("https://h.example:8443/a?b") == "https://h.example:8443"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://h.example/a", "https://h.example/a"),
        ("https://ann:secret@h.example:1/a?key=secret", "https://h.example:1/a"),
        ("https://h.example?key=secret", "https://h.example"),
        ("/folder/api.json", "/folder/api.json"),
        ("", ""),
    ],
)
def test_what_may_be_secret_is_left_out_of_a_url(url: str, shown: str) -> None:
    assert bare(url) == shown
