"""The queue and keys that end: votes and approvals of who was an operator then and is none any more."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gatewright.approvals.request import CannotDecideError, Voter
from gatewright.identity.keys import KeyStore
from tests.approvals.store_parts import ASKED, HOUR, Clock, ask
from tests.approvals.voting import Voting
from tests.storage.parts import state_in


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def keys(tmp_path: Path, clock: Clock) -> Iterator[KeyStore]:
    """Those of olga and otto, who are operators."""
    made = KeyStore(state_in(tmp_path), clock=clock, random=os.urandom)
    for name in ("olga", "otto"):
        made.create(name, kind="operator", by="t")
    yield made
    made.close()


@pytest.fixture
def queue(tmp_path: Path, clock: Clock, keys: KeyStore) -> Iterator[Voting]:
    made = Voting(state_in(tmp_path), clock=clock, random=os.urandom)
    yield made
    made.close()


def revoke(keys: KeyStore, name: str) -> None:
    for key in keys.held(name):
        keys.revoke(key.id, by="t")


def test_the_vote_of_a_revoked_key_counts_in_no_quorum(
    queue: Voting, keys: KeyStore, clock: Clock
) -> None:
    """A stolen key voted, and its owner got another one: nobody but who has it may vote for them again."""
    made = ask(queue, quorum=2)
    queue.approve(made.id, by="olga")
    clock.now += 1
    revoke(keys, "olga")
    keys.create("olga", kind="operator", by="t")
    assert queue.votes(made.id) == ([], ["olga"])
    clock.now += 1
    assert queue.approve(made.id, by="otto").state == "pending"
    assert queue.votes(made.id) == (["otto"], [])
    assert queue.redeem(ASKED) is None
    assert queue.approve(made.id, by="olga").state == "approved", "the owner, once more"
    steps = [(one.action, one.by) for one in queue.changes()]
    assert ("unvoted", "olga") in steps


@pytest.mark.parametrize("end", ["expires", "rotated", "agent now", "one of two revoked"])
def test_who_is_no_operator_any_more_votes_no_more(
    queue: Voting, keys: KeyStore, clock: Clock, end: str
) -> None:
    made = ask(queue, quorum=2)
    keys.create("otti", kind="operator", by="t", expires=clock.now + 60)
    queue.approve(made.id, by="otti")
    clock.now += 30
    if end == "expires":
        clock.now += 60
    elif end == "rotated":
        keys.rotate(keys.held("otti")[0].id, by="t")
    elif end == "agent now":
        revoke(keys, "otti")
        keys.create("otti", by="t")
    else:
        keys.create("otti", kind="operator", by="t")
        keys.revoke(keys.held("otti")[0].id, by="t")
    assert queue.approve(made.id, by="otto").state == "pending"
    assert queue.votes(made.id) == (["otto"], [])


def test_a_key_beside_the_one_that_ends_keeps_a_vote(
    queue: Voting, keys: KeyStore, clock: Clock
) -> None:
    made = ask(queue, quorum=2)
    queue.approve(made.id, by="olga")
    keys.rotate(keys.held("olga")[0].id, overlap_s=HOUR, by="t")
    clock.now += 60
    assert queue.approve(made.id, by="otto").state == "approved"


@pytest.mark.parametrize("scope", ["once", "arguments", "tool"])
@pytest.mark.parametrize("quorum", [1, 2])
def test_an_approval_that_rests_on_a_revoked_key_lets_nothing_pass(
    queue: Voting, keys: KeyStore, clock: Clock, scope: Any, quorum: int
) -> None:
    made = ask(queue, quorum=quorum)
    lasts_s = None if scope == "once" else 86_400.0
    for by in ("olga", "otto")[-quorum:]:
        found = queue.approve(made.id, by=by, scope=scope, lasts_s=lasts_s)
    assert found.state == "approved"
    clock.now += 1
    revoke(keys, "otto")
    assert queue.redeem(ASKED) is None
    assert ask(queue).id != made.id, "it is asked about again"
    ended = [one for one in queue.changes() if one.action == "lapsed"]
    assert [(one.by, one.approval.id) for one in ended] == [("otto", made.id)]


def test_an_approval_holds_whose_operator_had_a_key_that_ended_by_itself(
    queue: Voting, keys: KeyStore, clock: Clock
) -> None:
    keys.create("otti", kind="operator", by="t", expires=clock.now + 60)
    queue.approve(ask(queue).id, by="otti", scope="arguments", lasts_s=HOUR)
    clock.now += 120
    assert queue.redeem(ASKED) is not None


def test_an_approval_of_one_whose_key_of_another_time_was_revoked_holds(
    queue: Voting, keys: KeyStore, clock: Clock
) -> None:
    revoke(keys, "olga")
    clock.now += 1
    keys.create("olga", kind="operator", by="t")
    queue.approve(ask(queue).id, by="olga", scope="arguments", lasts_s=HOUR)
    assert queue.redeem(ASKED) is not None
    clock.now += 1
    keys.create("olga", kind="operator", by="t")
    keys.revoke(keys.held("olga")[-1].id, by="t")
    assert queue.redeem(ASKED) is not None


@pytest.mark.parametrize("quorum", [1, 2])
@pytest.mark.parametrize("end", ["revoked", "expires", "agent now", "owner has another", "rotated"])
def test_a_yes_after_the_key_has_ended_counts_in_nothing(
    queue: Voting, keys: KeyStore, clock: Clock, quorum: int, end: str
) -> None:
    """As from a prompt that a stolen key opened, or a process that has not looked yet: alone, or as the last vote."""
    keys.create("otti", kind="operator", by="t", expires=clock.now + 60)
    made, stolen = ask(queue, quorum=quorum), Voter("otti", keys.held("otti")[0].id)
    if quorum == 2:
        queue.approve(made.id, by="olga")
    clock.now += 120 if end == "expires" else 1
    if end == "rotated":
        keys.rotate(stolen.key, by="t")
    elif end != "expires":
        revoke(keys, "otti")
    clock.now += 1
    if end == "agent now":
        keys.create("otti", by="t")
    elif end == "owner has another":
        keys.create("otti", kind="operator", by="t")
    with pytest.raises(CannotDecideError, match="the key that otti showed has ended") as caught:
        queue.approve(made.id, by=stolen, scope="tool", lasts_s=HOUR, edited="")
    assert caught.value.why == "keyless"
    assert queue.votes(made.id) == (["olga"] if quorum == 2 else [], [])
    assert queue.redeem(ASKED) is None
    if end in ("owner has another", "rotated"):
        assert queue.approve(made.id, by="otti").state == "approved", "by the key of now"
    else:
        with pytest.raises(CannotDecideError):
            queue.approve(made.id, by="otti")
        assert queue.deny(made.id, by="otti").state == "denied", "a no lets nothing pass"


@pytest.mark.parametrize("by", ["local", "local:root", "oidc:olga@b.example"])
def test_who_decides_without_a_key_has_none_to_lose(queue: Voting, by: str) -> None:
    assert queue.approve(ask(queue).id, by=by).state == "approved"


def test_a_prompt_goes_on_whose_key_is_replaced_with_an_overlap(
    queue: Voting, keys: KeyStore, clock: Clock
) -> None:
    """Until the overlap ends; then the next key is shown."""
    made, shown = ask(queue, quorum=2), Voter("olga", keys.held("olga")[0].id)
    keys.rotate(shown.key, overlap_s=HOUR, by="t")
    clock.now += 60
    assert queue.approve(made.id, by=shown).state == "pending"
    assert queue.votes(made.id) == (["olga"], [])
    clock.now += HOUR
    assert queue.votes(made.id) == ([], ["olga"])
    made = ask(queue, replace(ASKED, tool="other"))
    with pytest.raises(CannotDecideError, match="begin again"):
        queue.approve(made.id, by=shown)
    assert queue.approve(made.id, by="olga").state == "approved"


def test_an_approval_goes_with_the_key_that_gave_it_and_with_no_other_of_its_operator(
    queue: Voting, keys: KeyStore, clock: Clock
) -> None:
    key = keys.held("olga")[0].id
    other, _ = keys.create("olga", kind="operator", by="t")
    made = ask(queue)
    queue.approve(made.id, by=Voter("olga", key), scope="arguments", lasts_s=HOUR)
    clock.now += 1
    keys.revoke(other.id, by="t")
    assert queue.redeem(ASKED) is not None
    keys.rotate(key, by="t")
    assert queue.undone(made.id)
    assert queue.redeem(ASKED) is None


def test_a_key_that_had_come_to_its_end_takes_its_approval_along_when_it_is_revoked(
    queue: Voting, keys: KeyStore, clock: Clock
) -> None:
    """Whoever replaced it with an overlap hears only then that it was stolen."""
    made, key = ask(queue), keys.held("olga")[0].id
    queue.approve(made.id, by=Voter("olga", key), scope="arguments", lasts_s=3 * HOUR)
    keys.rotate(key, overlap_s=60.0, by="t")
    clock.now += 120
    assert queue.redeem(ASKED) is not None
    keys.revoke(key, by="t")
    assert queue.redeem(ASKED) is None


def test_an_approval_that_was_used_is_undone_by_each_key_that_it_needed(
    queue: Voting, keys: KeyStore, clock: Clock
) -> None:
    """What rests on it further on, as an agreement to a tool, asks by its id."""
    made = ask(queue, quorum=2)
    for by in ("olga", "otto"):
        queue.approve(made.id, by=by)
    clock.now += 1
    assert queue.redeem(ASKED) is not None
    assert not queue.undone(made.id)
    revoke(keys, "olga")
    assert queue.undone(made.id), "who did not vote last"
    assert queue.undone("ap_none"), "of what is forgotten nobody can tell"


def test_votes_to_what_is_approved_are_told_as_the_approval_takes_them(
    queue: Voting, keys: KeyStore, clock: Clock
) -> None:
    """A key that expires takes no vote out of an approval; one that is revoked does, and takes none out of what is over."""
    keys.create("otti", kind="operator", by="t", expires=clock.now + 60)
    made = ask(queue, quorum=2)
    for by in ("olga", "otti"):
        clock.now += 1
        queue.approve(made.id, by=by, scope="arguments", lasts_s=HOUR)
    clock.now += 120
    assert queue.votes(made.id) == (["olga", "otti"], [])
    assert queue.redeem(ASKED) is not None
    revoke(keys, "olga")
    assert queue.votes(made.id) == (["otti"], ["olga"])
    assert queue.redeem(ASKED) is None
    assert queue.votes(made.id) == (["olga", "otti"], []), "it is over"


def test_an_operator_renews_a_vote_with_the_successor_of_the_key_that_gave_it(
    queue: Voting, keys: KeyStore, clock: Clock
) -> None:
    """Before the overlap ends, so that the vote does not drop with the old key; that key itself says nothing twice."""
    made = ask(queue, quorum=2)
    old = keys.held("olga")[0]
    queue.approve(made.id, by=Voter("olga", old.id), scope="tool", lasts_s=HOUR)
    with pytest.raises(CannotDecideError, match="another operator has to") as caught:
        queue.approve(made.id, by=Voter("olga", old.id))
    assert caught.value.why == "voted"
    new, _ = keys.rotate(old.id, overlap_s=60, by="t")
    clock.now += 30
    assert queue.approve(made.id, by=Voter("olga", new.id)).state == "pending", "one yes, not two"
    with pytest.raises(CannotDecideError, match="another operator has to"):
        queue.approve(made.id, by=Voter("olga", new.id))
    clock.now += 60
    assert queue.votes(made.id) == (["olga"], [])
    found = queue.approve(made.id, by="otto", scope="tool", lasts_s=HOUR)
    assert (found.state, found.scope) == ("approved", "once"), "what was said with the new key"
    keys.revoke(old.id, by="t")
    assert not queue.undone(made.id)
    assert queue.redeem(ASKED) is not None
