"""What an operator said counts while a key of that time is in force, and not when one was revoked since."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from gatewright.identity.keys import KeyStore
from gatewright.identity.operator_words import (
    is_in_force,
    is_operator_since,
    is_revoked,
    revoked_since,
)
from gatewright.storage.state import Section
from tests.storage.parts import state_in


class World:
    """Keys, and a clock that a test moves."""

    now = 100.0

    def __init__(self, folder: Path) -> None:
        state = state_in(folder)
        self.keys = KeyStore(state, clock=lambda: self.now, random=os.urandom)
        self.rows: Section = state.section("approvals", "it")

    def says(self, at: float) -> tuple[bool, bool]:
        operator, now = "olga", self.now
        return is_operator_since(self.rows, operator, at, now), revoked_since(
            self.rows, operator, at
        )


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.keys.close()


def test_nobody_is_an_operator_without_a_key_of_one(world: World) -> None:
    assert world.says(100.0) == (False, False)
    world.keys.create("olga", by="t")
    assert world.says(100.0) == (False, False), "an agent of the same name"


def test_a_key_counts_for_what_was_said_while_it_was_there(world: World) -> None:
    world.keys.create("olga", kind="operator", expires=200.0, by="t")
    assert world.says(100.0) == (True, False)
    assert world.says(99.0) == (False, False), "before it was made"
    world.now = 200.0
    assert world.says(100.0) == (False, False), "it has come to its end"


def test_a_revocation_ends_what_was_said_before_it_and_nothing_after(world: World) -> None:
    key, _ = world.keys.create("olga", kind="operator", by="t")
    world.keys.create("olga", kind="operator", by="t")
    world.now = 110.0
    world.keys.revoke(key.id, by="t")
    assert world.says(105.0) == (False, True), "whichever of the two keys said it"
    assert world.says(111.0) == (True, False)


def test_a_word_rests_on_its_own_key_and_on_no_other_of_its_name(world: World) -> None:
    key, _ = world.keys.create("olga", kind="operator", expires=200.0, by="t")

    def stands(name: str = "olga") -> tuple[bool, bool]:
        return is_in_force(world.rows, name, key.id, world.now), is_revoked(world.rows, key.id)

    assert stands() == (True, False)
    assert stands("otto")[0] is False, "somebody else's"
    agent, _ = world.keys.create("ann", by="t")
    assert not is_in_force(world.rows, "ann", agent.id, world.now)
    world.now = 200.0
    assert stands() == (False, False), "it has come to its end"
    world.keys.create("olga", kind="operator", by="t")
    world.keys.revoke(key.id, by="t")
    assert stands() == (False, True)
    assert is_revoked(world.rows, "none"), "of what is not there nobody can tell"
