from __future__ import annotations

import httptools
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.transport.http_request import DELETE, LISTEN, POST, Target


class Read:
    """What a server reads in a head."""

    def __init__(self, head: bytes) -> None:
        self.headers: list[tuple[str, str]] = []
        self.url = b""
        self.parser = httptools.HttpRequestParser(self)
        self.parser.feed_data(head)

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.decode().lower(), value.decode("utf-8", "surrogateescape")))


def test_a_head_has_all_that_a_server_needs() -> None:
    head = Target("http://a.example:81/mcp?k=v#part").spell(POST, {"X-A": "b"}, 5)
    read = Read(head)
    assert (read.parser.get_method(), read.url) == (b"POST", b"/mcp?k=v")
    known = dict(read.headers)
    assert known.pop("user-agent").startswith("gatewright/")
    assert known == {
        "host": "a.example:81",
        "accept": "application/json, text/event-stream",
        "content-type": "application/json",
        "accept-encoding": "identity",
        "x-a": "b",
        "content-length": "5",
    }


def test_a_request_without_a_body_declares_none() -> None:
    for kind in (LISTEN, DELETE):
        assert b"ontent-" not in Target("http://a/").spell(kind, {})


@pytest.mark.parametrize(
    ("url", "host", "authority", "port"),
    [
        ("http://A.example", "a.example", "a.example", 80),
        ("https://a.example:443/", "a.example", "a.example", 443),
        ("https://a.example:80/", "a.example", "a.example:80", 80),
        ("http://[::1]:8080/", "::1", "[::1]:8080", 8080),
        ("http://[fe80::1%25eth0]/", "fe80::1%25eth0", "[fe80::1]", 80),
        ("http://b\u00fccher.example/", "xn--bcher-kva.example", "xn--bcher-kva.example", 80),
    ],
)
def test_the_host_is_spelled_as_a_resolver_and_a_server_have_it(
    url: str, host: str, authority: str, port: int
) -> None:
    target = Target(url)
    assert (target.port, dict(Read(target.spell(LISTEN, {})).headers)["host"]) == (port, authority)
    assert target.host in {host, host.replace("%25", "%")}


def test_a_password_in_the_url_goes_into_a_header_and_nowhere_else() -> None:
    target = Target("http://me:s%20s@a/")
    assert target.origin == "http://a"
    assert dict(Read(target.spell(POST, {}, 0)).headers)["authorization"] == "Basic bWU6cyBz"
    own = target.spell(POST, {"authorization": "Bearer t"}, 0)
    assert [value for name, value in Read(own).headers if name == "authorization"] == ["Bearer t"]


def test_a_header_of_the_callers_takes_the_place_of_the_usual_one_in_any_case() -> None:
    read = Read(Target("http://a/").spell(POST, {"aCCept": "x/y", "HOST": "other"}, 0))
    assert [value for name, value in read.headers if name in {"accept", "host"}] == ["x/y", "other"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-A", "b\r\nX-B: c"),
        ("X-A", "b\nX-B: c"),
        ("X-A", "b\rX-B: c"),
        ("X-A", "b\0"),
        ("X-A\r\nX-B", "c"),
        ("X-A: b\r\nX-B", "c"),
        ("X A", "b"),
        ("X-A:", "b"),
        ("", "b"),
        ("X-\u00fc", "b"),
        ("Content-Length", "3"),
        ("transfer-encoding", "chunked"),
        ("Connection", "upgrade"),
        ("Expect", "100-continue"),
    ],
)
def test_a_header_that_could_be_read_as_something_else_is_refused(name: str, value: str) -> None:
    with pytest.raises(ValueError, match="header") as caught:
        Target("http://a/").spell(POST, {name: value}, 0)
    assert "X-B" not in str(caught.value)


@given(st.dictionaries(st.text(max_size=8), st.text(max_size=12), max_size=4))
def test_a_server_reads_just_the_headers_that_were_given(headers: dict[str, str]) -> None:
    target = Target("http://a/")
    try:
        head = target.spell(DELETE, headers)
    except ValueError:
        return
    assert head.count(b"\r\n") == len(headers) + 5 - len(
        {name.lower() for name in headers} & {"host"}
    )
    assert head.count(b"\n") == head.count(b"\r\n")
    assert head.endswith(b"\r\n\r\n")


@pytest.mark.parametrize("url", ["ftp://a/", "/mcp", "http://", "not a url", "http://a:99999/"])
def test_a_target_needs_an_http_url(url: str) -> None:
    with pytest.raises(ValueError, match=r"http|[Pp]ort"):
        Target(url)


def test_what_was_spelled_before_is_never_mistaken_for_something_else() -> None:
    one, other = Target("http://a/x"), Target("http://a/x")
    headers = {"Mcp-Session-Id": "1"}
    asked = [
        (POST, headers, 1),
        (POST, headers, 22),
        (LISTEN, headers, None),
        (POST, {**headers, "x-a": "b"}, 1),
        (POST, {}, 1),
        (POST, headers, 1),
    ]
    for kind, own, length in asked:
        assert one.spell(kind, own, length) == Target("http://a/x").spell(kind, own, length)
    mine = {"a": "1"}
    before = other.spell(POST, mine)
    mine["a"] = "2"
    assert other.spell(POST, mine) != before
    for _ in range(2):
        with pytest.raises(ValueError, match="line break"):
            other.spell(POST, {"a": "1\r\nb: 2"})
    assert other.spell(POST, {"a": "1"}) == before
