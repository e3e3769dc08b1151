from __future__ import annotations

import http

import httptools
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.transport.http_head import (
    Flaw,
    Headers,
    end_of_head,
    judge,
    new_parser,
    refusal,
    request,
    spell,
    split_target,
    status_of,
    whole_head,
)

DATE = b"date: Sun, 22 Nov 2026 00:00:00 GMT\r\n"


class Heard:
    """What a parser says."""

    def __init__(self) -> None:
        self.url = b""
        self.headers: Headers = []
        self.whole = 0

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        if self.url == b"/flaw":
            raise Flaw(http.HTTPStatus.NOT_IMPLEMENTED)
        if self.url == b"/bug":
            raise KeyError("bug")

    def on_message_complete(self) -> None:
        self.whole += 1


def verdict(version: str, *headers: tuple[bytes, bytes], target: bytes = b"/") -> int:
    """The status of the flaw, 0 where there is none."""
    try:
        judge(list(headers), dict(headers), version, target)
    except Flaw as flaw:
        return flaw.status
    return 0


HOST = (b"host", b"a")


@pytest.mark.parametrize(
    ("version", "headers", "status"),
    [
        ("1.1", [HOST], 0),
        ("1.0", [], 0),
        ("1.1", [], 400),
        ("1.1", [HOST, HOST], 400),
        ("1.0", [HOST, HOST], 400),
        ("2.0", [HOST], 505),
        ("0.9", [], 505),
        ("1.1", [HOST, (b"accept", b"a"), (b"accept", b"b")], 0),
        ("1.1", [HOST, (b"content-length", b"1"), (b"content-length", b"1")], 400),
        ("1.1", [HOST, (b"transfer-encoding", b"Chunked")], 0),
        ("1.1", [HOST, (b"transfer-encoding", b"gzip, chunked")], 400),
        ("1.1", [HOST, (b"transfer-encoding", b",chunked")], 400),
        ("1.1", [HOST, (b"transfer-encoding", b"")], 400),
        ("1.0", [HOST, (b"transfer-encoding", b"chunked")], 400),
        ("1.1", [HOST, (b"transfer-encoding", b"chunked"), (b"content-length", b"1")], 400),
        ("1.1", [HOST, *[(b"transfer-encoding", b"chunked")] * 2], 400),
    ],
)
def test_a_head_that_could_be_read_in_two_ways_is_a_flaw(
    version: str, headers: Headers, status: int
) -> None:
    assert verdict(version, *headers) == status


@pytest.mark.parametrize(
    ("target", "split"),
    [
        (b"/mcp", ("/mcp", b"/mcp", b"")),
        (b"/mcp?a=b?c", ("/mcp", b"/mcp", b"a=b?c")),
        (b"/a%20b/%C3%A9?x=%20", ("/a b/é", b"/a%20b/%C3%A9", b"x=%20")),
        (b"//host/x", ("//host/x", b"//host/x", b"")),
        (b"/a#b?c", ("/a", b"/a", b"")),
        (b"http://b:1/x?y", ("/x", b"/x", b"y")),
        (b"http://b", ("/", b"/", b"")),
        (b"*", ("*", b"*", b"")),
    ],
)
def test_a_target_has_a_path_and_a_query(target: bytes, split: tuple[str, bytes, bytes]) -> None:
    assert split_target(target) == split


@pytest.mark.parametrize(
    ("target", "status"),
    [
        (b"http://a:1/mcp", 0),
        (b"HTTPS://a:1?x", 0),
        (b"http://a:1", 0),
        (b"*", 0),
        (b"//evil/mcp", 0),
        (b"http://a/mcp", 400),
        (b"http://A:1/mcp", 400),
        (b"http://evil.example/mcp", 400),
        (b"http://a:1@evil.example/mcp", 400),
        (b"http://evil.example@a:1/mcp", 400),
        (b"http://@a:1/mcp", 400),
        (b"http://a:1#@evil.example/mcp", 400),
        (b"ftp://a:1/mcp", 400),
        (b"a:1", 400),
        (b"http:/a:1", 400),
        (b"", 400),
    ],
)
def test_a_target_that_says_whom_it_is_for_says_what_host_says(target: bytes, status: int) -> None:
    assert verdict("1.1", (b"host", b"a:1"), target=target) == status
    if b"://" in target:
        assert verdict("1.0", target=target) == 400


def test_a_target_that_is_no_url_is_a_flaw() -> None:
    with pytest.raises(Flaw, match="Bad Request"):
        split_target(b"http://")


