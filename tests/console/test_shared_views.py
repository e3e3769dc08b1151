"""Parts that are made once for several: of one key and while nothing changes, and nobody waits for what another key takes."""

from __future__ import annotations

import asyncio

import pytest

from gatewright.console.changes import Changes
from gatewright.console.shared_views import _MOST, SharedViews


class World:
    now = 100.0

    def __init__(self) -> None:
        self.changes = Changes(lambda: 1.0)
        self.parts = SharedViews(self.changes, lambda: self.now)
        self.made: list[str] = []

    async def get(self, key: str, topic: str = "live") -> bytes:
        async def make() -> bytes:
            self.made.append(key)
            await asyncio.sleep(0)
            return f"{key} {len(self.made)}".encode()

        return await self.parts.get(key, topic, make)


@pytest.fixture
def world() -> World:
    return World()


async def test_those_who_ask_at_once_or_soon_after_get_what_was_made_for_the_first(
    world: World,
) -> None:
    found = await asyncio.gather(*(world.get(key) for key in "aabab"))
    assert (found[0], found[2], sorted(world.made)) == (found[1], found[4], ["a", "b"])
    assert await world.get("a") == found[0]
    assert not vars(world.parts)["_making"]


async def test_what_is_old_or_has_changed_is_made_anew(world: World) -> None:
    await world.get("a")
    world.changes.tell("inbox")
    await world.get("a")
    assert world.made == ["a"]
    world.changes.tell("live")
    await world.get("a")
    world.now += 1.0
    await world.get("a")
    assert world.made == ["a"] * 3


async def test_what_could_not_be_made_is_made_by_the_next(world: World) -> None:
    async def broken() -> bytes:
        raise OSError("the disk")

    with pytest.raises(OSError, match="the disk"):
        await world.parts.get("a", "live", broken)
    assert await world.get("a") == b"a 1"


async def test_nobody_waits_for_another_part(world: World) -> None:
    held = asyncio.Event()

    async def slow() -> bytes:
        await held.wait()
        return b"slow"

    waiting = asyncio.create_task(world.parts.get("a", "live", slow))
    await asyncio.sleep(0)
    async with asyncio.timeout(5):
        assert await world.get("b") == b"b 1"
    held.set()
    assert await waiting == b"slow"


async def test_no_more_than_some_are_kept(world: World) -> None:
    for number in range(_MOST + 20):
        await world.get(str(number))
    assert len(vars(world.parts)["_made"]) == _MOST
