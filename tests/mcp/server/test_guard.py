"""Which Host and Origin may reach us at all."""

from __future__ import annotations

import pytest

from gatewright.mcp.server.guard import Guard


@pytest.mark.parametrize(
    "host",
    ["localhost", "localhost:8080", "127.0.0.1", "127.0.0.1:1", "[::1]", "[::1]:9", "LOCALHOST:80"],
)
def test_loopback_hosts_are_ours_at_any_port(host: str) -> None:
    assert Guard().refuses({b"host": host.encode()}) == ""


@pytest.mark.parametrize(
    "host",
    [
        None,
        "",
        "evil.example.com",
        "evil.example.com:80",
        "localhost.evil.com",
        "127.0.0.1.nip.io",
        "127.0.0.2",
        "::1",
        "[::2]",
        "localhost@evil.com",
        "user@127.0.0.1",
        "user@localhost:80",
        "127.0.0.1:80@evil.com",
        "localhost:@evil.com",
        "[::1]:1@evil.com",
        "127.0.0.1:http",
        "127.0.0.1:8\u00b2",
        "xlocalhost",
        ":80",
    ],
)
def test_no_other_host_is(host: str | None) -> None:
    headers = {} if host is None else {b"host": host.encode()}
    assert Guard().refuses(headers) == "host_refused"


@pytest.mark.parametrize(
    ("origin", "refused"),
    [
        ("http://localhost", ""),
        ("http://localhost:3000", ""),
        ("https://127.0.0.1:1", ""),
        ("http://[::1]:8", ""),
        ("null", "origin_refused"),
        ("", "origin_refused"),
        ("http://evil.example.com", "origin_refused"),
        ("http://localhost@evil.com", "origin_refused"),
        ("http://localhost.evil.com", "origin_refused"),
        ("http://user@localhost", "origin_refused"),
        ("http://localhost:1@localhost", "origin_refused"),
        ("http://localhost/page", "origin_refused"),
        ("http://localhost?q", "origin_refused"),
        ("file://localhost", "origin_refused"),
        ("chrome-extension://localhost", "origin_refused"),
        ("http://[::1", "origin_refused"),
        ("localhost", "origin_refused"),
    ],
)
def test_only_pages_of_this_machine_may_speak_to_us(origin: str, refused: str) -> None:
    guard = Guard()
    for _ in range(2):  # the second time from memory
        headers = {b"host": b"localhost", b"origin": origin.encode()}
        assert guard.refuses(headers) == refused


def test_an_operator_may_name_more_hosts_and_origins() -> None:
    guard = Guard(("Gate.example", "10.0.0.1:99"), ("https://App.example/",))
    hosts = [b"gate.example", b"gate.example:8", b"GATE.example", b"10.0.0.1:99", b"10.0.0.1:98"]
    found = [guard.refuses({b"host": host}) for host in hosts]
    assert found == ["", "", "", "", "host_refused"]
    origin = {b"host": b"gate.example", b"origin": b"https://app.example"}
    assert guard.refuses(origin) == ""
    assert guard.refuses(origin | {b"origin": b"http://app.example"}) == "origin_refused"


def test_what_strangers_send_does_not_fill_the_memory() -> None:
    guard = Guard()
    for number in range(1500):
        guard.refuses({b"host": b"evil%d" % number})
    long = Guard()
    long.refuses({b"host": b"x" * 10_000, b"origin": b"y"})
    long.refuses({b"host": b"localhost"})
    assert long.remembered == 1
    assert guard.refuses({b"host": b"localhost"}) == ""
    assert guard.remembered <= 1000


@pytest.mark.parametrize(
    ("origin", "refused"),
    [
        (None, ""),
        ("http://127.0.0.1:8420", ""),
        ("https://127.0.0.1:8420", ""),
        ("https://ui.example.com", ""),
        ("http://127.0.0.1:3000", "origin_refused"),  # some other page of this machine
        ("http://localhost:8420", "origin_refused"),
        ("http://127.0.0.1", "origin_refused"),
        ("null", "origin_refused"),
        ("http://evil.example.com", "origin_refused"),
    ],
)
def test_only_our_own_pages_and_configured_ones_may_open_a_websocket(
    origin: str | None, refused: str
) -> None:
    guard = Guard(origins=("https://ui.example.com",))
    headers = {b"host": b"127.0.0.1:8420"}
    if origin is not None:
        headers[b"origin"] = origin.encode()
    assert guard.refuses_page(headers) == refused


def test_a_page_of_a_foreign_host_is_refused_for_its_host() -> None:
    headers = {b"host": b"evil.example.com", b"origin": b"http://evil.example.com"}
    assert Guard().refuses_page(headers) == "host_refused"


@pytest.mark.parametrize(
    ("host", "origin", "refused"),
    [
        ("gw.example", "https://gw.example", ""),
        ("GW.example", "http://gw.Example", ""),
        ("gw.example:8443", "https://gw.example:8443", ""),
        ("gw.example", "https://gw.example:8443", "origin_refused"),
        ("gw.example:8443", "https://gw.example", "origin_refused"),
        ("gw.example:8443", "https://gw.example:8444", "origin_refused"),
        ("gw.example", "https://app.gw.example", "origin_refused"),
        ("gw.example", "https://gw.example.evil.com", "origin_refused"),
        ("gw.example", "https://gw.example@evil.com", "origin_refused"),
        ("gw.example", "https://gw.example/page", "origin_refused"),
        ("gw.example", "ws://gw.example", "origin_refused"),
        ("gw.example", "gw.example", "origin_refused"),
        ("gw.example", "null", "origin_refused"),
        ("evil.com", "https://evil.com", "host_refused"),
        ("evil.com", "https://gw.example", "host_refused"),
        ("", "https://", "host_refused"),
        ("gw.example:80@evil.com", "http://gw.example:80@evil.com", "host_refused"),
    ],
)
def test_a_page_of_the_gateway_itself_may_call_on_a_configured_host(
    host: str, origin: str, refused: str
) -> None:
    guard = Guard(("gw.example",))
    headers = {b"host": host.encode(), b"origin": origin.encode()}
    assert guard.refuses(headers) == refused
    # What is of no use to anybody is refused for whichever header comes first.
    page = guard.refuses_page(headers)
    assert page == refused or (page and refused)
