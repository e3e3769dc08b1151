"""A server that asks for roots as soon as it is connected has those of the session whose calls it gets, and nobody else's."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.behaviour.gateway import Gateway, config, running, server
from tests.behaviour.hosts import Answerer, host

pytestmark = pytest.mark.timeout(180)

CAN = {"roots": {"listChanged": True}}
SESSIONS = ("http 2025-03-26", "http 2025-11-25", "websocket 2025-11-25", "sse 2024-11-05")
"""Every way to have a session in which a server can be answered outside a call; over stdio in `test_roots_that_change`."""


@pytest.fixture(scope="module")
def rooted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    servers = (
        server("rooted"),
        server("rooted", "slow", "0.2"),
        server("rooted", "each", share="session"),
    )
    with running(tmp_path_factory.mktemp("rooted"), config(*servers)) as gateway:
        asyncio.run(_known(gateway))
        yield gateway


async def _known(gateway: Gateway) -> None:
    """Wait until each has asked on the connection that all share: a call before that waits for no roots of a server of which nobody knows
    that it wants any."""
    async with asyncio.timeout(20), host(gateway, SESSIONS[0]) as plain:
        for ident in ("rooted", "slow"):
            while not json.loads(await plain.text(f"{ident}__allowed"))["asked"]:
                await asyncio.sleep(0.02)


def having(name: str) -> Answerer:
    def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
        return {"roots": [{"uri": f"file:///{name}"}]} if method == "roots/list" else None

    return answer


@pytest.mark.parametrize("door", SESSIONS)
@pytest.mark.parametrize("ident", ["rooted", "slow", "each"])
async def test_the_first_call_of_a_session_finds_its_roots_there(
    rooted: Gateway, door: str, ident: str
) -> None:
    async with (
        host(rooted, door, can=CAN, answer=having("ann")) as ann,
        host(rooted, door, can=CAN, answer=having("bob")) as bob,
        host(rooted, door) as plain,
    ):
        for _ in range(2):
            for client, roots in ((ann, ["file:///ann"]), (bob, ["file:///bob"]), (plain, [])):
                said = json.loads(await client.text(f"{ident}__allowed"))
                assert said["roots"] == roots


@pytest.mark.parametrize(
    ("door", "ident"),
    [
        *((door, ident) for door in SESSIONS for ident in ("rooted", "slow", "each")),
        ("stdio 2025-11-25", "rooted"),
        ("stdio 2025-11-25", "each"),
    ],
)
async def test_roots_that_change_are_asked_for_again(
    rooted: Gateway, door: str, ident: str
) -> None:
    """A server that asks outside any call hears it with the next call, whose caller says which roots there are now."""
    name = ["one"]

    def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
        return {"roots": [{"uri": f"file:///{name[0]}"}]}

    async with host(rooted, door, can=CAN, answer=answer) as client:
        for count, now in enumerate(("one", "two", "three"), 1):
            name[0] = now
            if count > 1:
                await client.say({"method": "notifications/roots/list_changed"})
            said: dict[str, Any] = {}
            async with asyncio.timeout(20):
                while said.get("asked") != count:
                    said = json.loads(await client.text(f"{ident}__allowed"))
            assert said == {"roots": [f"file:///{now}"], "asked": count}
