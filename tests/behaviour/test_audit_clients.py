"""MGP clients that negotiated `audit` hear what is recorded about them, at every door that can push."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.behaviour.gateway import Gateway, config, running, server
from tests.behaviour.hosts import META, Host, RpcError, host

OFFER = {"mgp": {"version": "0.2.0", "extensions": ["security", "audit"]}}
PUSHING = ("http 2025-11-25", "stdio 2025-11-25", "websocket 2025-11-25", "sse 2024-11-05")
MODERN_DOORS = ("http 2026-07-28", "stdio 2026-07-28", "websocket 2026-07-28")
AUDIT = "notifications/mgp.audit"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
WANTED = "dev.cloto/audit"
SUBSCRIPTION = f"{META}subscriptionId"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with running(tmp_path_factory.mktemp("audited"), config(server("echo"))) as found:
        yield found


@pytest.mark.parametrize("door", PUSHING)
async def test_a_client_hears_of_its_own_calls(gateway: Gateway, door: str) -> None:
    """MGP-6.3-1 and MGP-6.4-1, as notifications to a client."""
    async with host(gateway, door, can=OFFER) as client, host(gateway, door) as plain:
        await client.request(
            "tools/call",
            {"name": "echo__echo", "arguments": {"message": "m"}, "trace_id": f"trace {door}"},
        )
        note = (await client.note(AUDIT, _executed))["params"]
        assert note["trace_id"] == f"trace {door}"
        assert note["target"] == {"server_id": "echo", "tool_name": "echo"}
        assert note["result"] == "SUCCESS"
        assert note["details"]["duration_ms"] > 0
        await plain.text("echo__echo", message="m")
        assert not [one for one in plain.notes if one.get("method") == AUDIT]


async def test_a_client_without_a_name_hears_of_nobody_elses_calls(gateway: Gateway) -> None:
    async with host(gateway, can=OFFER) as one, host(gateway, can=OFFER) as other:
        await one.text("echo__echo", message="mine")
        await one.note(AUDIT, _executed)
        await other.text("echo__echo", message="theirs")
        await other.note(AUDIT, _executed)
        assert not [note for note in one.notes if note["method"] == AUDIT and _executed(note)]


def _executed(note: dict[str, Any]) -> bool:
    return bool(note["params"]["event_type"] == "TOOL_EXECUTED")


# -- modern clients, which have no session: what they hear comes on a subscription


@pytest.fixture
def keys(gateway: Gateway) -> dict[str, str]:
    """Headers of two agents and of an operator, fresh for each test."""
    return {name: _bearer(_made(gateway, name)["key"]) for name in ("ann", "bob")} | {
        "olga": _bearer(_made(gateway, "olga", "--operator")["key"])
    }


def _made(gateway: Gateway, name: str, *more: str) -> dict[str, Any]:
    ours = ("--json", "--another", "--key", gateway.operator_token)
    found: dict[str, Any] = json.loads(gateway.cli("key", "create", name, *more, *ours))
    return found


def _bearer(key: str) -> str:
    return f"Bearer {key}"


@asynccontextmanager
async def _listening(
    gateway: Gateway, door: str, bearer: str | None = None, **more: Any
) -> AsyncIterator[tuple[Host, Any]]:
    """A modern host that has asked for what is recorded, and the id with which it did."""
    headers = {} if bearer is None else {"authorization": bearer}
    async with host(gateway, door, headers=headers, **{"can": OFFER, **more}) as client:
        ident = await client.start("subscriptions/listen", {"notifications": {WANTED: True}})
        note = (await client.note(ACKNOWLEDGED))["params"]
        assert note["_meta"] == {SUBSCRIPTION: ident}
        honoured = note["notifications"]
        assert honoured == ({WANTED: True} if client.capabilities == OFFER else {})
        yield client, ident


async def _used(client: Host, trace: str) -> None:
    params = {"name": "echo__echo", "arguments": {"message": "m"}, "trace_id": trace}
    await client.request("tools/call", params)


async def _heard(client: Host, trace: str) -> dict[str, Any]:
    """What a client is told of the call with this trace."""
    found: dict[str, Any] = await client.note(
        AUDIT, lambda note: _executed(note) and note["params"]["trace_id"] == trace
    )
    return found


def _traces(client: Host) -> set[str]:
    return {one["params"]["trace_id"] for one in client.notes if one["method"] == AUDIT}


@pytest.mark.parametrize("door", MODERN_DOORS)
async def test_a_modern_client_asks_for_what_is_recorded_about_it(
    gateway: Gateway, keys: dict[str, str], door: str
) -> None:
    """MGP-6.3-1, MGP-6.3-4 and MGP-6.4-1, on the stream of a `subscriptions/listen`."""
    async with _listening(gateway, door, keys["ann"]) as (client, ident):
        await _used(client, f"mine {door}")
        note = await _heard(client, f"mine {door}")
        told = note["params"]
        assert set(note) == {"jsonrpc", "method", "params"}
        assert told.pop("_meta") == {SUBSCRIPTION: ident}
        assert set(told) == {
            "timestamp",
            "trace_id",
            "event_type",
            "actor",
            "target",
            "result",
            "details",
        }
        name = "local" if door.startswith("stdio") else "ann"
        assert (told["actor"]["id"], told["result"]) == (name, "SUCCESS")
        assert told["target"] == {"server_id": "echo", "tool_name": "echo"}
        assert told["details"]["duration_ms"] > 0


@pytest.mark.parametrize("door", ["http 2026-07-28", "websocket 2026-07-28"])
async def test_each_hears_of_itself_operators_of_all_and_nobody_known_of_nobody(
    gateway: Gateway, keys: dict[str, str], door: str
) -> None:
    """MGP-6.3-1: ann's calls are told to ann and to an operator, whichever door each came by."""
    async with (
        _listening(gateway, door, keys["ann"]) as (ann, _),
        _listening(gateway, door, keys["bob"]) as (bob, _),
        _listening(gateway, door, keys["olga"]) as (olga, _),
        _listening(gateway, door) as (nobody, _),
        host(gateway, headers={"authorization": keys["ann"]}) as legacy,
    ):
        await _used(legacy, "ann 1")
        await _used(bob, "bob 1")
        await _used(nobody, "nobody 1")
        for client, own in ((ann, "ann 1"), (bob, "bob 1")):
            await _heard(client, own)
        for trace in ("ann 1", "bob 1", "nobody 1"):
            await _heard(olga, trace)
        await _used(nobody, "nobody 2")
        await _heard(olga, "nobody 2")
        if door.startswith("websocket"):  # a connection is its own; without one, nobody is anybody
            await _heard(nobody, "nobody 2")
        assert not _traces(ann) & {"bob 1", "nobody 1", "nobody 2"}
        assert not _traces(bob) & {"ann 1", "nobody 1", "nobody 2"}
        assert not _traces(nobody) & {"ann 1", "bob 1"}
        assert door.startswith("websocket") or not _traces(nobody)


