"""Whom names of callers mean."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gatewright.call import ANONYMOUS, Caller
from gatewright.hosts.local_agents import AGENTS
from gatewright.identity.caller_names import Names
from gatewright.identity.gate import LOCAL
from gatewright.identity.keys import KeyStore
from tests.gate_parts import a_call
from tests.storage.parts import state_in

OPERATOR = Caller("root", "operator")


class World:
    """Names, and the keys that they are of."""

    def __init__(self, folder: Path) -> None:
        self.callers = KeyStore(state_in(folder), clock=time.time, random=os.urandom)
        self.who = Names(self.callers, AGENTS).who


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    found = World(tmp_path)
    yield found
    found.callers.close()


async def test_names_mean_whom_they_mean_at_the_doors(world: World) -> None:
    world.callers.create("boss", kind="operator", by="root")
    world.callers.create("both", kind="operator", by="root")
    world.callers.create("both", by="root")
    call = a_call(caller=Caller("ann", "agent", "k1"))
    assert world.who(call, "ann") is call.caller
    assert world.who(call, "local") == LOCAL
    assert world.who(call, "anonymous") == ANONYMOUS
    assert world.who(call, "boss").kind == "operator"
    assert world.who(call, "both").kind == "agent"
    assert world.who(call, "stranger") == Caller("stranger")


async def test_a_host_without_a_key_is_the_owners_and_one_with_a_key_is_who_the_key_says(
    world: World,
) -> None:
    call = a_call(caller=OPERATOR)
    assert world.who(call, "cursor") == Caller("cursor", "owner")
    made, _ = world.callers.create("cursor", by="test")
    assert world.who(call, "cursor") == Caller("cursor", "agent", made.id)
    assert world.who(call, "build-bot") == Caller("build-bot")
