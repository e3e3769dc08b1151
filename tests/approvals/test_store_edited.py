"""Arguments that operators change before they agree: who has to have seen them, and for which call they count."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from gatewright.approvals.request import Asked, CannotDecideError
from tests.approvals.store_parts import ASKED, ask
from tests.approvals.voting import Voting
from tests.storage.parts import operators_in, state_in


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[Voting]:
    state = state_in(tmp_path)
    operators_in(state, "olga", "otto")
    made = Voting(state, clock=lambda: 1_790_000_000.0, random=os.urandom)
    yield made
    made.close()


def test_an_operator_may_change_the_arguments_and_the_call_gets_them_once(
    queue: Voting,
) -> None:
    made = ask(queue)
    decided = queue.approve(made.id, by="olga", edited='{"path": "/tmp",  "a": 1}')
    assert (decided.state, decided.edited) == ("approved", '{"a":1,"path":"/tmp"}')
    assert decided.arguments_digest == made.arguments_digest  # bound to what was asked
    used = queue.redeem(ASKED)
    assert used is not None
    assert used.edited == '{"a":1,"path":"/tmp"}'
    kept = queue.get(made.id)
    assert kept is not None
    assert (kept.edited, kept.arguments) == ("", "")


def test_nobody_agrees_to_arguments_that_they_have_not_seen(queue: Voting) -> None:
    """One operator looks; another writes other arguments; the first says yes to what it saw."""
    made = ask(queue, quorum=2)
    edited = queue.approve(made.id, by="olga", edited='{"path": "/tmp"}')
    assert edited.state == "pending"
    with pytest.raises(CannotDecideError, match="changed since you saw them") as refused:
        queue.approve(made.id, by="otto", seen=made.arguments)
    assert refused.value.why == "edited"
    now = queue.get(made.id)
    assert now is not None
    assert now.state == "pending"
    assert queue.approve(made.id, by="otto", seen=now.arguments).state == "approved"


def test_who_agreed_to_other_arguments_has_to_agree_again(queue: Voting) -> None:
    made = ask(queue, quorum=2)
    assert queue.approve(made.id, by="olga", scope="arguments", lasts_s=60.0).state == "pending"
    assert queue.approve(made.id, by="otto", edited='{"path":"/tmp"}').state == "pending"
    waiting = queue.get(made.id)
    assert waiting is not None
    assert waiting.arguments == '{"path":"/tmp"}'  # which is what everybody else is shown
    assert queue.approve(made.id, by="olga").state == "approved"


def test_edited_arguments_are_never_those_of_a_whole_tool(queue: Voting) -> None:
    """Else every call of the tool would run with them, whatever it asked for."""
    made = ask(queue, quorum=2)
    voted = queue.approve(made.id, by="olga", edited='{"path":"/tmp"}')
    assert (voted.state, voted.arguments) == ("pending", '{"path":"/tmp"}'), "as it is from now on"
    with pytest.raises(ValueError, match="approve them, not the tool with any arguments"):
        queue.approve(made.id, by="otto", scope="tool", lasts_s=60)
    assert queue.redeem(replace(ASKED, arguments_digest="b" * 64)) is None
    again = queue.approve(made.id, by="otto", scope="arguments", lasts_s=60)
    assert (again.state, again.edited) == ("approved", '{"path":"/tmp"}')


@pytest.mark.parametrize("edited", ["{", "[]", "1", '{"a":'])
def test_what_cannot_be_arguments_is_no_approval(queue: Voting, edited: str) -> None:
    made = ask(queue)
    with pytest.raises(ValueError, match="JSON object"):
        queue.approve(made.id, by="olga", edited=edited)
    assert queue.waiting() == [made]


def test_only_one_call_can_be_edited(queue: Voting) -> None:
    made = ask(queue)
    with pytest.raises(ValueError, match="edited"):
        queue.approve(made.id, by="olga", scope="tool", lasts_s=60, edited="{}")
    wish = ask(queue, Asked("files", "files", "camera", kind="server"))
    with pytest.raises(ValueError, match="edited"):
        queue.approve(wish.id, by="olga", edited="{}")
