"""Grants that change while a gateway runs: applied, bound to definitions, recorded."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gatewright.access.authority import Authority
from gatewright.access.gate import Access
from gatewright.access.grants import Grant, Grants
from gatewright.access.issued_grants import Issued
from gatewright.audit.trail import AuditLog
from gatewright.call import Caller
from gatewright.config import load
from gatewright.identity.caller_names import Names
from gatewright.identity.issuers import Known
from gatewright.identity.keys import KeyStore
from gatewright.in_force import InForce
from gatewright.mcp.protocol.mcp_client import Hello
from gatewright.mcp.wire import jsonrpc
from gatewright.servers.catalogue import Catalogue
from gatewright.servers.listing import Listing
from gatewright.servers.server_set import ServerSet
from gatewright.servers.spec import ServerSpec
from gatewright.storage.errors import StoreError
from gatewright.transport import slices
from tests.gate_parts import a_call
from tests.storage.parts import state_in

OPERATOR = Caller("root", "operator")


class World:
    """The grants of a gateway with a catalogue of one server, and how often calls were judged again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        state = state_in(folder)
        self.audit = AuditLog(folder, clock=time.time, monotonic=time.monotonic, random=os.urandom)
        self.callers = KeyStore(state, clock=time.time, random=os.urandom)
        self.now = InForce(load(folder / "mgp.toml", environ={"HOME": str(folder)}))
        who = Names(self.callers, {}).who
        self.office = Authority(state, self.now, who, self.audit.event)
        self.catalogue = Catalogue([ServerSpec(id="s")])
        access = Access(Grants(issued=self.office.layer), time.time)
        servers = ServerSet({}, {}, {}, self.catalogue)
        self.now.take(self.now.settings, {"access": access}, servers, Known())
        self.judged = 0
        self.office.changed.listen(self.end_refused)
        self.office.look()

    def end_refused(self, _: None) -> None:
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


async def test_a_grant_is_for_what_the_tool_is_when_both_are_first_seen(world: World) -> None:
    call = a_call(caller=OPERATOR)
    world.office.issue(call, Grant("ann", "s", "t"))
    world.office.look()
    assert [one.tool_digest for one in world.office.layer] == [None]
    world.offer("one")
    world.office.look()
    (bound,) = world.office._issued.layer
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
    assert world.office._issued.changes() == []  # the record has them


def _fails() -> None:
    raise StoreError("it cannot be read")


async def test_grants_that_cannot_be_bound_keep_none_from_being_recorded(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.other().grant(Grant("ann", "s"), by="root")
    monkeypatch.setattr(world.office._issued, "unbound", _fails)
    world.judged = 0
    with pytest.raises(StoreError):
        world.office.look()
    assert world.judged == 1
    assert world.office._issued.changes() == []


async def test_many_grants_are_bound_in_slices_and_the_first_at_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are bound when a server comes, each with a digest and a transaction, and those whose tool is not there are looked at
    several times a second."""
    monkeypatch.setattr(slices, "_SLICE_S", 0.0)
    other = world.other()
    for number in range(40):
        other.grant(Grant(f"a{number}", "s", "t"), by="root")
    other.grant(Grant("z", "s", "never"), by="root")

    def bound() -> list[str]:
        return [one.tool_digest for one in world.office.layer if one.tool_digest is not None]

    world.offer("one")
    world.office.look()
    (first,) = bound()
    binding = world.office._binding
    # What comes between two steps: another definition, and words that are taken back or given anew.
    world.offer("two")
    other.revoke(("a39", "s", "t"), by="root")
    other.grant(Grant("a38", "s", "t"), by="root")
    other.close()
    while world.office._binding is not None:
        before = len(bound())
        world.office.look()
        assert world.office._binding is binding, "one after the other"
        await asyncio.sleep(0)
        assert len(bound()) <= before + 1
    assert bound() == [first] * 38, "of what was there when the gateway first saw both"
    world.office.look()
    await asyncio.sleep(0)
    assert world.office._binding is None
    assert len(bound()) == 39
    assert len({*bound()}) == 2, "what was given anew is of what is there now"


async def test_a_database_that_fails_while_grants_are_bound_is_said_once(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    other = world.other()
    other.grant(Grant("a", "s", "t"), by="root")
    other.close()
    world.offer("one")

    def failing(*_: object, **__: object) -> None:
        raise StoreError("the disk is full")

    with monkeypatch.context() as broken:
        broken.setattr(world.office._issued, "bind", failing)
        for _ in range(3):
            world.office.look()
    assert [one.message for one in caplog.records].count(
        "grants could not be bound to their tools; trying again"
    ) == 1
    world.office.look()
    assert [one.tool_digest is not None for one in world.office.layer] == [True]


async def test_nothing_is_bound_after_the_end(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slices, "_SLICE_S", 0.0)
    for name in ("ann", "bob"):
        world.other().grant(Grant(name, "s", "t"), by="root")
    world.offer("one")
    world.office.look()
    assert world.office._binding is not None
    monkeypatch.setattr(
        world.office._issued, "bind", lambda *_: pytest.fail("the store is given back")
    )
    world.office.close()
    for _ in range(5):
        await asyncio.sleep(0)
    assert world.office._binding is None
