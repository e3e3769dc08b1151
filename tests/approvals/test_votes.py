"""Votes of operators: which of them count, dropping the others, and what rests on a key that was revoked."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from gatewright.approvals.request import Approval, Asked, CannotDecideError, Scope, Voter
from gatewright.approvals.votes import cast_vote, check_key, drop_stale, undone_by, who_voted
from gatewright.identity.keys import KeyStore
from tests.approvals.voting import Voting, voter
from tests.storage.parts import operators_in, state_in

ASKED = Asked("ann", "files", "wipe", "a" * 64, "d" * 64, "p1")


class World:
    """A request that three have to agree to, and keys of three operators."""

    now = 100.0

    def __init__(self, folder: Path) -> None:
        state = state_in(folder)
        operators_in(state, "olga", "otto", "otti")
        self.keys = KeyStore(state, clock=lambda: self.now, random=os.urandom)
        self.store = Voting(state, clock=lambda: self.now, random=os.urandom)
        self.rows = state.section("approvals", "it")
        made = self.store.ask(
            ASKED, arguments="{}", risk="dangerous", reason="", quorum=3, lasts_s=3600
        )
        assert made is not None
        self.one: Approval = made

    def vote(self, by: str) -> int | None:
        found = cast_vote(
            self.rows, self.one.id, voter(self.rows.state, by), self.now, ("once", self.one.expires)
        )
        return None if found is None else len(found)

    def revoke(self, name: str) -> None:
        self.now += 1
        for key in self.keys.held(name):
            self.keys.revoke(key.id, by="t")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.store.close()
    made.keys.close()


def test_each_votes_once_and_all_are_counted(world: World) -> None:
    assert [world.vote(by) for by in ("olga", "otto", "olga")] == [1, 2, None]


def test_votes_that_do_not_count_are_told_and_dropped(world: World) -> None:
    for by in ("olga", "otto", "nobody", "local:root"):
        world.vote(by)
    world.revoke("otto")
    now = world.now
    counted, stale = who_voted(world.rows, world.one.id, now)
    assert (set(counted), set(stale)) == ({"olga", "local:root"}, {"otto", "nobody"})
    assert set(drop_stale(world.rows, world.one.id, now)) == set(stale)
    assert who_voted(world.rows, world.one.id, now) == (counted, [])
    assert drop_stale(world.rows, world.one.id, now) == []


def test_an_approval_is_undone_by_a_revoked_key_that_it_needed(world: World) -> None:
    for by in ("olga", "otto", "otti"):
        world.vote(by)
    assert undone_by(world.rows, world.one) == ""
    world.revoke("otti")
    assert undone_by(world.rows, world.one) == "otti"


def test_two_forms_of_one_name_have_one_vote(world: World) -> None:
    assert world.vote("Jos\u00e9") == 1
    assert world.vote("Jose\u0301") is None


def test_a_vote_is_renewed_by_another_key_of_exactly_the_same_name(world: World) -> None:
    """Not by one whose name only reads alike, and by none who shows no key."""
    one = world.one
    said: tuple[Scope, float] = ("once", one.expires)

    def cast(by: Voter) -> int | None:
        found = cast_vote(world.rows, one.id, by, world.now, said)
        return None if found is None else len(found)

    assert cast(Voter("Jos\u00e9", "k1")) == 1
    assert cast(Voter("Jos\u00e9", "k2")) == 1
    assert cast(Voter("Jos\u00e9", "k2")) is None
    assert cast(Voter("Jose\u0301", "k3")) is None
    assert [cast(Voter("local:root")) for _ in range(2)] == [2, None]


def test_who_votes_has_the_very_key_that_they_showed(world: World) -> None:
    shown = voter(world.rows.state, "olga")
    for by in (shown, Voter("local:root"), Voter("oidc:olga")):
        check_key(world.rows, by, world.now)
    others = [Voter("olga"), voter(world.rows.state, "otto")._replace(name="olga")]
    world.revoke("olga")
    world.keys.create("olga", kind="operator", by="t")
    for wrong in (shown, *others, Voter("olga", "none")):
        with pytest.raises(CannotDecideError, match="olga showed has ended") as caught:
            check_key(world.rows, wrong, world.now)
        assert caught.value.why == "keyless"
    check_key(world.rows, voter(world.rows.state, "olga"), world.now)


def test_votes_from_before_their_keys_were_kept_count_by_the_keys_of_that_time(
    world: World,
) -> None:
    """Of a state that an earlier version wrote: any key of the name that was revoked since takes them back."""
    for by in ("olga", "otto"):
        world.vote(by)
    world.rows.execute("UPDATE approval_votes SET key_id = NULL WHERE operator = 'olga'")
    world.now += 1
    world.keys.create("olga", kind="operator", by="t")
    counted, stale = who_voted(world.rows, world.one.id, world.now)
    assert (set(counted), stale) == ({"olga", "otto"}, [])
    world.keys.revoke(world.keys.held("olga")[0].id, by="t")
    assert who_voted(world.rows, world.one.id, world.now) == (["otto"], ["olga"])
    assert undone_by(world.rows, world.one) == "olga"
