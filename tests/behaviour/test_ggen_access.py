"""The policy of every other door holds at ggen's and REST's: who is nobody, who may what, and how often.

One matrix: each kind of caller, each thing to ask for, each of the doors.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any, Protocol

import aiohttp
import pytest
from aiohttp import WSCloseCode

from gatewright.call import UserContext
from gatewright.identity.keys import KeyStore
from gatewright.mcp.wire.permissions import held_permission
from tests.behaviour.access_house import House, about, seed_grant
from tests.behaviour.gateway import Gateway, config, running, server
from tests.behaviour.ggen_house import Client
from tests.storage.parts import state_in

DOORS = ("rpc http", "rpc websocket", "rest")
AGENT = "somebody-else"
CREDENTIALS = ("no", "wrong", "not even one", "revoked", "expired")
ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "an open tool": ("open__echo", {"message": "x"}),
    "a tool without a grant": ("echo__echo", {"message": "x"}),
    "a tool that is not there": ("no_such_tool", {}),
    "query": ("mgp_access_query", about(AGENT)),
    "grant": ("mgp_access_grant", seed_grant(AGENT)),
    "revoke": ("mgp_access_revoke", about(AGENT)),
}


class Speaker(Protocol):
    """A client of one of the doors; errors come back as code and data."""

    async def call(self, tool: str, arguments: dict[str, Any]) -> Any: ...

    async def tools(self) -> Any: ...


class RpcSpeaker:
    def __init__(self, client: Client) -> None:
        self.client = client

    async def call(self, tool: str, arguments: dict[str, Any]) -> Any:
        return _said(await self.client.ask("tools/call", {"name": tool, "arguments": arguments}))

    async def tools(self) -> Any:
        found = _said(await self.client.ask("tools/list"))
        return [one["name"] for one in found["tools"]] if isinstance(found, dict) else found


class RestSpeaker:
    def __init__(self, http: aiohttp.ClientSession, base: str) -> None:
        self.http = http
        self.base = base

    async def call(self, tool: str, arguments: dict[str, Any]) -> Any:
        async with self.http.post(f"{self.base}/{tool}", json=arguments) as answer:
            body = await answer.json()
            return body if answer.status == 200 else _error(body)

    async def tools(self) -> Any:
        async with self.http.get(self.base) as answer:
            body = await answer.json()
            if answer.status != 200:
                return _error(body)
            return [one["name"] for one in body["tools"]]


def _error(body: Any) -> tuple[int, str]:
    return body["error"]["code"], body["error"]["data"]["kind"]


def _said(body: Any) -> Any:
    return body["result"] if "result" in body else _error(body)


@asynccontextmanager
async def speaker(gateway: Gateway, door: str, key: str | None) -> AsyncIterator[Speaker]:
    if door.startswith("rpc"):
        async with Client(gateway, door.split()[1], key) as client:
            yield RpcSpeaker(client)
        return
    headers = {} if key is None else {"authorization": f"Bearer {key}"}
    timeout = aiohttp.ClientTimeout(total=30)
    async with aiohttp.ClientSession(headers=headers, timeout=timeout) as http:
        yield RestSpeaker(http, gateway.urls["rest"])


def _user(*permissions: str) -> UserContext:
    return UserContext(permissions=tuple(held_permission(one) or one for one in permissions))


@pytest.fixture(scope="module")
def credentials(house: House) -> dict[str, str | None]:
    """What callers show that is no good; some of them would be operators."""
    state = state_in(house.gateway.folder / "state")
    past = KeyStore(state, clock=lambda: time.time() - 1000, random=os.urandom)
    try:
        expired = past.create("late-too", kind="operator", expires=time.time() - 500, by="test")[1]
        key, revoked = past.create("gone-too", kind="operator", by="test")
        past.revoke(key.id, by="test")
    finally:
        past.close()
    wrong = revoked[:-4] + ("aaaa" if not revoked.endswith("aaaa") else "bbbb")
    found = (None, wrong, "x", revoked, expired)
    return dict(zip(CREDENTIALS, found, strict=True))


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("name", CREDENTIALS)
async def test_a_credential_that_is_no_good_gets_the_same_answer_whatever_is_asked(
    house: House, credentials: dict[str, str | None], door: str, name: str
) -> None:
    """GGEN-auth-10, GGEN-auth-11, GGEN-err-9: -32004, and nothing of what there is."""
    said = set()
    async with speaker(house.gateway, door, credentials[name]) as client:
        for tool, arguments in ASKED.values():
            said.add(await client.call(tool, arguments))
        said.add(await client.tools())
    expected = {"no": "auth_required", "expired": "auth_expired"}.get(name, "auth_failed")
    assert said == {(-32004, expected)}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("who", "expected"),
    [
        (
            "agent",
            {
                "an open tool": "ran",
                "a tool without a grant": "access_denied",
                "a tool that is not there": "access_denied",
                "query": "access_denied",
                "grant": "access_denied",
                "revoke": "access_denied",
            },
        ),
        (
            "operator",
            {
                "an open tool": "ran",
                "a tool without a grant": "ran",
                "a tool that is not there": "tool_not_found",
                "query": "ran",
            },
        ),
    ],
)
async def test_each_caller_may_what_he_may_at_every_other_door(
    house: House, door: str, who: str, expected: dict[str, str]
) -> None:
    """GGEN-auth-4, GGEN-auth-11, GGEN-err-10, GGEN-p4-5: one policy."""
    key = house.agent()[1] if who == "agent" else house.gateway.operator_token
    said = {}
    async with speaker(house.gateway, door, key) as client:
        for name in expected:
            tool, arguments = ASKED[name]
            found = await client.call(tool, arguments)
            said[name] = found[1] if isinstance(found, tuple) else "ran"
    assert said == expected


@pytest.mark.parametrize("door", DOORS)
async def test_a_key_calls_and_sees_the_tools_that_it_names(house: House, door: str) -> None:
    """GGEN-auth-4, GGEN-auth-5, GGEN-auth-6."""
    _, key = house.agent(_user("ToolInvoke(echo/echo)", "ToolRead(open/echo)"))
    async with speaker(house.gateway, door, key) as client:
        assert await client.tools() == ["open__echo"]
        assert await client.call("echo__echo", {"message": "hello"}) == "hello"
        assert (await client.call("open__echo", {"message": "x"}))[0] == -32005


@pytest.mark.parametrize("door", DOORS)
async def test_the_right_to_list_all_shows_all_and_the_right_to_call_none(
    house: House, door: str
) -> None:
    """GGEN-auth-6, decision C-32."""
    _, key = house.agent(_user("ToolsListAll"))
    async with speaker(house.gateway, door, key) as client:
        assert {"echo__echo", "open__echo"} <= set(await client.tools())
    _, key = house.agent(_user("ToolInvoke(open/echo)"))
    async with speaker(house.gateway, door, key) as client:
        assert (await client.tools())[0] == -32005


@pytest.mark.parametrize("door", DOORS)
async def test_a_key_that_is_revoked_is_nobodys_from_then_on(house: House, door: str) -> None:
    state = state_in(house.gateway.folder / "state")
    callers = KeyStore(state, clock=time.time, random=os.urandom)
    try:
        key, secret = callers.create(f"short-lived {door}", kind="operator", by="test")
        async with speaker(house.gateway, door, secret) as client:
            assert await client.call("open__echo", {"message": "x"}) == "x"
            callers.revoke(key.id, by="test")
            deadline = time.monotonic() + 20
            said: Any = "x"
            while said == "x" and time.monotonic() < deadline:
                try:
                    said = await client.call("open__echo", {"message": "x"})
                except (
                    TypeError,
                    ConnectionError,
                ):  # the connection was closed before it was asked
                    assert isinstance(client, RpcSpeaker)
                    assert client.client.socket.close_code == WSCloseCode.POLICY_VIOLATION
                    return
        assert said == (-32004, "auth_failed")
    finally:
        callers.close()


# -- how often


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A gateway where callers have three calls a minute, and no grants."""
    said = config(
        server("echo"),
        grants=[],
        gateway={"anonymous": "deny"},
        limits={"calls": {"caller": {"per_minute": 3}}},
    )
    with running(tmp_path_factory.mktemp("often"), said) as gateway:
        yield House(gateway)


