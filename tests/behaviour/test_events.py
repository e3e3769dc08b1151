"""Event subscriptions (MGP §13.2, 13.3, 13.5): who hears which channel, numbers, replay, and what is asked of servers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.behaviour.event_house import (
    EVENT,
    EVERY,
    LEGACY,
    MODERN,
    WANTED,
    bearer,
    configured,
    listening,
    made_key,
    rule_of,
    subscribed,
)
from tests.behaviour.gateway import Gateway, running
from tests.behaviour.hosts import Host, RpcError, host


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with running(tmp_path_factory.mktemp("eventful"), configured()) as found:
        yield found


def _of(channel: str) -> Any:
    return lambda note: note["params"]["channel"] == channel


def _traced(channel: str, trace: str) -> Any:
    return lambda note: _of(channel)(note) and note["params"]["data"]["trace_id"] == trace


async def _emit(client: Host, channel: str, **more: Any) -> int:
    return int(await client.text("eventful__emit", channel=channel, **more))


def _heard(client: Host, channel: str) -> list[dict[str, Any]]:
    every = [one["params"] for one in client.notes if one["method"] == EVENT]
    return [one for one in every if one["channel"] == channel]


@pytest.mark.parametrize("door", EVERY)
async def test_subscribing_says_which_channels_there_are(gateway: Gateway, door: str) -> None:
    """MGP-13.2-1 and MGP-13.5-2: of known and unknown channels, each in its list."""
    asked = ("model.token_usage", "tool.completed", "model.nothing", "weather.rain", "security.*")
    async with listening(gateway, door) as client:
        found = await subscribed(client, *asked)
        assert found["subscribed"] == ["model.token_usage", "tool.completed", "security.*"]
        assert found["unsupported"] == ["model.nothing", "weather.rain"]
        assert found["subscription_id"].startswith("sub-")
        other = await subscribed(client, "model.*")
        assert other["subscribed"] == ["model.*"]
        assert other["subscription_id"] != found["subscription_id"]


@pytest.mark.parametrize("door", EVERY)
async def test_an_event_of_a_server_comes_once_to_each_subscription(
    gateway: Gateway, door: str
) -> None:
    """MGP-13.3-1: two subscriptions that it fits, and one that it does not."""
    async with listening(gateway, door) as client:
        first = await subscribed(client, "model.token_usage", "model.*")
        second = await subscribed(client, "model.*")
        third = await subscribed(client, "system.*")
        assert await _emit(client, "model.token_usage", data={"tokens_used": 1500}) >= 1
        notes = [await client.note(EVENT, _of("model.token_usage")) for _ in range(2)]
        told = {one["params"]["subscription_id"]: one["params"] for one in notes}
        assert set(told) == {first["subscription_id"], second["subscription_id"]}
        for one in told.values():
            assert one["data"] == {"tokens_used": 1500}
            assert one["timestamp"] == "2026-02-27T12:05:00.000Z"
            assert (one["server_id"], one["sequence"]) == ("eventful", 1)
        await _emit(client, "system.disk")
        last = (await client.note(EVENT, _of("system.disk")))["params"]
        assert last["subscription_id"] == third["subscription_id"]
        assert not _heard(client, "model.token_usage")


@pytest.mark.parametrize("door", LEGACY)
async def test_after_unsubscribing_nothing_comes(gateway: Gateway, door: str) -> None:
    """MGP-13.2-2: no event after it."""
    async with listening(gateway, door) as client:
        mine = await subscribed(client, "model.*")
        ident = {"subscription_id": mine["subscription_id"]}
        assert await client.request("mgp/events/unsubscribe", ident) == {
            "unsubscribed": True,
            **ident,
        }
        await _emit(client, "model.rate_limit")
        later = await subscribed(client, "model.rate_limit")
        await _emit(client, "model.rate_limit")
        note = (await client.note(EVENT))["params"]
        assert note["subscription_id"] == later["subscription_id"]


@pytest.mark.parametrize("door", ["http 2025-11-25", "websocket 2025-11-25", "sse 2024-11-05"])
async def test_unsubscribing_ends_it(gateway: Gateway, door: str) -> None:
    """MGP-13.2-2: no event after it; an unknown id, and that of somebody else, is a named error."""
    async with listening(gateway, door) as client, listening(gateway, door) as other:
        mine = await subscribed(client, "model.*")
        theirs = await subscribed(other, "model.rate_limit")
        ident = {"subscription_id": mine["subscription_id"]}
        await client.request("mgp/events/unsubscribe", ident)
        await _emit(client, "model.rate_limit")
        await other.note(EVENT, _of("model.rate_limit"))
        assert not _heard(client, "model.rate_limit")
        for wrong in (mine, theirs, {"subscription_id": "sub-none"}):
            named = {"subscription_id": wrong["subscription_id"]}
            with pytest.raises(RpcError) as caught:
                await client.request("mgp/events/unsubscribe", named)
            assert rule_of(caught.value) == "subscription_unknown"
        await _emit(other, "model.rate_limit")
        await other.note(EVENT, _of("model.rate_limit"))


@pytest.mark.parametrize("door", MODERN)
async def test_a_modern_client_unsubscribes_by_the_method_or_the_request(
    gateway: Gateway, door: str
) -> None:
    """MGP-13.2-2, without a session."""
    ann = made_key(gateway, "ann")["key"]
    async with listening(gateway, door, ann) as client:
        found = await subscribed(client, "model.*")
        ident = {"subscription_id": found["subscription_id"]}
        await client.request("mgp/events/unsubscribe", ident)
        await _emit(client, "model.rate_limit")
        await subscribed(client, "model.rate_limit")
        await _emit(client, "model.rate_limit")
        note = (await client.note(EVENT))["params"]
        assert note["subscription_id"] != found["subscription_id"]


@pytest.mark.parametrize("door", EVERY)
async def test_what_is_less_severe_than_wanted_is_not_told(gateway: Gateway, door: str) -> None:
    """MGP-13.2-3, for events of servers, of which the server judges those that say nothing, and for the gateway's own."""
    # Without a session, events of calls are for callers with a name.
    async with listening(gateway, door, made_key(gateway, "sven")["key"]) as client:
        least = {"min_severity": "warning"}
        await subscribed(client, "model.*", "tool.*", filter=least)
        await subscribed(client, "tool.completed")
        await _emit(client, "model.token_usage", severity="info", data={"n": 1})
        await _emit(client, "model.token_usage", severity="error", data={"n": 2})
        await _emit(client, "model.token_usage", severity="warning", states=False, data={"n": 3})
        await client.text("echo__echo", message="m")
        found = [(await client.note(EVENT, _of("model.token_usage")))["params"] for _ in range(2)]
        assert [one["data"]["n"] for one in found] == [2, 3]
        assert found[0]["severity"] == "error"
        told = [(await client.note(EVENT, _of("tool.completed")))["params"] for _ in range(4)]
        assert len({one["subscription_id"] for one in told}) == 1


