"""Keys and grants that change while a gateway runs: applied, bound to definitions, recorded."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gatewright.access.gate import Access
from gatewright.access.grants import Grant, Grants
from gatewright.access.issued_grants import Issued
from gatewright.app.record_events import Events
from gatewright.app.state_watcher import StateWatcher
from gatewright.audit.trail import AuditLog
from gatewright.call import ANONYMOUS, Caller, Unrecorded
from gatewright.config import Settings, load
from gatewright.identity.gate import LOCAL
from gatewright.identity.keys import Callers
from gatewright.mcp.protocol.mcp_client import Hello
from gatewright.mcp.wire import jsonrpc
from gatewright.servers.catalogue import Catalogue
from gatewright.servers.listing import Listing
from gatewright.servers.spec import ServerSpec
from gatewright.storage.errors import StoreError
from tests.gate_parts import a_call
from tests.storage.parts import state_in

OPERATOR = Caller("root", "operator")


class World:
    """An office with a catalogue of one server, and how often calls were judged again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.audit = AuditLog(folder, clock=time.time, monotonic=time.monotonic, random=os.urandom)
        self.office = StateWatcher(state_in(folder), Events(self.audit))
        self.catalogue = Catalogue([ServerSpec(id="s")])
        self.access = Access(Grants(issued=self.office.issued.layer), time.time)
        self.judged = 0
        self.office.open(
            settings=self.settings,
            access=lambda: self.access,
            catalogue=lambda: self.catalogue,
            end_refused=self.end_refused,
        )
        self.office.look()

    def settings(self) -> Settings:
        return load(self.folder / "mgp.toml", environ={"HOME": str(self.folder)})

    def end_refused(self) -> None:
        self.judged += 1

    def offer(self, text: str) -> None:
        tool = jsonrpc.decode_members(jsonrpc.encode({"name": "t", "description": text}))
        self.catalogue.put("s", Listing(Hello("2025-11-25"), {"tools": [tool]}))

    def other(self) -> Issued:
        """The store as another process opens it."""
        return Issued(state_in(self.folder), clock=time.time)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    (tmp_path / "mgp.toml").write_text(
        '[[servers]]\nid = "s"\ncommand = "true"\n[[grants]]\nagent = "ann"\nserver = "s"\n'
    )
    found = World(tmp_path)
    yield found
    found.office.close()
    await found.audit.close()


async def test_running_calls_are_judged_again_when_something_changed_and_only_then(
    world: World,
) -> None:
    world.judged = 0
    world.office.look()
    assert world.judged == 0
    other = world.other()
    other.grant(Grant("ann", "s"), by="root")
    world.office.look()
    world.office.look()
    assert world.judged == 1
    other.close()
    key, _ = world.office.callers.create("ann", by="root")
    world.office.look()
    world.office.callers.revoke(key.id, by="root")
    world.office.look()
    assert world.judged == 3


async def test_a_grant_is_for_what_the_tool_is_when_both_are_first_seen(world: World) -> None:
    call = a_call(caller=OPERATOR)
    world.office.issue(call, Grant("ann", "s", "t"))
    world.office.look()
    assert [one.tool_digest for one in world.office.issued.layer] == [None]
    world.offer("one")
    world.office.look()
    (bound,) = world.office.issued.layer
    assert bound.tool_digest is not None
    assert world.office.judged(call, "ann", "s", "t")[0]
    world.offer("two")
    world.office.look()
    allowed, word = world.office.judged(call, "ann", "s", "t")
    assert (allowed, word.outdated) == (False, True)
    world.office.issue(call, Grant("ann", "s", "t"))
    assert world.office.judged(call, "ann", "s", "t")[0]
    world.offer("one")
    assert not world.office.judged(call, "ann", "s", "t")[0]


async def test_names_mean_whom_they_mean_at_the_doors(world: World) -> None:
    world.office.callers.create("boss", kind="operator", by="root")
    world.office.callers.create("both", kind="operator", by="root")
    world.office.callers.create("both", by="root")
    call = a_call(caller=Caller("ann", "agent", "k1"))
    assert world.office.who(call, "ann") is call.caller
    assert world.office.who(call, "local") == LOCAL
    assert world.office.who(call, "anonymous") == ANONYMOUS
    assert world.office.who(call, "boss").kind == "operator"
    assert world.office.who(call, "both").kind == "agent"
    assert world.office.who(call, "stranger") == Caller("stranger")


async def test_a_host_without_a_key_is_the_owners_and_one_with_a_key_is_who_the_key_says(
    world: World,
) -> None:
    call = a_call(caller=OPERATOR)
    assert world.office.who(call, "cursor") == Caller("cursor", "owner")
    made, _ = world.office.callers.create("cursor", by="test")
    assert world.office.who(call, "cursor") == Caller("cursor", "agent", made.id)
    assert world.office.who(call, "build-bot") == Caller("build-bot")


async def test_the_configurations_word_has_a_place(world: World) -> None:
    assert world.office.written(("ann", "s", None)).endswith("mgp.toml:4")
    assert world.office.written(("bob", "s", None)) == ""


async def test_taking_back_holds_before_it_is_answered(world: World) -> None:
    call = a_call(caller=OPERATOR)
    world.office.issue(call, Grant("ann", "s"))
    assert world.office.judged(call, "ann", "s", None)[0]
    world.judged = 0
    world.office.take_back(call, ("ann", "s", None))
    assert not world.office.judged(call, "ann", "s", None)[0]
    assert world.judged == 1
    assert world.office.issued.changes() == []  # the record has them


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


async def test_calls_of_a_revoked_key_end_also_where_another_store_cannot_be_followed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, _ = world.office.callers.create("ann", by="root")
    world.office.look()
    world.judged = 0
    Callers(state_in(world.folder), clock=time.time, random=os.urandom).revoke(key.id, by="root")
    monkeypatch.setattr(world.office.issued, "unbound", _fails)
    with pytest.raises(StoreError):
        world.office.look()
    assert world.judged == 1
    assert world.office.callers.changes() == []  # and the record has it


async def test_calls_that_could_not_be_ended_are_ended_at_the_next_look(world: World) -> None:
    world.other().grant(Grant("ann", "s"), by="root")
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
        other = Callers(state_in(world.folder), clock=time.time, random=os.urandom)
        return [one.action for one in other.changes()]

    async def never() -> None:
        raise Unrecorded("the disk is full")

    world.office.callers.create("ann", by="root")
    world.office.look()
    assert world.office.callers.changes() == []
    with monkeypatch.context() as broken:
        broken.setattr(world.office._events, "on_disk", never)
        with pytest.raises(Unrecorded):
            await world.office._settle()
    assert left() == ["created"]
    await world.office._settle()
    assert left() == []
    assert world.office._state.told() == {}


async def test_when_keys_were_used_is_written_down_while_the_gateway_runs(world: World) -> None:
    _, secret = world.office.callers.create("ann", by="root")
    assert not isinstance(world.office.callers.verify(secret), str)
    await world.office._save_used()
    other = Callers(state_in(world.folder), clock=time.time, random=os.urandom)
    (found,) = other.keys()
    assert found.last_used is not None
    assert world.office.callers.take_used() == {}
