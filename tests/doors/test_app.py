"""Which door is behind a path, and who may not even knock."""

from __future__ import annotations

from typing import Any

import pytest

from gatewright.doors.app import Guard, bearer
from tests.doors.client import modern, rpc, within
from tests.doors.house import ANN, House, text
from tests.doors.steps import CALL, Hang

PING = rpc("ping", None, 1)


# -- Host and Origin


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
    "path", ["/mcp", "/mcp/small", "/sse", "/messages", "/metrics", "/nowhere"]
)
async def test_a_foreign_page_reaches_no_path(path: str) -> None:
    """Refused before anybody asks who it is."""
    async with House(anonymous=False) as house:
        for headers in ({"host": "evil.example"}, {"origin": "http://evil.example"}):
            for method in ("GET", "POST", "OPTIONS"):
                answered = await house.open(PING, method=method, path=path, headers=headers).whole()
                assert answered.status == 403
                assert sorted(answered.json) == ["error", "jsonrpc"]
                assert "access-control-allow-origin" not in answered.headers


# -- who asks


async def test_who_brings_no_key_is_told_how_to() -> None:
    """MGP-14.3-3."""
    async with House(anonymous=False) as house:
        for path in ("/mcp", "/mcp/small", "/sse", "/messages", "/metrics"):
            answered = await house.open(PING, method="GET", path=path).whole()
            assert answered.status == 401
            assert answered.headers["www-authenticate"] == 'Bearer realm="gatewright"'
        assert answered.json == {
            "jsonrpc": "2.0",
            "error": {
                "code": 1002,
                "message": "authentication is required",
                "data": {"reason": "auth_required"},
            },
        }


async def test_a_wrong_key_never_makes_anybody_anonymous() -> None:
    async with House(anonymous=True) as house:
        answered = await house.post(PING, key="key-eve")
        assert answered.status == 401
        challenge = 'Bearer realm="gatewright", error="invalid_token"'
        assert answered.headers["www-authenticate"] == challenge
        assert answered.json["error"]["data"] == {"reason": "auth_failed"}


async def test_who_brings_a_key_is_its_owner() -> None:
    async with House(anonymous=False) as house:
        house.script.does("echo", text("hi"))
        await house.modern("tools/call", CALL, key="key-ann")
        assert [(one.caller, one.credential) for one in house.script.calls] == [(ANN, "key-ann")]


@pytest.mark.parametrize(
    ("value", "token"),
    [
        (b"Bearer abc", "abc"),
        (b"bearer  abc ", "abc"),
        (b"BEARER abc", "abc"),
        (b"Bearer ", ""),
        (b"Basic abc", None),
        (b"Bearerabc", None),
        (b"", None),
    ],
)
def test_a_key_is_a_bearer_token(value: bytes, token: str | None) -> None:
    assert bearer({b"authorization": value}) == token
    assert bearer({}) is None


# -- paths


async def test_a_path_is_a_door() -> None:
    async with House() as house:
        house.script.does("echo", text("hi"))
        for path, profile in (("/mcp", ""), ("/mcp/small", "small")):
            await house.post(modern("tools/call", CALL), path=path)
            session = await house.session(path=path)
            await session.ask("tools/call", CALL)
            assert [call.profile for call in house.script.calls[-2:]] == [profile] * 2


@pytest.mark.parametrize("path", ["/", "/mcp/", "/mcp/none", "/MCP", "/mcp/small/x", "/sse/", ""])
async def test_everywhere_else_is_nothing(path: str) -> None:
    async with House() as house:
        answered = await house.open(PING, path=path).whole()
        assert answered.status == 404
        assert b"/mcp" in answered.body


async def test_a_farewell_ends_what_only_waits_and_lets_calls_be_answered() -> None:
    async with House() as house:
        house.script.does("echo", hang := Hang())
        session = await house.session()
        waiting = [
            session.get(),
            house.open(method="GET", path="/sse"),
            house.open(modern("subscriptions/listen", {"notifications": {}})),
        ]
        for wire in waiting:
            await wire.head()
        running = [session.open("tools/call", CALL), house.open(modern("tools/call", CALL))]
        for _ in running:
            await house.began()
        house.app.farewell()
        for wire in waiting:
            await within(wire.task)
        hang.end.set()
        for wire in running:
            assert "result" in (await wire.whole()).json
        assert house.front.owners == {session.ident: "anonymous"}


async def test_another_kind_of_connection_is_left_alone() -> None:
    async with House() as house:
        sent: list[Any] = []

        async def nothing(*_: Any) -> Any:
            sent.append(_)

        await house.app({"type": "lifespan"}, nothing, nothing)
        assert sent == []
