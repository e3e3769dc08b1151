"""Requests as screens list them: page by page, by agent, server and risk; and what was decided before on the like."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from msgspec.structs import replace

from gatewright.approvals import lists
from gatewright.approvals.lists import ApprovalLists, Before, Order, Wanted, place_of
from gatewright.approvals.request import Approval, Asked
from tests.approvals.voting import Voting
from tests.storage.parts import operated_state_in, revoked_in

ASKED = Asked("ann", "files", "wipe", "a" * 64, "d" * 64, "p1")
EVERY = Wanted()


class World:
    """A store, its lists, and a clock that a test moves."""

    now = 100.0

    def __init__(self, folder: Path) -> None:
        state = self.state = operated_state_in(folder, "olga", "ana")
        self.store = Voting(state, clock=lambda: self.now, random=os.urandom)
        self.lists = ApprovalLists(state, lambda: self.now)

    def ask(self, asked: Asked = ASKED, risk: str = "dangerous", lasts_s: float = 60) -> Approval:
        made = self.store.ask(
            asked, arguments="{}", risk=risk, reason="", quorum=1, lasts_s=lasts_s
        )
        assert made is not None
        return made


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.store.close()


def test_pages_follow_upon_each_other(world: World) -> None:
    """Also where several came in the same moment."""
    made = []
    for number in range(7):
        world.now += number % 2
        made.append(world.ask(replace(ASKED, arguments_digest=f"{number:064}")))
    made.sort(key=lambda one: (one.requested, one.id))
    found: list[Approval] = []
    while page := world.lists.waiting(EVERY, 3, place_of(found[-1], "oldest") if found else None):
        found += page
    assert found == made


@pytest.mark.parametrize("order", get_args(Order))
def test_every_order_has_pages_that_follow_upon_each_other(world: World, order: Order) -> None:
    """Also where several are alike in it, and where names are written in other letters."""
    made = []
    for number in range(12):
        world.now += number % 2
        agent, tool = ("ann", "Zoë", "bob", "é")[number % 4], ("wipe", "read")[number % 2]
        one = replace(ASKED, agent=agent, tool=tool, arguments_digest=f"{number:064}")
        made.append(world.ask(one, lasts_s=90 - 7 * (number % 5)))
    found: list[Approval] = []
    while page := world.lists.waiting(
        EVERY, 3, place_of(found[-1], order) if found else None, order
    ):
        found += page
    assert found == sorted(made, key=lambda one: place_of(one, order))
    assert len({one.id for one in found}) == len(made)


def test_how_many_wait_is_counted(world: World) -> None:
    for number in range(7):
        world.ask(replace(ASKED, arguments_digest=f"{number:064}"))
    assert world.lists.count(EVERY) == (7, 100.0)


def test_filters_narrow_lists_and_counts(world: World) -> None:
    """Each, and together."""
    mine, other = world.ask(), world.ask(replace(ASKED, agent="bob", server="mail"), "moderate")
    assert world.lists.waiting(Wanted(agent="bob"), 9) == [other]
    assert world.lists.waiting(Wanted(server="files", risk="dangerous"), 9) == [mine]
    assert world.lists.waiting(Wanted(server="files", risk="moderate"), 9) == []
    assert world.lists.count(Wanted(risk="moderate")) == (1, 100.0)


def test_what_is_over_is_not_listed_and_can_be_asked_for(world: World) -> None:
    """Decided, and late."""
    decided = world.ask()
    late = world.ask(replace(ASKED, agent="bob"), lasts_s=5)
    world.store.deny(decided.id, by="olga")
    world.now += 10
    assert world.lists.waiting(EVERY, 9) == []
    assert world.lists.count(EVERY) == (0, None)
    found = world.lists.some((decided.id, late.id, "ap_none"))
    assert {one.id: one.by for one in found} == {decided.id: "olga", late.id: ""}
    assert world.lists.some(()) == []


def test_earlier_decisions_on_the_like_are_counted(world: World) -> None:
    """By the same caller, of the same tool; those with the same arguments apart. What nobody decided is no word."""
    assert world.lists.before(world.ask()) == Before()
    world.store.approve(world.ask().id, by="olga")
    other = replace(ASKED, arguments_digest="b" * 64)
    world.now += 1
    world.store.deny(world.ask(other).id, by="olga")
    world.store.withdraw(world.ask(replace(ASKED, arguments_digest="c" * 64)).id)
    world.store.approve(world.ask(replace(ASKED, agent="bob")).id, by="olga")
    world.now += 100  # the approval was not used, and ended
    now = world.ask()
    assert world.lists.before(now) == Before(
        approved=1, denied=1, same_approved=1, same_denied=0, last=101.0
    )


def test_of_very_many_earlier_decisions_the_newest_are_counted(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent may have asked ten thousand times in a month, and an open inbox asks each time something changes."""
    monkeypatch.setattr(lists, "MOST_BEFORE", 3)
    other = replace(ASKED, arguments_digest="b" * 64)
    for asked in (ASKED, ASKED, ASKED, other, other):
        world.now += 100
        world.store.deny(world.ask(asked).id, by="olga")
    world.store.approve(world.ask(replace(ASKED, arguments_digest="c" * 64)).id, by="olga")
    world.now += 100
    assert world.lists.before(world.ask(other)) == Before(
        approved=1, denied=3, same_approved=0, same_denied=2, last=600.0
    )


def test_who_has_said_yes_so_far_is_told(world: World) -> None:
    """Of a request that several have to agree to."""
    made = world.store.ask(ASKED, arguments="{}", risk="dangerous", reason="", quorum=3, lasts_s=60)
    assert made is not None
    for by in ("olga", "ana"):
        world.now += 1
        world.store.approve(made.id, by=by)
    world.now += 1
    revoked_in(world.state, "ana", world.now)
    assert world.lists.votes(made.id) == (["olga"], ["ana"]), "who is no operator any more"
    assert world.lists.votes("ap_none") == ([], [])
