"""What a client wants to hear of on servers with sessions: the last request holds, and a new connection is told of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gatewright.sdk import Server
from gatewright.sdk.client import Client, Options
from gatewright.sdk.errors import SdkError
from gatewright.transport.base import Pipe, Receiver
from tests.sdk.client.scripted import SECONDS, Scripted, broken, within

SUBSCRIBE, UNSUBSCRIBE, LEVEL = "resources/subscribe", "resources/unsubscribe", "logging/setLevel"


def told(server: Scripted) -> list[tuple[str, str]]:
    """The requests of that kind that a server heard, in their order."""
    found = []
    for one in server.seen:
        if one.get("method") in {SUBSCRIBE, UNSUBSCRIBE, LEVEL}:
            (value,) = (one["params"][name] for name in ("uri", "level") if name in one["params"])
            found.append((one["method"].partition("/")[2], value))
    return found


def willing(**on: Any) -> Scripted:
    """A server that takes all of them."""
    taken: dict[str, Any] = {"resources_subscribe": {}, "resources_unsubscribe": {}}
    return Scripted(**{**taken, "logging_setLevel": {}, "ping": {}, **on})


async def lose(server: Scripted, client: Client) -> None:
    """Have the server go away, and the client notice that."""
    link = client._connection.current
    assert link is not None
    assert server.pipe is not None
    server.pipe.close()
    await within(link.wait_closed())


async def test_a_second_watch_takes_the_place_of_the_first() -> None:
    server = willing()
    async with Client(server) as client:
        await within(client.watch("a:1", "a:2"))
        await within(client.watch("a:2", "a:3"))
        await within(client.watch())
    assert told(server) == [
        ("subscribe", "a:1"),
        ("subscribe", "a:2"),
        ("subscribe", "a:2"),
        ("subscribe", "a:3"),
        ("unsubscribe", "a:1"),
        ("unsubscribe", "a:2"),
        ("unsubscribe", "a:3"),
    ]


async def test_a_watch_that_is_refused_leaves_the_one_before() -> None:
    def refuse(params: dict[str, Any]) -> dict[str, Any]:
        if params["uri"] == "a:no":
            raise broken(-32602, "no such resource")
        return {}

    server = willing(resources_subscribe=refuse)
    async with Client(server) as client:
        await within(client.watch("a:1"))
        with pytest.raises(SdkError, match="no such resource"):
            await within(client.watch("a:no"))
        assert told(server) == [("subscribe", "a:1"), ("subscribe", "a:no")]


async def test_what_cannot_be_unsubscribed_is_told_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def refuse(_: dict[str, Any]) -> None:
        raise broken(-32601, "no such method")

    async with Client(willing(resources_unsubscribe=refuse)) as client:
        await within(client.watch("a:1"))
        await within(client.watch("a:2"))
    assert "may go on to tell of a:1" in caplog.text


async def test_a_new_connection_is_told_what_is_wanted_now() -> None:
    server = willing()
    async with Client(server) as client:
        await within(client.set_log_level("error"))
        await within(client.watch("a:1"))
        await within(client.watch("a:2", "a:3"))
        await lose(server, client)
        server.seen.clear()
        await within(client.ping())
        await server.until(lambda: len(told(server)) == 3)
        assert told(server) == [
            ("setLevel", "error"),
            ("subscribe", "a:2"),
            ("subscribe", "a:3"),
        ]
    assert server.hellos == 2


async def test_a_new_connection_that_refuses_is_told_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = willing()
    async with Client(server) as client:
        await within(client.watch("a:1", "a:2"))
        await lose(server, client)
        server.seen.clear()
        server.on[SUBSCRIBE] = lambda _: _refuse()
        await within(client.ping())
        await server.until(lambda: len(told(server)) == 2)
    assert "a:1" in caplog.text


def _refuse() -> None:
    raise broken(-32602, "no such resource")


async def test_a_server_that_ends_with_each_subscription_is_connected_to_once_for_each_call() -> (
    None
):
    server = willing()
    async with Client(server) as client:
        await within(client.watch("a:1", "a:2"))
        await lose(server, client)

        def end(_: dict[str, Any]) -> None:
            if server.pipe is not None:
                server.pipe.close()

        server.on[SUBSCRIBE] = end
        await within(client.connect())
        link = client._connection.current
        assert link is not None
        await within(link.wait_closed())
        for _ in range(20):
            await asyncio.sleep(0)
        assert server.hellos == 2


class Restarted:
    """A modern server in this process, whose connection can be ended."""

    def __init__(self) -> None:
        self.server = Server("house")
        self.server.tool(_nothing)
        self.pipes: list[Pipe] = []

    def attach(self, receiver: Receiver) -> Pipe:
        """A new connection."""
        self.pipes.append(self.server.attach(receiver))
        return self.pipes[-1]


def _nothing() -> None:
    """Do nothing."""


async def test_a_modern_server_is_asked_again_too() -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()
    options = Options(era="modern", on_event=lambda method, _: heard.put_nowait(method))
    house = Restarted()
    async with Client(house, options) as client:
        await within(client.watch())
        link = client._connection.current
        assert link is not None
        house.pipes[0].close()
        await within(link.wait_closed())
        await within(client.list_tools())
        assert client._watching is not None
        assert not client._watching.done()
        async with asyncio.timeout(SECONDS):
            while heard.empty():  # it may be agreed to after the list was read
                house.server.registry.unregister("_nothing")
                house.server.tool(_nothing)
                await asyncio.sleep(0.01)
        assert heard.get_nowait() == "notifications/tools/list_changed"
