"""Subscriptions of several participants at one server, given up, refused and asked for at once: somebody can always end them."""

from __future__ import annotations

from typing import Any

from gatewright.mcp.wire import jsonrpc
from tests.rooms.participants.test_bridge_doors import put
from tests.rooms.participants.test_bridge_whose import Scene, rest

URI = "resource://far"


class _Room:
    def __init__(self) -> None:
        self.scene = Scene()

    async def ask(self, who: str, what: str, id: int) -> Any:
        """The id at the server; that of the last message where it is not asked."""
        method = f"resources/{what}"
        params = {"uri": URI}
        put(self.scene.bus, who, "worker", jsonrpc.encode, id=id, method=method, params=params)
        await rest()
        return self.scene.server.said[-1].get("id")

    async def answer(self, id: Any, **said: Any) -> None:
        self.scene.server.tell({"id": id, **(said or {"result": {}})})
        await rest()

    async def cancel(self, who: str, id: int) -> None:
        method, params = "notifications/cancelled", {"requestId": id}
        put(self.scene.bus, who, "worker", jsonrpc.encode, method=method, params=params)
        await rest()

    @property
    def told(self) -> list[str]:
        """What the server was told of subscriptions, in order."""
        said = [one.get("method", "") for one in self.scene.server.said]
        return [one.removeprefix("resources/") for one in said if one.startswith("resources/")]


async def test_who_gives_up_the_last_subscription_that_is_asked_for_ends_it() -> None:
    room = _Room()
    await room.answer(await room.ask("ana", "subscribe", 1))
    await room.ask("bob", "subscribe", 2)
    await room.ask("ana", "unsubscribe", 3)
    assert room.told == ["subscribe", "subscribe"]  # bob may have it yet
    await room.cancel("bob", 2)
    assert room.told == ["subscribe", "subscribe", "unsubscribe"]


async def test_a_subscription_that_is_given_up_is_ended_since_the_server_may_have_begun_it() -> (
    None
):
    room = _Room()
    await room.ask("ana", "subscribe", 1)
    await room.cancel("ana", 1)
    assert room.told == ["subscribe", "unsubscribe"]


async def test_who_asks_twice_and_gives_up_once_has_the_other() -> None:
    room = _Room()
    await room.ask("ana", "subscribe", 1)
    second = await room.ask("ana", "subscribe", 2)
    await room.cancel("ana", 1)
    await room.answer(second)
    assert room.told == ["subscribe", "subscribe"]
    await room.scene.leave("ana")
    assert room.told[2:] == ["unsubscribe"]


async def test_who_was_refused_the_end_of_a_subscription_may_ask_again() -> None:
    room = _Room()
    await room.answer(await room.ask("ana", "subscribe", 1))
    no = {"code": 1, "message": "later"}
    await room.answer(await room.ask("ana", "unsubscribe", 2), error=no)
    await room.ask("ana", "unsubscribe", 3)
    assert room.told == ["subscribe", "unsubscribe", "unsubscribe"]
