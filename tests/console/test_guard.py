"""Which hosts and origins are ours."""

from __future__ import annotations

import pytest
from starlette.requests import Request

from gatewright.console.guard import BODY_BYTES, Guard, body_of
from gatewright.console.operations import ApiError


def request(method: str = "GET", **headers: str) -> Request:
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Request(
        {"type": "http", "method": method, "headers": raw, "path": "/", "query_string": b""}
    )


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8421", "localhost:8421", "[::1]:8421", "10.1.2.3:8421", "console.example"]
)
def test_our_names_are_answered(host: str) -> None:
    Guard("https://console.example").check(request(host=host))


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "",
        "[",
        "console.example:99",
        "127.0.0.1:99999",
        "127.0.0.1:",
        "127.0.0.1:8x",
        "127.0.0.1:\xb2",
        "127.0.0.1:1/x",
        "127.0.0.1?x",
        "127.0.0.1#evil.example",
        "user@127.0.0.1",
        "localhost ",
        "[127.0.0.1]",
        "[::1",
        "::1",
    ],
)
def test_other_names_are_refused(host: str) -> None:
    with pytest.raises(ApiError) as raised:
        Guard("https://console.example").check(request(host=host))
    assert raised.value.code == "wrong_host"


def test_two_hosts_are_refused() -> None:
    two = Request(
        {"type": "http", "method": "GET", "headers": [(b"host", b"localhost")] * 2, "path": "/"}
    )
    with pytest.raises(ApiError):
        Guard("").check(two)


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://localhost:9999"},
        {"origin": "https://localhost:8421"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site", "sec_fetch_mode": "cors"},
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_pages_of_others_are_refused(method: str, headers: dict[str, str]) -> None:
    with pytest.raises(ApiError) as raised:
        Guard("").check(request(method, host="localhost:8421", **headers))
    assert raised.value.code == "foreign_origin"


def test_a_person_may_follow_a_link_from_elsewhere() -> None:
    headers = {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate"}
    Guard("").check(request(host="localhost:8421", **headers))
    with pytest.raises(ApiError):
        Guard("").check(request("POST", host="localhost:8421", **headers))


def test_behind_a_proxy_its_origin_is_ours() -> None:
    guard = Guard("https://console.example")
    guard.check(request("POST", host="console.example", origin="https://console.example"))
    assert guard.secure
    assert guard.base(request(host="console.example")) == "https://console.example"
    with pytest.raises(ApiError):
        guard.check(request("POST", host="console.example", origin="http://console.example"))


async def test_a_body_has_a_bound() -> None:
    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": b"x" * BODY_BYTES, "more_body": True}

    with pytest.raises(ApiError) as raised:
        await body_of(
            Request({"type": "http", "method": "POST", "headers": [], "path": "/"}, receive)
        )
    assert raised.value.status == 413