@pytest.mark.parametrize("door", EVERY)
async def test_every_family_has_events(gateway: Gateway, door: str) -> None:
    """MGP-13.5-1: one of each, provoked."""
    key = made_key(gateway, "olga", "--operator")["key"]
    local = door.startswith("stdio")
    async with listening(gateway, door, "" if local else key) as client:
        for family in ("model", "system", "tool", "security"):
            found = await subscribed(client, f"{family}.*")
            assert found["subscribed"] == [f"{family}.*"]
        await _emit(client, "model.rate_limit")
        assert (await client.note(EVENT, _of("model.rate_limit")))["params"]["data"] == {}
        await client.request("tools/call", {"name": "echo__echo", "arguments": {"message": "m"}, "trace_id": "t"})  # fmt: skip
        for channel in ("tool.started", "tool.completed"):
            told = (await client.note(EVENT, _traced(channel, "t")))["params"]
            assert told["data"]["target"] == {"server_id": "echo", "tool_name": "echo"}
        with pytest.raises(RpcError):
            await client.call("echo__echo", message=17)
        refused = (await client.note(EVENT, _of("tool.blocked")))["params"]
        assert refused["severity"] == "warning"
        if local:
            await _emit(client, "system.disk")
            await client.note(EVENT, _of("system.disk"))
            await _emit(client, "security.scan")
            await client.note(EVENT, _of("security.scan"))
        else:
            made_key(gateway, "fresh")
            await client.note(EVENT, _of("security.key_changed"))
            gateway.cli("server", "restart", "echo", "--key", gateway.operator_token)
            await client.note(EVENT, _of("system.server_changed"))
            await client.note(EVENT, _of("system.server_connected"))


async def test_each_hears_of_its_own_calls_operators_of_all(gateway: Gateway) -> None:
    """MGP-13.5-1: nobody hears what somebody else does."""
    keys = {name: made_key(gateway, name)["key"] for name in ("ann", "bob")}
    olga = made_key(gateway, "olga", "--operator")["key"]
    async with (
        listening(gateway, "http 2025-11-25", keys["ann"]) as ann,
        listening(gateway, "websocket 2025-11-25", keys["bob"]) as bob,
        listening(gateway, "http 2025-11-25", olga) as operator,
        listening(gateway, "http 2025-11-25") as nobody,
        listening(gateway, "http 2025-11-25") as stranger,
    ):
        for one in (ann, bob, operator, nobody, stranger):
            await subscribed(one, "tool.*", "security.*", "system.*")
        for name, one in (("ann", ann), ("bob", bob), ("nobody", nobody)):
            await one.request("tools/call", {"name": "echo__echo", "arguments": {"message": "m"}, "trace_id": f"of {name}"})  # fmt: skip
        for _ in range(3):
            await operator.note(EVENT, _of("tool.completed"))
        for name, one in (("ann", ann), ("bob", bob), ("nobody", nobody)):
            assert {each["data"]["trace_id"] for each in _told(one)} == {f"of {name}"}
        assert not _told(stranger)


