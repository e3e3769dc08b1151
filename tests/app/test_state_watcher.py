"""Keys that change while a gateway runs: applied and recorded; and the look at everything that other processes change."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from gatewright.app import state_watcher
from gatewright.app.state_watcher import OTHERS_S, StateWatcher
from gatewright.audit.events import Events
from gatewright.audit.trail import AuditLog
from gatewright.call import Unrecorded
from gatewright.identity.keys import KeyStore
from gatewright.storage.errors import StoreError
from tests.storage.parts import state_in


class World:
    """The keys of a gateway, and how often calls were judged again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        state = state_in(folder)
        self.audit = AuditLog(folder, clock=time.time, monotonic=time.monotonic, random=os.urandom)
        self.callers = KeyStore(state, clock=time.time, random=os.urandom)
        self.judged = 0
        self.office = StateWatcher(state, self.callers, Events(self.audit), self.end_refused)
        self.office.look()

    def end_refused(self) -> None:
        self.judged += 1

    def other(self) -> KeyStore:
        """The store as another process opens it."""
        return KeyStore(state_in(self.folder), clock=time.time, random=os.urandom)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    found = World(tmp_path)
    yield found
    found.callers.close()
    await found.audit.close()


async def test_running_calls_are_judged_again_when_keys_changed_and_only_then(
    world: World,
) -> None:
    world.judged = 0
    world.office.look()
    assert world.judged == 0
    key, _ = world.callers.create("ann", by="root")
    world.office.look()
    world.other().revoke(key.id, by="root")
    world.office.look()
    world.office.look()
    assert world.judged == 2


async def test_following_goes_on_after_something_failed(world: World) -> None:
    told = asyncio.Event()

    async def tell() -> None:
        if not failures:
            failures.append(1)
            raise OSError("for a moment")
        told.set()

    failures: list[int] = []
    task = asyncio.create_task(world.office.follow((), tell))
    async with asyncio.timeout(10):
        await told.wait()
    task.cancel()


def _fails() -> None:
    raise StoreError("it cannot be read")


async def test_calls_that_could_not_be_ended_are_ended_at_the_next_look(world: World) -> None:
    world.other().create("ann", by="root")
    with pytest.MonkeyPatch.context() as broken:
        broken.setattr(world.office, "_end_refused", _fails)
        with pytest.raises(StoreError):
            world.office.look()
    world.judged = 0
    world.office.look()
    assert world.judged == 1


async def test_a_store_that_fails_keeps_no_other_from_being_looked_at(world: World) -> None:
    looked, told = asyncio.Event(), asyncio.Event()

    async def tell() -> None:
        told.set()

    task = asyncio.create_task(world.office.follow((_fails, looked.set), tell))
    async with asyncio.timeout(10):
        await looked.wait()
        await told.wait()
    task.cancel()


async def test_a_change_goes_from_the_state_once_its_record_is_on_the_disk(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A power cut takes from the record what was not flushed; then the state still knows of it."""

    def left() -> list[str]:
        other = world.other()
        return [one.action for one in other.changes()]

    async def never() -> None:
        raise Unrecorded("the disk is full")

    world.callers.create("ann", by="root")
    world.office.look()
    assert world.callers.changes() == []
    with monkeypatch.context() as broken:
        broken.setattr(world.office._events, "on_disk", never)
        with pytest.raises(Unrecorded):
            await world.office._settle()
    assert left() == ["created"]
    await world.office._settle()
    assert left() == []
    assert world.office._state.told() == {}


async def test_when_keys_were_used_is_written_down_while_the_gateway_runs(world: World) -> None:
    _, secret = world.callers.create("ann", by="root")
    assert not isinstance(world.callers.verify(secret), str)
    await world.office._save_used()
    other = world.other()
    (found,) = other.keys()
    assert found.last_used is not None
    assert world.callers.take_used() == {}


async def test_who_holds_the_state_holds_up_the_loop_for_a_moment_and_no_longer(
    world: World,
) -> None:
    """Another process that writes for long, or stands still in the middle: what the gateway would change then fails by name."""

    async def tell() -> None:
        """Nobody."""

    task = asyncio.create_task(world.office.follow((), tell))
    await asyncio.sleep(0)
    other = state_in(world.folder)
    began = time.monotonic()
    with other.engine.transaction(), pytest.raises(StoreError, match="locked"):
        world.callers.create("ann", by="root")
    assert time.monotonic() - began < 3 * OTHERS_S
    other.close()
    world.callers.create("ann", by="root")
    task.cancel()


async def test_what_keys_were_used_for_is_saved_while_the_gateway_runs(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GGEN-auth-3: other processes read the last use without the gateway's end; before the first use there is none."""
    monkeypatch.setattr(state_watcher, "LAST_USED_TURNS", 2)
    monkeypatch.setattr(state_watcher, "POLLED_S", 0.01)
    used, secret = world.callers.create("ann", by="root")
    unused, _ = world.callers.create("bob", by="root")

    async def tell() -> None:
        """Nobody listens."""

    before = time.time()
    world.callers.verify(secret)
    following = asyncio.create_task(world.office.follow([], tell))

    def last() -> dict[str, float | None]:
        with closing(world.other()) as other:
            keys = other.keys()
        return {key.id: key.last_used for key in keys}

    try:
        async with asyncio.timeout(20):
            while last()[used.id] is None:
                await asyncio.sleep(0.01)
    finally:
        following.cancel()
    found = last()
    assert (found[used.id] or 0) >= before
    assert found[unused.id] is None
