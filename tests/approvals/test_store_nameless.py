"""Requests of callers without a name: each session is a caller of its own, for approvals, for places and for what was written before."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gatewright.approvals.request import Scope
from gatewright.approvals.store import WAITING_EACH, WAITING_NAMELESS
from tests.approvals.store_parts import ASKED, HOUR, Clock, ask
from tests.approvals.voting import Voting
from tests.storage.parts import operated_state_in

ONE = replace(ASKED, agent="anonymous", kind="anonymous", session="a" * 64)
OTHER = replace(ONE, session="b" * 64)
NONE = replace(ONE, session="")
MORE: Any = {"arguments": "{}", "risk": "dangerous", "reason": "", "quorum": 1, "lasts_s": HOUR}


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[Voting]:
    made = Voting(operated_state_in(tmp_path), clock=Clock(), random=os.urandom)
    yield made
    made.close()


@pytest.mark.parametrize("scope", ["once", "arguments", "tool"])
def test_an_approval_of_one_session_lets_no_other_pass(queue: Voting, scope: Any) -> None:
    made = ask(queue, ONE)
    assert ask(queue, OTHER).id != made.id
    queue.approve(made.id, by="olga", scope=scope, lasts_s=None if scope == "once" else HOUR)
    assert queue.redeem(OTHER) is None
    assert queue.redeem(NONE) is None
    used = queue.redeem(ONE)
    assert used is not None
    assert (used.id, used.session) == (made.id, ONE.session)


def test_callers_without_a_session_are_one_which_gets_a_yes_to_one_call_alone(
    queue: Voting,
) -> None:
    made = ask(queue, NONE)
    scopes: tuple[Scope, ...] = ("tool", "arguments")
    for scope in scopes:
        with pytest.raises(ValueError, match="neither a name nor a session") as caught:
            queue.approve(made.id, by="olga", scope=scope, lasts_s=HOUR)
        assert "--" not in str(caught.value), "the console says it as well"
    assert queue.approve(made.id, by="olga").state == "approved"
    assert queue.redeem(NONE) is not None
    assert queue.redeem(NONE) is None


def test_one_session_takes_its_own_places_and_all_of_them_have_a_bound(
    queue: Voting, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(WAITING_EACH):
        ask(queue, replace(ONE, tool=f"t{number}"))
    assert queue.ask(replace(ONE, tool="one more"), **MORE) is None
    assert ask(queue, OTHER).state == "pending"
    monkeypatch.setattr("gatewright.approvals.store.WAITING_NAMELESS", WAITING_EACH + 1)
    assert WAITING_NAMELESS > WAITING_EACH
    assert queue.ask(NONE, **MORE) is None


def test_a_request_from_before_sessions_were_kept_is_of_callers_without_one(queue: Voting) -> None:
    made, named = ask(queue, NONE), ask(queue)
    queue._rows.execute("UPDATE approvals SET session = NULL")
    found = queue.get(made.id)
    assert found is not None
    assert found.session == ""
    assert (ask(queue, NONE).id, ask(queue).id) == (made.id, named.id)
    queue.approve(made.id, by="olga")
    assert queue.redeem(ONE) is None
    assert queue.redeem(NONE) is not None


@pytest.mark.parametrize("session", [None, ""])
@pytest.mark.parametrize("scope", ["tool", "arguments"])
def test_a_yes_to_more_than_one_call_from_before_sessions_were_kept_is_nobodys(
    queue: Voting, session: str | None, scope: Scope
) -> None:
    """An earlier version gave it to one session; afterwards nobody can tell to which."""
    made = ask(queue, ONE)
    queue.approve(made.id, by="olga", scope=scope, lasts_s=HOUR)
    queue._rows.execute("UPDATE approvals SET session = ?", (session,))
    assert queue.redeem(NONE) is None
    assert queue.redeem(replace(NONE, arguments_digest="c" * 64)) is None
    assert ask(queue, NONE).id != made.id
    named = ask(queue)
    queue.approve(named.id, by="olga", scope="tool", lasts_s=HOUR)
    queue._rows.execute("UPDATE approvals SET session = NULL")
    assert queue.redeem(replace(ASKED, arguments_digest="c" * 64)) is not None
