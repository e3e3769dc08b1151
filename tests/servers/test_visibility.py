"""Who listens is told when what it may see has changed, and nobody else is."""

from __future__ import annotations

from typing import Any

import pytest

from gatewright.call import Caller, Tool
from gatewright.mcp.protocol.mcp_client import Hello
from gatewright.mcp.wire import jsonrpc
from gatewright.servers.catalogue import Catalogue, Sight
from gatewright.servers.listener import Listener
from gatewright.servers.listing import Listing
from gatewright.servers.notifications import ServerNotifications
from gatewright.servers.spec import ServerSpec
from gatewright.servers.visibility import Visibility
from gatewright.transport.large_text import LARGE

ANN, BOB = Caller("ann"), Caller("bob")
TOOLS = "notifications/tools/list_changed"


class Eyes:
    """Who may see which tool."""

    def __init__(self) -> None:
        self.allowed: set[tuple[str, str]] = set()
        self.version = 1

    def set(self, *allowed: tuple[str, str]) -> None:
        self.allowed = set(allowed)
        self.version += 1

    def tool(self, caller: Caller, tool: Tool) -> bool:
        return (caller.id, tool.target.name) in self.allowed


class World:
    """A catalogue of one server with two tools, and who was told what."""

    def __init__(self) -> None:
        self.eyes = Eyes()
        sight = Sight(self.eyes.tool, lambda *_: True, lambda: self.eyes.version)
        self.catalogue = Catalogue([ServerSpec(id="s")], sight=sight)
        self.offer("a", "b")
        self.hub = ServerNotifications(lambda *_: True)
        self.sightings = Visibility(self.hub, lambda: self.catalogue)
        self.told: list[tuple[str, str]] = []

    def offer(self, *names: str) -> None:
        tools = [jsonrpc.decode_members(jsonrpc.encode({"name": name})) for name in names]
        self.catalogue.put("s", Listing(Hello("2025-11-25"), {"tools": tools}))

    def watch(self, caller: Caller) -> Any:
        def take(server: str, method: str, params: dict[str, Any]) -> None:
            self.told.append((caller.id, method))

        return self.hub.watch(Listener(caller, "", None, take))

    async def look(self) -> list[tuple[str, str]]:
        self.told = []
        await self.sightings.look()
        return self.told


@pytest.fixture
def world() -> World:
    return World()


async def test_who_may_see_something_else_is_told_and_nobody_else(world: World) -> None:
    world.watch(ANN)
    world.watch(BOB)
    assert await world.look() == []
    world.eyes.set(("ann", "a"))
    assert await world.look() == [("ann", TOOLS)]
    assert await world.look() == []
    world.eyes.set(("ann", "b"), ("bob", "b"))
    assert sorted(await world.look()) == [("ann", TOOLS), ("bob", TOOLS)]


async def test_a_change_that_shows_nobody_anything_else_is_told_to_nobody(world: World) -> None:
    world.watch(ANN)
    await world.look()
    world.eyes.set(("eve", "a"))
    assert await world.look() == []


async def test_what_servers_change_is_told_by_others(world: World) -> None:
    world.eyes.set(("ann", "a"))
    world.watch(ANN)
    await world.look()
    world.offer("b")
    assert await world.look() == []
    world.eyes.set(("ann", "b"))
    assert await world.look() == [("ann", TOOLS)]


async def test_who_came_just_before_the_change_is_told_of_everything(world: World) -> None:
    world.watch(BOB)
    await world.look()
    world.watch(ANN)
    world.eyes.set(("bob", "a"))
    told = await world.look()
    assert ("ann", TOOLS) in told
    assert ("bob", TOOLS) in told


async def test_who_has_left_is_forgotten(world: World) -> None:
    leave = world.watch(ANN)
    await world.look()
    leave()
    await world.look()
    assert world.sightings._shown == {}
    world.watch(ANN)
    world.eyes.set(("ann", "a"))
    assert ("ann", TOOLS) in await world.look()


async def test_a_change_in_the_middle_of_a_look_is_left_to_the_next_one(world: World) -> None:
    """Who was not reached yet is told in the next one, and only of what has changed for them."""
    for caller in (ANN, BOB, Caller("eve")):
        leave = world.watch(caller)
    world.watch(Caller("fay"))
    await world.look()
    original = world.eyes.tool

    def once(caller: Caller, tool: Tool) -> bool:
        if caller == ANN and world.eyes.version == 2:
            world.eyes.set(("bob", "a"))
        return original(caller, tool)

    world.eyes.tool = once  # type: ignore[method-assign]
    world.catalogue.sight = Sight(once, lambda *_: True, lambda: world.eyes.version)
    world.eyes.set()
    leave()
    assert await world.look() == []
    assert sorted(who.id for who, _ in world.sightings._shown) == ["ann", "bob", "fay"]
    assert await world.look() == [("bob", TOOLS)]


async def test_what_each_listener_was_shown_takes_no_room_of_its_length(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where the digest is made beside the loop."""
    world = World()
    world.eyes.set(("ann", "a"), ("bob", "a"), ("bob", "b"))
    for caller in (ANN, BOB):
        world.watch(caller)
    for most in (LARGE, 0):
        monkeypatch.setattr("gatewright.servers.visibility.LARGE", most)
        world.sightings = Visibility(world.hub, lambda: world.catalogue)
        await world.look()
        shown = [*world.sightings._shown.values()]
        assert len(shown) == 2
        assert shown[0] != shown[1]
        assert {len(text) for one in shown for text in one.values()} == {32}
