"""How often a key may be used, a minute and an hour, at every door that takes keys."""

from __future__ import annotations

import json
import os
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from gatewright.identity.keys import KeyStore
from tests.behaviour.access_house import OFFER
from tests.behaviour.gateway import Gateway, config, running, server
from tests.behaviour.ggen_house import Client
from tests.behaviour.hosts import RpcError, host
from tests.storage.parts import state_in

DOORS = (
    "rpc http",
    "rpc websocket",
    "rest",
    "http 2025-11-25",
    "http 2026-07-28",
    "websocket 2025-11-25",
)
MINUTE_MS, HOUR_MS = 60_000, 3_600_000
EACH = ("minute", "hour", "general")
"""Keys with a limit a minute, with one an hour, and with those of all keys."""
Ask = Callable[[], Coroutine[Any, Any, dict[str, Any] | None]]


class Limited:
    """A gateway, and keys of one and the same caller for each door: `keys[door, kind]`."""

    def __init__(self, gateway: Gateway, keys: dict[tuple[str, str], str]) -> None:
        self.gateway = gateway
        self.keys = keys


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Every key has four calls a minute and five an hour, but those that have limits of their own."""
    folder: Path = tmp_path_factory.mktemp("limited")
    (folder / "state").mkdir()
    callers = KeyStore(state_in(folder / "state"), clock=time.time, random=os.urandom)
    secrets, rates = {}, {}
    own = {
        "minute": {"per_minute": 2, "per_hour": 100},
        "hour": {"per_minute": 100, "per_hour": 3},
    }
    try:
        for door in DOORS:
            for kind in EACH:
                key, secrets[door, kind] = callers.create("ann", by="test")
                if kind in own:
                    rates[key.id] = own[kind]
    finally:
        callers.close()
    content = config(
        server("echo"),
        gateway={"anonymous": "deny"},
        limits={"calls": {"key": {"per_minute": 4, "per_hour": 5}, "keys": rates}},
    )
    with running(folder, content) as gateway:
        yield Limited(gateway, secrets)


@asynccontextmanager
async def _asking(gateway: Gateway, door: str, key: str) -> AsyncIterator[Ask]:
    """Calls the tool: None where it ran, and what a refusal says of itself where it did not."""
    headers = {"authorization": f"Bearer {key}"}
    if door.startswith("rpc"):
        async with Client(gateway, door.split()[1], key) as client:

            async def by_rpc() -> dict[str, Any] | None:
                answer = await client.call("echo__echo", message="x")
                found: dict[str, Any] | None = answer.get("error", {}).get("data")
                return found

            yield by_rpc
    elif door == "rest":
        async with aiohttp.ClientSession(headers=headers) as http:

            async def by_rest() -> dict[str, Any] | None:
                url = f"{gateway.urls['rest']}/echo__echo"
                async with http.post(url, json={"message": "x"}) as answer:
                    body = await answer.json()
                    if answer.status == 200:
                        return None
                    assert answer.status == 429
                    seconds = int(answer.headers["retry-after"])
                    found: dict[str, Any] = body["error"]["data"]
                    assert seconds * 1000 >= found["retry_after_ms"] > (seconds - 1) * 1000
                    return found

            yield by_rest
    else:
        async with host(gateway, door, can=OFFER, headers=headers) as one:

            async def by_mcp() -> dict[str, Any] | None:
                try:
                    assert await one.text("echo__echo", message="x") == "x"
                except RpcError as problem:
                    found: dict[str, Any] = problem.data["_mgp"]
                    return found
                return None

            yield by_mcp


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("kind", "calls", "least_ms", "most_ms"),
    [
        ("minute", 2, 1, MINUTE_MS),
        ("hour", 3, HOUR_MS - MINUTE_MS * 10, HOUR_MS),
        ("general", 4, 1, MINUTE_MS),
    ],
)
async def test_a_key_has_so_many_calls_a_minute_and_so_many_an_hour(
    limited: Limited, door: str, kind: str, calls: int, least_ms: int, most_ms: int
) -> None:
    """GGEN-auth-9: who exceeds the one or the other is refused, and told how long that lasts; another key of the same caller goes on."""
    async with _asking(limited.gateway, door, limited.keys[door, kind]) as ask:
        said = [await ask() for _ in range(calls + 2)]
    assert said[:calls] == [None] * calls
    for one in said[calls:]:
        assert one is not None
        assert one["retryable"] is True
        assert least_ms <= one["retry_after_ms"] <= most_ms
        assert "echo" not in json.dumps(one).replace("echo__echo", "")


async def test_what_one_key_has_used_up_is_used_up_at_every_door(limited: Limited) -> None:
    """GGEN-auth-9: it is the key that is counted, and not the connection or the door."""
    key = limited.keys["rest", "minute"]
    async with _asking(limited.gateway, "rest", key) as ask:
        while await ask() is None:
            pass
    for door in DOORS:
        async with _asking(limited.gateway, door, key) as ask:
            assert await ask() is not None
