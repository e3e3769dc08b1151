"""Which door is behind a path, and who may not even knock."""

from __future__ import annotations

from typing import Any

import pytest

from tests.dialects.client import modern, rpc, within
from tests.dialects.house import ANN, House, text
from tests.dialects.steps import CALL, Hang

PING = rpc("ping", None, 1)


# -- Host and Origin


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
        assert house.front.owners == {session.ident: ("anonymous", "anonymous")}


async def test_another_kind_of_connection_is_left_alone() -> None:
    async with House() as house:
        sent: list[Any] = []

        async def nothing(*_: Any) -> Any:
            sent.append(_)

        await house.app({"type": "lifespan"}, nothing, nothing)
        assert sent == []
