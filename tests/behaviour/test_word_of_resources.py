"""Who hears that a resource changed: who subscribed to it, of the server that granted it, as long as it may be read."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import Any

import pytest

from gatewright.identity.keys import KeyStore
from tests.behaviour.gateway import DEADLINE, Gateway, config, running, server
from tests.behaviour.hosts import Host, host
from tests.behaviour.test_whole import cancel
from tests.storage.parts import state_in
from tests.tool_servers.linking import SLOW

pytestmark = pytest.mark.timeout(180)

UPDATED = "notifications/resources/updated"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
A, B, SHARED = "memo://a/1", "memo://b/1", "memo://both/1"
WIDE, NARROW = ["memo://a/**", "memo://b/**"], ["memo://a/**"]
DOORS = ("http 2025-11-25", "websocket 2025-11-25", "http 2026-07-28")


def key(gateway: Gateway) -> dict[str, str]:
    """What ann shows."""
    keys = KeyStore(state_in(gateway.folder / "state"), clock=time.time, random=os.urandom)
    return {"authorization": f"Bearer {keys.create('ann', by='test')[1]}"}


async def follow(client: Host, *uris: str) -> None:
    """Subscribe to resources, as the revision has it."""
    if client.modern:
        lists = {"toolsListChanged": True, "resourcesListChanged": True}
        wanted = {"resourceSubscriptions": list(uris), **lists}
        await client.start("subscriptions/listen", {"notifications": wanted})
        await client.note(ACKNOWLEDGED)
    else:
        for uri in uris:
            await client.request("resources/subscribe", {"uri": uri})


async def heard(client: Host, other: Host, ident: str, *uris: str) -> list[Any]:
    """What a client hears while resources of a server change, until it hears that the tools did."""
    tools = "notifications/tools/list_changed"
    client.notes = [one for one in client.notes if one["method"] != tools]
    await other.call(f"{ident}__touch", uris=list(uris))
    await client.note(tools)
    found = [one["params"]["uri"] for one in client.notes if one["method"] == UPDATED]
    client.notes = [one for one in client.notes if one["method"] != UPDATED]
    return found


@pytest.mark.parametrize("door", DOORS)
async def test_who_is_narrowed_by_a_reload_hears_only_of_what_it_may_read(
    tmp_path: Path, door: str
) -> None:
    def said(resources: list[str]) -> dict[str, Any]:
        servers = server("linking", "one", "one", A, B)
        return config(servers, agents={"ann": {"allowed_resources": resources}})

    with running(tmp_path, said(WIDE)) as gateway:
        async with host(gateway, door, headers=key(gateway)) as ann, host(gateway) as other:
            await follow(ann, A, B)
            assert await heard(ann, other, "one", A, B) == [A, B]
            gateway.reload(said(NARROW))
            await ann.note("notifications/resources/list_changed")
            assert await heard(ann, other, "one", A, B) == [A]
            gateway.reload(said(WIDE))
            assert await heard(ann, other, "one", B) == [B]


@pytest.mark.parametrize("door", DOORS)
async def test_a_second_server_neither_silences_nor_speaks_for_the_one_that_granted(
    tmp_path: Path, door: str
) -> None:
    """It comes and lists the same; then it alone has it."""

    def said(*idents: str, listing: str = "one") -> dict[str, Any]:
        listed = {one: [SHARED] if listing in (one, "both") else [A] for one in idents}
        return config(*(server("linking", one, one, *listed[one]) for one in idents))

    with running(tmp_path, said("one")) as gateway:
        async with host(gateway, door) as client, host(gateway) as other:
            await follow(client, SHARED)
            gateway.reload(said("one", "two", listing="both"))
            assert await heard(client, other, "two", SHARED) == []
            assert await heard(client, other, "one", SHARED) == [SHARED]
            gateway.reload(said("one", "two", listing="two"))
            assert await heard(client, other, "two", SHARED) == []
            if not client.modern:
                await client.request("resources/unsubscribe", {"uri": SHARED})
                assert f"resources/unsubscribe {SHARED}" in await other.text("one__heard")
                await follow(client, SHARED)
                assert await heard(client, other, "two", SHARED) == [SHARED]
                assert await heard(client, other, "one", SHARED) == []


async def until_heard(other: Host, words: str) -> None:
    """Wait until the server has heard something."""
    async with asyncio.timeout(DEADLINE):
        while words not in await other.text("one__heard"):
            pass


@pytest.mark.parametrize("door", DOORS)
async def test_what_nobody_waits_for_any_more_is_taken_back(tmp_path: Path, door: str) -> None:
    """A client gives up on a server that takes its time; so does a listening that is acknowledged without it."""
    with running(tmp_path, config(server("linking", "one", "one"))) as gateway:
        async with host(gateway, door) as client, host(gateway) as other:
            if client.modern:
                await follow(client, SLOW)
            else:
                ident = await client.start("resources/subscribe", {"uri": SLOW})
                await until_heard(other, f"resources/subscribe {SLOW}")
                await cancel(client, ident)
            await until_heard(other, f"resources/unsubscribe {SLOW}")


async def test_a_name_that_leads_elsewhere_when_it_is_subscribed_to_again_leads_there_alone(
    tmp_path: Path,
) -> None:
    def said(ident: str, *others: str) -> dict[str, Any]:
        return config(
            server("linking", ident, ident, SHARED),
            *(server("linking", one, one, A) for one in others),
        )

    with running(tmp_path, said("one", "two")) as gateway:
        async with host(gateway) as client, host(gateway) as other:
            await follow(client, SHARED)
            gateway.reload(said("two", "one"))
            await follow(client, SHARED)
            assert f"resources/unsubscribe {SHARED}" in await other.text("one__heard")
            assert await heard(client, other, "one", SHARED) == []
            assert await heard(client, other, "two", SHARED) == [SHARED]
