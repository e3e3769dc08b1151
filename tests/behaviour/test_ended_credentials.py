"""Connections that outlast a request end with the credential that opened them, at every door that has such, in its own way."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import aiohttp
import pytest

from gatewright.identity.keys import KeyStore
from tests.behaviour.access_house import promptly
from tests.behaviour.gateway import Gateway, config, running, server
from tests.behaviour.groundhog_client import connected
from tests.behaviour.hosts import Host, RpcError, host
from tests.storage.parts import state_in

SOON_S = 10.0
"""Nothing else would end such a connection for minutes."""
GOODBYE = 1008
EXPIRED, FAILED = "the key has expired", "the credential is not valid here"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"

Ended = Callable[[], Awaitable[str]]
"""Waits for the end of a connection; what was said of it."""


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    content = config(
        server("asker"),
        gateway={"anonymous": "deny"},
        mcp={"protocol": {"transport": {"type": "tcp", "port": 0}}},
    )
    with running(tmp_path_factory.mktemp("ended"), content) as found:
        yield found


@contextmanager
def _keys(gateway: Gateway) -> Iterator[KeyStore]:
    found = KeyStore(state_in(gateway.folder / "state"), clock=time.time, random=os.urandom)
    try:
        yield found
    finally:
        found.close()


def _made(gateway: Gateway) -> str:
    with _keys(gateway) as keys:
        return keys.create("ann", by="test")[1]


def _revoke(gateway: Gateway, key: str) -> None:
    with _keys(gateway) as keys:
        keys.revoke(key.split("_")[1], by="test")


def _expire(gateway: Gateway, key: str) -> None:
    """Its owner has a successor, and a moment to change over."""
    with _keys(gateway) as keys:
        keys.rotate(key.split("_")[1], overlap_s=0.5, by="test")


@asynccontextmanager
async def _socket(
    url: str, key: str, *protocols: str, says: Mapping[str, Any] | None = None
) -> AsyncIterator[Ended]:
    headers = {"authorization": f"Bearer {key}"}
    async with (
        aiohttp.ClientSession() as http,
        http.ws_connect(url, protocols=protocols, headers=headers) as socket,
    ):
        if says is not None:
            await socket.send_json(says)
            await socket.receive_json(timeout=SOON_S)

        async def ended() -> str:
            last = await socket.receive(timeout=SOON_S)
            assert (last.type, last.data) == (aiohttp.WSMsgType.CLOSE, GOODBYE)
            return str(last.extra)

        yield ended


@asynccontextmanager
async def _stream(url: str, key: str, **headers: str) -> AsyncIterator[Ended]:
    known = {"authorization": f"Bearer {key}", "accept": "text/event-stream"} | headers
    async with (
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(None)) as http,
        http.get(url, headers=known) as answer,
    ):
        assert answer.status == 200

        async def ended() -> str:
            await asyncio.wait_for(answer.content.read(), SOON_S)  # raises where it is torn off
            return ""

        yield ended


@asynccontextmanager
async def _session(gateway: Gateway, key: str) -> AsyncIterator[Ended]:
    """The GET stream of a session of the revisions that have one."""
    async with host(gateway, headers={"authorization": f"Bearer {key}"}) as client:
        named = {"mcp-session-id": client.session or "", "mcp-protocol-version": client.revision}
        async with _stream(gateway.url, key, **named) as ended:
            yield ended


@asynccontextmanager
async def _subscription(gateway: Gateway, key: str, door: str) -> AsyncIterator[Ended]:
    async with host(gateway, door, headers={"authorization": f"Bearer {key}"}) as client:
        wanted = {"notifications": {"toolsListChanged": True}}
        ident = await client.start("subscriptions/listen", wanted)
        await client.note(ACKNOWLEDGED)

        async def ended() -> str:
            with pytest.raises(RpcError) as caught:
                await asyncio.wait_for(client.finish(ident), SOON_S)
            return caught.value.message

        yield ended


@asynccontextmanager
async def _lines(gateway: Gateway, key: str) -> AsyncIterator[Ended]:
    """Groundhog over TCP, where its first message says who it is."""
    async with connected(gateway.urls["groundhog"], key) as client:

        async def ended() -> str:
            await asyncio.wait_for(asyncio.shield(client.over), SOON_S)
            return ""

        yield ended


PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
CREATE = {"jsonrpc": "2.0", "id": 1, "method": "session/create", "params": {}}

DOORS: Mapping[str, Callable[[Gateway, str], Any]] = {
    "session stream": _session,
    "sse": lambda gateway, key: _stream(gateway.urls["sse"], key),
    "websocket": lambda gateway, key: _socket(gateway.urls["websocket"], key, "mcp", says=PING),
    "websocket, silent": lambda gateway, key: _socket(gateway.urls["websocket"], key, "mcp"),
    "ggen": lambda gateway, key: _socket(gateway.urls["rpc"], key, says=PING),
    "groundhog": lambda gateway, key: _socket(gateway.urls["websocket"], key, says=CREATE),
    "groundhog lines": _lines,
    "http subscription": lambda gateway, key: _subscription(gateway, key, "http 2026-07-28"),
    "websocket subscription": lambda gateway, key: _subscription(
        gateway, key, "websocket 2026-07-28"
    ),
}
WORDLESS = {"session stream", "sse", "groundhog lines"}


@pytest.mark.parametrize(("end", "why"), [(_revoke, FAILED), (_expire, EXPIRED)])
@pytest.mark.parametrize("door", DOORS)
async def test_a_connection_ends_with_its_key(
    gateway: Gateway, door: str, end: Callable[[Gateway, str], None], why: str
) -> None:
    """MGP-5.4-6: also where nothing is said on it; one of the same caller with another key goes on."""
    key, other = _made(gateway), _made(gateway)
    async with DOORS[door](gateway, key) as ended, DOORS[door](gateway, other) as goes_on:
        async with promptly() if end is _revoke else asyncio.timeout(SOON_S):
            end(gateway, key)
            said = await ended()
        assert said.startswith("" if door in WORDLESS else why)
        waits = asyncio.ensure_future(goes_on())
        await asyncio.wait([waits], timeout=0)
        assert not waits.done()
        _revoke(gateway, other)
        await waits


async def _slow(client: Host, seconds: float) -> Any:
    """A call that runs; its id."""
    params = {"name": "asker__slow", "arguments": {"seconds": seconds}}
    ident = await client.start("tools/call", {**params, "_meta": {"progressToken": 1}})
    await client.note("notifications/progress")
    return ident


@pytest.mark.parametrize("door", ["websocket 2025-11-25", "websocket 2026-07-28", "sse 2024-11-05"])
async def test_the_refusal_of_a_call_that_runs_leaves_before_its_connection_ends(
    gateway: Gateway, door: str
) -> None:
    key = _made(gateway)
    async with host(gateway, door, headers={"authorization": f"Bearer {key}"}) as client:
        ident = await _slow(client, 60)
        _revoke(gateway, key)
        with pytest.raises(RpcError) as caught:
            await asyncio.wait_for(client.finish(ident), SOON_S)
        assert "ended while it ran" in caught.value.message
        await asyncio.wait_for(client.gone.wait(), SOON_S)


@pytest.mark.parametrize("door", ["websocket 2025-11-25", "sse 2024-11-05"])
async def test_a_key_that_reaches_its_end_ends_no_call_that_began_before(
    gateway: Gateway, door: str
) -> None:
    """Nor the connection on which its answer has to come; that one ends after it."""
    key = _made(gateway)
    async with host(gateway, door, headers={"authorization": f"Bearer {key}"}) as client:
        ident = await _slow(client, 2)
        _expire(gateway, key)
        assert (await client.finish(ident))["content"][0]["text"] == "awake"
        await asyncio.wait_for(client.gone.wait(), SOON_S)