@pytest.mark.parametrize("door", MODERN_DOORS)
@pytest.mark.parametrize(
    "can", [{}, {"mgp": {"version": "0.2.0", "extensions": ["security"]}}], ids=["stock", "other"]
)
async def test_who_did_not_negotiate_audit_is_told_nothing(
    gateway: Gateway, keys: dict[str, str], door: str, can: dict[str, Any]
) -> None:
    """MGP-2.1-1: asked for or not; what is not honoured is left out of the acknowledgement."""
    async with _listening(gateway, door, keys["ann"], can=can) as (client, _):
        await _used(client, "one")
        client.capabilities = OFFER  # each request says by itself what its client can do
        await client.start("subscriptions/listen", {"notifications": {WANTED: True}})
        await client.note(ACKNOWLEDGED)
        await _used(client, "two")
        await _heard(client, "two")
        assert _traces(client) <= {"two"}
        assert [one["method"] for one in client.notes].count(AUDIT) == 0


@pytest.mark.parametrize("door", MODERN_DOORS)
async def test_who_did_not_ask_is_told_nothing(
    gateway: Gateway, keys: dict[str, str], door: str
) -> None:
    """MCP 2026-07-28: no notification that was not asked for."""
    async with host(gateway, door, headers={"authorization": keys["ann"]}, can=OFFER) as client:
        for wanted in ({"toolsListChanged": True}, {WANTED: False}, {WANTED: "yes"}):
            await client.start("subscriptions/listen", {"notifications": wanted})
            await client.note(ACKNOWLEDGED)
        await _used(client, "unheard")
        await client.start("subscriptions/listen", {"notifications": {WANTED: True}})
        await client.note(ACKNOWLEDGED)
        await _used(client, "heard")
        await _heard(client, "heard")
        assert "unheard" not in _traces(client)


@pytest.mark.parametrize("door", ["http 2026-07-28", "websocket 2026-07-28"])
async def test_a_subscription_ends_with_its_key(
    gateway: Gateway, keys: dict[str, str], door: str
) -> None:
    """MGP-6.3-1: an operator whose key is revoked hears of nobody any more, within a second."""
    made = _made(gateway, "gone", "--operator")
    async with (
        _listening(gateway, door, _bearer(made["key"])) as (client, ident),
        _listening(gateway, door, keys["olga"]) as (olga, _),
        host(gateway, headers={"authorization": keys["ann"]}) as ann,
    ):
        await _used(ann, "before")
        await _heard(client, "before")
        gateway.cli("key", "revoke", made["id"], "--key", gateway.operator_token)
        with pytest.raises(RpcError) as caught:
            await _used_until(ann, client, ident)
        assert caught.value.data["reason"] == "auth_failed"
        client.notes.clear()
        await _used(ann, "after")
        await _heard(olga, "after")
        assert not _traces(client)


@pytest.mark.parametrize("door", ["http 2025-11-25", "websocket 2025-11-25", "sse 2024-11-05"])
async def test_a_session_hears_nothing_more_with_a_key_that_is_revoked(
    gateway: Gateway, keys: dict[str, str], door: str
) -> None:
    """MGP-6.3-1, for clients that hear without asking."""
    made = _made(gateway, "gone", "--operator")
    headers = {"authorization": _bearer(made["key"])}
    async with (
        host(gateway, door, headers=headers, can=OFFER) as client,
        _listening(gateway, "http 2026-07-28", keys["olga"]) as (olga, _),
        host(gateway, headers={"authorization": keys["ann"]}) as ann,
    ):
        await _used(ann, "before")
        await _heard(client, "before")
        gateway.cli("key", "revoke", made["id"], "--key", gateway.operator_token)
        async with asyncio.timeout(2):
            while True:
                client.notes.clear()
                await _used(ann, "then")
                await _heard(olga, "then")
                if not _traces(client):
                    break
        for number in range(3):
            await _used(ann, f"after {number}")
            await _heard(olga, f"after {number}")
        assert not {one for one in _traces(client) if one.startswith("after")}


async def _used_until(caller: Host, listener: Host, ident: Any) -> None:
    """Make calls until the listener's subscription has ended. Raises `RpcError` where it ends with an error."""
    ended = asyncio.ensure_future(listener.finish(ident))
    async with asyncio.timeout(2):
        while not ended.done():
            await _used(caller, "meanwhile")
    await ended