def _told(client: Host) -> list[dict[str, Any]]:
    return [one["params"] for one in client.notes if one["method"] == EVENT]


async def test_events_of_a_server_go_to_those_who_may_see_it(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """MGP-13.3-1: a server that a caller may not see has no channels for it, and is not heard."""
    content = configured(grants=[{"agent": "ann", "server": "eventful"}, {"agent": "*", "server": "echo"}])  # fmt: skip
    with running(tmp_path_factory.mktemp("granted"), content) as gateway:
        keys = {name: made_key(gateway, name)["key"] for name in ("ann", "bob")}
        async with (
            listening(gateway, "http 2025-11-25", keys["ann"]) as ann,
            listening(gateway, "http 2025-11-25", keys["bob"]) as bob,
        ):
            assert (await subscribed(bob, "model.*"))["unsupported"] == ["model.*"]
            assert (await subscribed(bob, "system.*"))["subscribed"] == ["system.*"]
            assert (await subscribed(ann, "model.*", "system.*"))["unsupported"] == []
            assert await _emit(ann, "system.disk") == 1
            await ann.note(EVENT, _of("system.disk"))
            gateway.cli("grant", "remove", "ann", "eventful", check=False)
            assert not _told(bob)


async def test_a_server_is_asked_once_and_told_when_nobody_wants_it(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """MGP-13.2-2: clients that want the same share one subscription at the server; the last one ends it."""
    with running(tmp_path_factory.mktemp("shared"), configured()) as gateway:
        assert await _shared(gateway) == ["model.*"]


async def _shared(gateway: Gateway) -> Any:
    """What the first one subscribed to."""
    async with listening(gateway, "http 2025-11-25") as probe:
        await _until(probe, 0)
        async with listening(gateway, "websocket 2025-11-25") as one:
            async with listening(gateway, "websocket 2025-11-25") as other:
                mine = await subscribed(one, "model.*")
                await subscribed(other, "model.*")
                await _until(probe, 1)
            ident = {"subscription_id": mine["subscription_id"]}
            await _until(probe, 1)
            await one.request("mgp/events/unsubscribe", ident)
            await _until(probe, 0)
            await subscribed(one, "model.*")
            await _until(probe, 1)
        await _until(probe, 0)
        return mine["subscribed"]


async def _until(client: Host, count: int) -> None:
    async with asyncio.timeout(5):
        while len(json.loads(await client.text("eventful__open"))) != count:
            await asyncio.sleep(0.02)


async def test_a_server_that_is_started_anew_is_asked_again(gateway: Gateway) -> None:
    """MGP-13.3-1: a subscription outlives the connection to its server."""
    async with listening(gateway, "http 2025-11-25") as client:
        await subscribed(client, "model.*")
        gateway.cli("server", "restart", "eventful", "--key", gateway.operator_token)
        async with asyncio.timeout(10):
            while not await _emit(client, "model.rate_limit"):
                await asyncio.sleep(0.05)
        await client.note(EVENT, _of("model.rate_limit"))


@pytest.mark.parametrize("door", ["http 2025-11-25", "websocket 2025-11-25", "sse 2024-11-05", "http 2026-07-28", "websocket 2026-07-28"])  # fmt: skip
async def test_who_comes_back_is_told_what_was_missed(gateway: Gateway, door: str) -> None:
    """MGP-13.3-1: events are numbered without gaps, and the last 1,000 are kept over a lost connection."""
    ann, bob = (made_key(gateway, name)["key"] for name in ("ann", "bob"))
    async with listening(gateway, door, ann) as client:
        found = await subscribed(client, "model.rate_limit")
        ident = found["subscription_id"]
        async with listening(gateway, "http 2025-11-25", bob) as other:
            await _emit(other, "model.rate_limit", data={"n": 1})
            first = (await client.note(EVENT))["params"]
            assert first["sequence"] == 1
    async with listening(gateway, "http 2025-11-25", bob) as other:
        for number in (2, 3, 4):
            await _emit(other, "model.rate_limit", data={"n": number})
        with pytest.raises(RpcError) as caught:  # it is nobody else's
            await subscribed(other, subscription_id=ident, since=0)
        assert rule_of(caught.value) == "subscription_unknown"
        async with listening(gateway, door, ann) as client:
            back = await subscribed(client, subscription_id=ident, since=2)
            assert (back["subscription_id"], back["sequence"]) == (ident, 4)
            assert (back["replayed"], back["missed"]) == (2, 0)
            await _emit(other, "model.rate_limit", data={"n": 5})
            told = [(await client.note(EVENT))["params"] for _ in range(3)]
            assert [(one["sequence"], one["data"]["n"]) for one in told] == [(3, 3), (4, 4), (5, 5)]


async def test_no_more_than_a_thousand_events_are_kept(gateway: Gateway) -> None:
    """MGP-13.3-1: what is older is counted as missed."""
    ann = made_key(gateway, "ann")["key"]
    async with listening(gateway, "websocket 2025-11-25", ann) as client:
        ident = (await subscribed(client, "tool.completed"))["subscription_id"]
        for _ in range(26):
            await asyncio.gather(*(client.text("echo__echo", message="m") for _ in range(40)))
    async with listening(gateway, "websocket 2025-11-25", ann) as client:
        back = await subscribed(client, subscription_id=ident, since=10)
        assert back["sequence"] == 1040
        assert (back["replayed"], back["missed"]) == (1000, 30)
        told = [(await client.note(EVENT))["params"]["sequence"] for _ in range(1000)]
        assert told == list(range(41, 1041))


@pytest.mark.parametrize("door", EVERY)
async def test_who_did_not_negotiate_it_has_no_events(gateway: Gateway, door: str) -> None:
    """MGP-13.2-1: the extension is what offers the methods."""
    async with host(gateway, door, can={"mgp": {"version": "0.2.0", "extensions": ["audit"]}}) as client:  # fmt: skip
        with pytest.raises(RpcError) as caught:
            await client.request("mgp/events/subscribe", {"channels": ["tool.*"]})
        assert caught.value.code == -32601
        if client.modern:
            assert await subscribed(client, "tool.*") == {}


@pytest.mark.parametrize("door", MODERN)
async def test_without_a_session_the_answer_names_the_other_way(
    gateway: Gateway, door: str
) -> None:
    """MGP-13.2-1: modern clients have no channel for what they did not ask for."""
    async with listening(gateway, door) as client:
        with pytest.raises(RpcError) as caught:
            await client.request("mgp/events/subscribe", {"channels": ["tool.*"]})
        assert WANTED in caught.value.message


async def test_what_cannot_be_asked_for_is_refused_by_name(gateway: Gateway) -> None:
    """MGP-13.2-1: bounded, in number and in length."""
    async with listening(gateway, "http 2025-11-25") as client:
        wrong: tuple[dict[str, Any], ...] = (
            {},
            {"channels": []},
            {"channels": ["tool.*"] * 65},
            {"channels": ["x" * 129]},
            {"channels": "tool.*"},
            {"channels": ["tool.*"], "filter": {"min_severity": "loud"}},
            {"channels": ["tool.*"], "since": 1},
            {"subscription_id": "sub-none", "since": -1},
        )
        for params in wrong:
            with pytest.raises(RpcError) as caught:
                await client.request("mgp/events/subscribe", params)
            assert caught.value.code == -32602, params
        for _ in range(16):
            await subscribed(client, "tool.*")
        with pytest.raises(RpcError) as caught:
            await subscribed(client, "tool.*")
        assert caught.value.code == 3001


async def test_secrets_in_events_of_servers_are_taken_out(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """MGP-13.3-1: events are redacted as all notifications are; what comes under an id that is nobody's is dropped."""
    secret = "ghp_" + "x7Kq2Wm9Zt" * 3 + "Ab12Cd"
    content = configured(redaction={"level": "secrets"})
    with running(tmp_path_factory.mktemp("redacted"), content) as gateway:
        async with listening(gateway, "http 2025-11-25") as client:
            await subscribed(client, "model.*")
            await _emit(client, "model.rate_limit", **{"as": "made-up", "data": {"n": 1}})
            await client.call("eventful__emit", channel="model.rate_limit", data={"key": secret})
            told = (await client.note(EVENT))["params"]
            assert "key" in told["data"]
            assert secret not in json.dumps(told)


async def test_a_key_that_is_revoked_hears_nothing_more(gateway: Gateway) -> None:
    """MGP-13.3-1: whoever is nobody any more."""
    gone, bob = made_key(gateway, "gone"), made_key(gateway, "bob")["key"]
    async with (
        listening(gateway, "websocket 2025-11-25", gone["key"]) as client,
        host(gateway, headers=bearer(bob)) as other,
    ):
        ident = (await subscribed(client, "model.*"))["subscription_id"]
        await _emit(other, "model.rate_limit")
        assert (await client.note(EVENT))["params"]["subscription_id"] == ident
        gateway.cli("key", "revoke", gone["id"], "--key", gateway.operator_token)
        await asyncio.wait_for(client.gone.wait(), 5)
        await _emit(other, "model.rate_limit")
        assert not _told(client)
