"""The endpoint that a server of HTTP+SSE names is of its own origin, and no text without end."""

from __future__ import annotations

import pytest
from yarl import URL

from gatewright.transport.sse_endpoint import ENDPOINT_CHARS, endpoint_of

STREAM = URL("http://host:8000/a/sse?x=1")


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("/messages?session=1", "http://host:8000/messages?session=1"),
        ("messages", "http://host:8000/a/messages"),
        ("?session=1", "http://host:8000/a/sse?session=1"),
        ("http://host:8000/m", "http://host:8000/m"),
    ],
)
def test_an_endpoint_of_the_same_origin_is_taken_from_where_the_stream_is(
    text: str, url: str
) -> None:
    assert endpoint_of(STREAM, text) == url


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("http://other:8000/m", "another origin"),
        ("https://host:8000/m", "another origin"),
        ("//host:8001/m", "another origin"),
        ("http://[", "another origin"),
        ("/" + "m" * ENDPOINT_CHARS, "more than 8192 characters"),
    ],
)
def test_an_endpoint_that_is_none_is_refused_and_it_is_said_why(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        endpoint_of(STREAM, text)
