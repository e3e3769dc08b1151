"""What is said of a redirect that is not followed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.web.redirects import redirect_said

US = "http://user:pw@10.0.0.5:8000/mcp?key=secret"


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("/mcp/", "http://10.0.0.5:8000/mcp/"),
        ("mcp/", "http://10.0.0.5:8000/mcp/"),
        ("https://other.example/mcp", "https://other.example/mcp"),
        ("//other.example/mcp", "http://other.example/mcp"),
        ("http://[::1]:8/mcp", "http://[::1]:8/mcp"),
        ("/mcp/?key=secret", "http://10.0.0.5:8000/mcp/?…"),
        ("https://a:b@other.example/mcp", "https://other.example/mcp"),
    ],
)
def test_it_says_where_to_without_what_may_be_secret(location: str, shown: str) -> None:
    said = redirect_said(US, 307, {"Location": location})
    assert f"a redirect to {shown}, which is not followed (HTTP 307)" in said
    assert "secret" not in said
    assert said.endswith(", with the query that it wants") == ("?" in shown)


@pytest.mark.parametrize(
    "location",
    [
        "https://",
        "javascript:alert(1)",
        "https://x.example/a b",
        "https://x.example/`whoami`",
        "https://x.example/\x1b[31m",
        "https://x.example/" + "a" * 300,
        "http://[::1",
        "https://x.example/<b>",
        "file:///etc/passwd",
    ],
)
def test_what_is_no_plain_url_is_not_repeated(location: str) -> None:
    said = redirect_said(US, 302, {"Location": location})
    assert "a redirect, which is not followed (HTTP 302)" in said
    assert location not in said


@pytest.mark.parametrize(
    ("status", "said"), [(307, True), (300, True), (304, False), (200, False), (404, False)]
)
def test_what_is_no_redirect_is_none(status: int, said: bool) -> None:
    assert bool(redirect_said(US, status, {})) == said
    assert bool(redirect_said(US, status, {"Location": "/x"})) == said


@given(st.text(max_size=60))
def test_no_location_breaks_it(location: str) -> None:
    said = redirect_said(US, 308, {"Location": location})
    assert said.isprintable()
    assert len(said) < 400
