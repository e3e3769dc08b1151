"""What the console says of one request: the call behind it, the gates' words, earlier decisions, and whether it can be edited."""

from __future__ import annotations

import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from msgspec.structs import replace

from gatewright.identity.keys import KeyStore
from tests.console.inbox_parts import ASKED, World
from tests.gate_parts import AGENT, a_tool, a_tool_call
from tests.storage.parts import revoked_in

WIPE = a_tool("wipe", risk_level="dangerous")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


def test_the_call_behind_a_request_says_who_by_what_and_what_gates_found(world: World) -> None:
    one = world.ask()
    call = replace(a_tool_call(WIPE), session="s1", facts={"access": "server_grant"})
    world.asked.note(one.id, call, WIPE)
    found = world.details.of(one)
    assert found.call is not None
    assert (found.call.session, found.call.trace_id) == ("s1", call.trace_id)
    assert [(word.gate, word.state) for word in found.gates] == [
        ("authenticate", "passed"),
        ("access", "passed"),
        ("confirm", "waits"),
    ]
    assert found.gates[0].word == (f"key {AGENT.key_id}" if AGENT.key_id else "agent")
    assert "dangerous" in found.rule


def test_after_a_restart_nothing_is_known_of_the_call(world: World) -> None:
    found = world.details.of(world.ask())
    assert (found.call, found.gates, found.rule) == (None, [], "")


def test_earlier_decisions_and_votes_are_told(world: World) -> None:
    world.store.deny(world.ask().id, by="ana")
    other = world.ask(asked=replace(ASKED, arguments_digest="b" * 64), quorum=3)
    for name in ("ana", "mallory"):
        world.store.approve(other.id, by=name)
    revoked_in(world.state, "mallory", world.now)
    found = world.details.of(world.store.get(other.id) or other)
    assert (found.before.denied, found.before.same_denied, found.votes) == (1, 0, ["ana"])
    assert found.dropped == ["mallory"], "who is no operator any more"


def test_an_approval_has_the_votes_of_those_whose_keys_expired_afterwards(world: World) -> None:
    keys = KeyStore(world.state, clock=lambda: world.now, random=os.urandom)
    keys.create("otti", kind="operator", by="t", expires=world.now + 10)
    one = world.ask(quorum=2)
    for name in ("ana", "otti"):
        world.now += 1
        world.store.approve(one.id, by=name)
    world.now += 20
    approved = world.store.get(one.id)
    assert approved is not None
    assert approved.state == "approved"
    found = world.details.of(approved)
    assert (found.votes, found.dropped) == (["ana", "otti"], [])
    keys.close()


def test_only_whole_arguments_without_secrets_are_edited(world: World) -> None:
    """Else marks would be sent to the tool in the place of what they stand for."""
    text = '{"path":"/a"}'
    whole = replace(ASKED, arguments_digest=sha256(text.encode()).hexdigest())
    found = world.details.of(world.ask(text, whole))
    assert (found.editable, found.written) == (True, '{\n  "path": "/a"\n}')
    cut = world.details.of(world.ask(text, replace(ASKED, tool="cut")))
    assert (cut.editable, cut.written) == (False, "")
    asked = replace(whole, kind="server", tool="permission")
    assert not world.details.of(world.ask(text, asked)).editable
