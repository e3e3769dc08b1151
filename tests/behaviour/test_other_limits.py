"""What one key of a caller was given is not heard, answered, cancelled, listed or read by another key of it with other limits."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest

from tests.behaviour.event_house import OFFER, bearer, listening, made_key, rule_of, subscribed
from tests.behaviour.gateway import Gateway, config, running, server
from tests.behaviour.hosts import Host, RpcError, host
from tests.behaviour.test_approvals import queue_of, waiting
from tests.behaviour.test_streaming import CHUNK, PROGRESS, name_of, of, start
from tests.behaviour.test_task_owners import STATUS, refused
from tests.behaviour.test_tasks import begun, task

EVENT = "notifications/mgp.event"
CALLBACK = "notifications/mgp.callback.request"
SHARED, MODERN = "http 2025-11-25", "http 2026-07-28"
STREAMS = {"mgp": {"version": "0.2.0", "extensions": ["streaming"]}}


class Keys(NamedTuple):
    """Of one caller: a key, one with less, and one as good as the first."""

    own: dict[str, str]
    less: dict[str, str]
    equal: dict[str, str]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    content = config(
        server("eventful", mgp={"extensions": ["security", "bidirectional"]}),
        server("streaming", "far", mgp={"extensions": ["streaming"]}),
        server("echo", tools={"echo": {"risk_level": "dangerous"}}),
        server("worker"),
        gateway={"anonymous": "deny"},
        approvals={"approver": "operator", "hold_s": 600},
    )
    with running(tmp_path_factory.mktemp("limits"), content) as found:
        yield found


@pytest.fixture(scope="module")
def keys(gateway: Gateway) -> Keys:
    limits = (), ("--trust", "community"), ()
    return Keys(*(bearer(made_key(gateway, "ann", *more)["key"]) for more in limits))


@contextmanager
def showing(client: Host, key: dict[str, str]) -> Iterator[None]:
    """The same session, with another key."""
    before, client.headers = client.headers, key
    try:
        yield
    finally:
        client.headers = before


async def test_a_stream_is_cancelled_and_its_text_given_to_equal_limits_alone(
    gateway: Gateway, keys: Keys
) -> None:
    async with host(gateway, SHARED, can=STREAMS, headers=keys.own) as client:
        ident = await start(client, "far__think", text="a b c d e f g h " * 50, pause=0.1)
        await client.note(CHUNK, of(ident))
        with showing(client, keys.less):
            said = await client.request("mgp/stream/cancel", {"request_id": ident})
        assert said == {"cancelled": False, "reason": "not_active"}
        with showing(client, keys.equal):
            said = await client.request("mgp/stream/cancel", {"request_id": ident})
        assert said["cancelled"] is True
        with pytest.raises(RpcError):
            await client.finish(ident)


async def test_the_handle_of_a_stream_is_of_no_key_with_other_limits(
    gateway: Gateway, keys: Keys
) -> None:
    async with (
        host(gateway, MODERN, can=STREAMS, headers=keys.own) as client,
        host(gateway, MODERN, can=STREAMS, headers=keys.less) as other,
    ):
        ident = await start(client, "far__think", text="a b c d e f g h " * 50, pause=0.1)
        name = await name_of(client, ident)
        said = await other.request("mgp/stream/cancel", {"request_id": name})
        assert said["cancelled"] is False
        assert (await client.request("mgp/stream/cancel", {"request_id": name}))["cancelled"]
        assert PROGRESS not in {one["method"] for one in other.notes}
        with pytest.raises(RpcError):
            await client.finish(ident)


async def test_a_callback_is_answered_with_equal_limits_alone(gateway: Gateway, keys: Keys) -> None:
    async with (
        host(gateway, MODERN, can=OFFER, headers=keys.own) as client,
        host(gateway, MODERN, can=OFFER, headers=keys.less) as other,
    ):
        await subscribed(other, "security.callback")
        asking = {"name": "eventful__delete", "arguments": {}}
        ident = await client.start("tools/call", asking)
        asked = (await client.note(CALLBACK))["params"]
        heard = await other.note(EVENT)
        assert asked["callback_id"] not in json.dumps(heard)
        answer = {"callback_id": asked["callback_id"], "response": "confirm"}
        with pytest.raises(RpcError) as caught:
            await other.request("mgp/callback/respond", answer)
        assert rule_of(caught.value) == "callback_unknown"
        assert (await client.request("mgp/callback/respond", answer))["accepted"] is True
        assert (await client.finish(ident))["content"][0]["text"] == "deleted"


async def test_a_callback_is_answered_with_equal_limits_alone_in_one_session_too(
    gateway: Gateway, keys: Keys
) -> None:
    async with host(gateway, SHARED, can=OFFER, headers=keys.less) as client:
        # The one with less opened the session: hooks saw every call of it as made with that one.
        with showing(client, keys.own):
            ident = await client.start("tools/call", {"name": "eventful__delete", "arguments": {}})
            asked = (await client.note(CALLBACK))["params"]
        answer = {"callback_id": asked["callback_id"], "response": "confirm"}
        with pytest.raises(RpcError) as caught:
            await client.request("mgp/callback/respond", answer)
        assert rule_of(caught.value) == "callback_unknown"
        with showing(client, keys.equal):
            assert (await client.request("mgp/callback/respond", answer))["accepted"] is True
        assert (await client.finish(ident))["content"][0]["text"] == "deleted"


async def test_a_subscription_is_ended_and_taken_up_with_equal_limits_alone(
    gateway: Gateway, keys: Keys
) -> None:
    async with host(gateway, SHARED, can=OFFER, headers=keys.own) as client:
        made = (await subscribed(client, "tool.*"))["subscription_id"]
        async with listening(gateway, SHARED, keys.less["authorization"][7:]) as other:
            for one in (client, other):
                with showing(one, keys.less):
                    for method in ("subscribe", "unsubscribe"):
                        with pytest.raises(RpcError) as caught:
                            await one.request(f"mgp/events/{method}", {"subscription_id": made})
                        assert rule_of(caught.value) == "subscription_unknown"
        with showing(client, keys.equal):
            ended = await client.request("mgp/events/unsubscribe", {"subscription_id": made})
        assert ended["unsubscribed"] is True


async def test_a_task_of_the_gateway_is_listed_read_and_cancelled_with_equal_limits_alone(
    gateway: Gateway, keys: Keys
) -> None:
    async with (
        host(gateway, SHARED, headers=keys.own) as client,
        host(gateway, SHARED, headers=keys.less) as other,
    ):
        made = (await begun(client, "secret"))["taskId"]
        with queue_of(gateway, client) as queue:
            one = await waiting(queue)
            none = await refused(other, "gwtask_" + "0" * 32)
            assert await refused(other, made) == none
            assert (await other.request("tasks/list"))["tasks"] == []
            queue.approve(one.id, by="olga")
        result = await asyncio.wait_for(task(client, "result", made), 30)
        assert result["content"][0]["text"] == "secret"
        assert await refused(other, made) == none
        assert (await other.request("tasks/list"))["tasks"] == []
        with showing(client, keys.equal):
            assert [one["taskId"] for one in (await client.request("tasks/list"))["tasks"]] == [
                made
            ]
        assert [one for one in other.frames if b"secret" in one] == []


async def test_a_task_of_a_server_is_listed_read_cancelled_and_heard_of_with_equal_limits_alone(
    gateway: Gateway, keys: Keys
) -> None:
    async with (
        host(gateway, SHARED, headers=keys.own) as client,
        host(gateway, SHARED, headers=keys.less) as other,
    ):
        asked = {"name": "worker__work", "arguments": {}, "task": {"ttl": 600_000}}
        made = (await client.request("tools/call", asked))["task"]["taskId"]
        assert await refused(other, made) == await refused(other, "task_" + "0" * 32)
        assert await listed(other) == []
        assert (await task(client, "get", made))["taskId"] == made
        assert (await client.note(STATUS))["params"]["taskId"] == made
        with showing(client, keys.equal):
            assert await listed(client) == [made]
        with showing(client, keys.less):
            assert await listed(client) == []
        await other.request("ping")
        assert [one for one in other.frames if made.encode() in one] == []


async def listed(client: Host) -> list[Any]:
    """The tasks of servers; those of the gateway itself are of another test."""
    found = (await client.request("tasks/list"))["tasks"]
    return [one["taskId"] for one in found if one["taskId"].startswith("task_")]