def test_a_response_head_says_its_date_and_leaves_framing_to_its_end() -> None:
    headers = [
        (b"Content-Type", b"text/plain"),
        (b"content-length", b"5"),
        (b"Connection", b"close"),
        (b"transfer-encoding", b"chunked"),
    ]
    head = b"HTTP/1.1 200 OK\r\n" + DATE + b"content-type: text/plain\r\n"
    for _ in range(2):  # the second time from memory
        assert spell(200, DATE, headers) == (head, 5, True)
    assert spell(299, DATE, []) == (b"HTTP/1.1 299 \r\n" + DATE, None, False)


def test_the_end_of_a_head_says_how_the_body_is_framed() -> None:
    assert end_of_head(5, chunked=False, close=False) == b"content-length: 5\r\n\r\n"
    assert end_of_head(None, chunked=True, close=True) == (
        b"transfer-encoding: chunked\r\nconnection: close\r\n\r\n"
    )
    assert end_of_head(None, chunked=False, close=True) == b"connection: close\r\n\r\n"


@pytest.mark.parametrize("name", [b"x-a", b"content-type"])
@pytest.mark.parametrize("value", [b"a\r\nx-b: c", b"a\nb", b"a\rb", b"a\0b"])
def test_a_header_with_a_line_break_is_never_written(name: bytes, value: bytes) -> None:
    for _ in range(2):
        with pytest.raises(ValueError, match="line break"):
            spell(200, DATE, [(name, value)])


@given(
    st.lists(
        st.tuples(
            st.sampled_from([b"content-type", b"x-a", b"vary"]),
            st.binary(max_size=8).map(lambda raw: raw.strip(b" \t")),
        ),
        max_size=4,
    )
)
def test_a_response_head_reads_as_what_was_meant_or_is_refused(headers: Headers) -> None:
    try:
        head, _, _ = spell(200, DATE, headers)
    except ValueError:
        assert any(set(b"\r\n\0") & set(value) for _, value in headers)
        return
    lines = head.split(b"\r\n")[2:-1]
    assert [tuple(line.split(b": ", 1)) for line in lines] == headers


def test_many_kinds_of_content_do_not_fill_the_memory() -> None:
    for number in range(1000):
        kind = b"text/x-%d" % number
        assert kind in spell(200, DATE, [(b"content-type", kind)])[0]
    assert b"a/b" in spell(200, DATE, [(b"content-type", b"a/b")])[0]


def test_a_refusal_is_a_whole_response_that_closes() -> None:
    assert refusal(http.HTTPStatus.BAD_REQUEST) == (
        b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-type: text/plain\r\n"
        b"content-length: 11\r\n\r\nBad Request"
    )


def test_a_request_respelled_reads_the_same() -> None:
    heard = Heard()
    text = request("POST", b"/a?b", "1.1", [(b"host", b"a"), (b"content-length", b"0")])
    new_parser(heard).feed_data(text)
    assert (heard.url, heard.whole) == (b"/a?b", 1)
    assert heard.headers == [(b"host", b"a"), (b"content-length", b"0")]


def test_what_follows_a_request_that_closes_is_ignored() -> None:
    heard = Heard()
    new_parser(heard).feed_data(
        b"GET / HTTP/1.1\r\nconnection: close\r\n\r\nGET / HTTP/1.1\r\n\r\n"
    )
    assert heard.whole == 1


@pytest.mark.parametrize(
    ("text", "status", "logged"),
    [
        (b"GET / HTTP/1.1\r\nbad header\r\n\r\n", 400, False),
        (b"GET /flaw HTTP/1.1\r\n\r\n", 501, False),
        (b"GET /bug HTTP/1.1\r\n\r\n", 500, True),
    ],
)
def test_nonsense_a_flaw_and_a_bug_have_each_a_status(
    text: bytes, status: int, logged: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(httptools.HttpParserError) as caught:
        new_parser(Heard()).feed_data(text)
    assert status_of(caught.value) == status
    assert bool(caplog.records) is logged


def test_a_head_that_is_kept_has_the_date_of_now() -> None:
    headers = ((b"content-type", b"application/json"),)
    for date in (b"date: 1\r\n", b"date: 1\r\n", b"date: 2\r\n", b"date: 1\r\n"):
        whole = whole_head(200, date, headers)
        assert whole == b"HTTP/1.1 200 OK\r\n" + date + b"content-type: application/json\r\n"
        assert whole_head(404, date, ()) == b"HTTP/1.1 404 Not Found\r\n" + date