@pytest.mark.parametrize("door", DOORS)
async def test_over_its_limit_a_key_learns_when_to_come_again_and_nothing_else(
    limited: House, door: str
) -> None:
    """GGEN-auth-9, GGEN-auth-10, decision C-39: the limit comes before any word on what it may do."""
    _, key = limited.agent()
    asked = ("echo__echo",) * 4 + ("no_such_tool",)
    async with speaker(limited.gateway, door, key) as client:
        said = [await client.call(tool, {"message": "x"}) for tool in asked]
    assert said == [(-32005, "access_denied")] * 3 + [(-32003, "rate_limited")] * 2


async def test_the_wait_is_told_in_the_error_and_in_the_header(limited: House) -> None:
    """GGEN-auth-9: `RateLimitExceeded`, retryable, with the milliseconds to wait."""
    _, key = limited.agent()
    headers = {"authorization": f"Bearer {key}"}
    async with aiohttp.ClientSession(headers=headers) as http:
        for _ in range(4):
            async with http.post(f"{limited.gateway.urls['rest']}/echo__echo", json={}) as answer:
                status, body = answer.status, await answer.json()
                wait = answer.headers.get("retry-after")
    data = body["error"]["data"]
    assert (status, body["error"]["message"]) == (429, "Rate limit exceeded")
    assert (data["error_type"], data["retryable"]) == ("RateLimitExceeded", True)
    assert 0 < data["retry_after_ms"] <= 60_000
    assert wait is not None
    assert 1 <= int(wait) <= 60
    assert str(data["retry_after_ms"]) in data["suggestions"][0]
    assert "echo" not in json.dumps(data)


async def test_a_key_is_kept_as_a_hash_alone(house: House) -> None:
    """GGEN-auth-1: SHA-256, and nothing clear in any file of the store."""
    _, secret = house.agent()
    files = (house.gateway.folder / "state").glob("state.db*")
    kept = b"".join(path.read_bytes() for path in files)
    assert hashlib.sha256(secret.encode()).digest() in kept
    assert secret.encode() not in kept
    async with speaker(house.gateway, "rest", secret) as client:
        assert await client.call("open__echo", {"message": "x"}) == "x"
