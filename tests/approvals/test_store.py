"""The queue for what waits for a person: what an approval is bound to, how it ends, who may decide."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from gatewright.approvals.request import Asked, CannotDecideError
from gatewright.approvals.shown_arguments import SHOWN_CHARS
from gatewright.approvals.store import WAITING_EACH
from gatewright.storage.errors import StoreError
from tests.approvals.store_parts import ASKED, HOUR, Clock, ask
from tests.approvals.voting import Voting
from tests.storage.parts import NO_DATABASE, look, operated_state_in, operators_in, state_in


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def queue(tmp_path: Path, clock: Clock) -> Iterator[Voting]:
    state = state_in(tmp_path)
    operators_in(state, "olga", "otto")
    made = Voting(state, clock=clock, random=os.urandom)
    yield made
    made.close()


def test_a_question_waits_until_an_operator_decides(queue: Voting) -> None:
    made = ask(queue)
    assert queue.redeem(ASKED) is None
    assert queue.waiting() == [made]
    assert queue.approve(made.id, by="olga", comment="go on").state == "approved"
    assert queue.waiting() == []
    found = queue.redeem(ASKED)
    assert found is not None
    assert (found.state, found.by, found.comment, found.uses) == ("used", "olga", "go on", 1)


def test_an_approval_for_one_call_is_used_up_by_it(queue: Voting) -> None:
    queue.approve(ask(queue).id, by="olga")
    assert queue.redeem(ASKED) is not None
    assert queue.redeem(ASKED) is None


def test_the_same_question_is_the_same_request(queue: Voting) -> None:
    began: list[str] = []
    one = ask(queue, began=began.append)
    assert (ask(queue, began=began.append).id, began) == (one.id, [one.id])
    assert len(queue.all()) == 1


@pytest.mark.parametrize("member", Asked.__struct_fields__)
def test_an_approval_is_bound_to_every_part_of_the_question(queue: Voting, member: str) -> None:
    other = replace(ASKED, **{member: "other"})
    queue.approve(ask(queue).id, by="olga")
    assert queue.redeem(other) is None
    assert ask(queue, other).state == "pending"
    assert queue.redeem(ASKED) is not None


def test_an_approval_for_a_time_holds_for_that_time(queue: Voting, clock: Clock) -> None:
    queue.approve(ask(queue).id, by="olga", scope="arguments", lasts_s=60)
    other = replace(ASKED, arguments_digest="b" * 64)
    assert [queue.redeem(one) is not None for one in (ASKED, ASKED, other)] == [True, True, False]
    clock.now += 61
    assert queue.redeem(ASKED) is None


def test_an_approval_for_a_tool_holds_for_all_arguments_of_one_caller(queue: Voting) -> None:
    queue.approve(ask(queue).id, by="olga", scope="tool", lasts_s=60)
    assert queue.redeem(replace(ASKED, arguments_digest="b" * 64)) is not None
    assert queue.redeem(replace(ASKED, agent="bob")) is None
    assert queue.redeem(replace(ASKED, definition_digest="e" * 64)) is None


def test_more_than_one_call_needs_a_time(queue: Voting) -> None:
    with pytest.raises(ValueError, match="needs a time"):
        queue.approve(ask(queue).id, by="olga", scope="tool")


def test_a_no_ends_the_request_and_an_approval_that_is_not_used_yet(queue: Voting) -> None:
    first = ask(queue)
    assert queue.deny(first.id, by="olga", comment="no").state == "denied"
    assert queue.redeem(ASKED) is None
    second = ask(queue, replace(ASKED, tool="other"))
    assert second.id != first.id
    queue.approve(second.id, by="olga")
    queue.deny(second.id, by="otto")
    assert queue.redeem(replace(ASKED, tool="other")) is None


def test_nobody_is_asked_again_what_was_denied_a_moment_ago(queue: Voting, clock: Clock) -> None:
    first = ask(queue)
    queue.deny(first.id, by="olga")
    again = ask(queue)
    assert (again.id, again.state) == (first.id, "denied")
    clock.now += HOUR
    assert ask(queue).state == "pending"


def test_what_nobody_decides_or_uses_ends_in_time(queue: Voting, clock: Clock) -> None:
    made = ask(queue)
    other = ask(queue, replace(ASKED, tool="other"))
    queue.approve(other.id, by="olga")
    clock.now += HOUR
    assert queue.redeem(replace(ASKED, tool="other")) is None
    assert {one.state for one in queue.all()} == {"expired"}
    with pytest.raises(CannotDecideError, match="expired already") as caught:
        queue.approve(made.id, by="olga")
    assert caught.value.why == "over"


def test_nobody_decides_on_what_they_asked_for(queue: Voting) -> None:
    made = ask(queue)
    for decide in (queue.approve, queue.deny):
        with pytest.raises(CannotDecideError, match="somebody else") as caught:
            decide(made.id, by="ann")
        assert caught.value.why == "own"
    assert queue.waiting() == [made]


def test_a_quorum_counts_different_operators(queue: Voting) -> None:
    made = ask(queue, quorum=2)
    assert queue.approve(made.id, by="olga", scope="arguments", lasts_s=60.0).state == "pending"
    with pytest.raises(CannotDecideError, match="another operator"):
        queue.approve(made.id, by="olga")
    assert queue.redeem(ASKED) is None
    found = queue.approve(made.id, by="otto", scope="tool", lasts_s=HOUR)
    agreed = found.state, found.scope, found.expires
    assert agreed == ("approved", "arguments", Clock.now + 60.0), "what both said yes to"


@pytest.mark.parametrize(
    "by", ["local", "local:root", "local:olga", "local:4711", "oidc:olga@b.example", "oidc:sub:1"]
)
def test_a_quorum_counts_nobody_who_has_shown_no_key(queue: Voting, by: str) -> None:
    """The user of a terminal is one of however many people; their no counts, and for one alone their yes."""
    made = ask(queue, quorum=2)
    with pytest.raises(CannotDecideError, match="gatewright key create NAME --operator") as caught:
        queue.approve(made.id, by=by)
    assert caught.value.why == "keyless"
    queue.approve(made.id, by="olga")
    with pytest.raises(CannotDecideError):
        queue.approve(made.id, by=by)
    found = queue.get(made.id)
    assert found is not None
    assert found.state == "pending"
    assert queue.deny(made.id, by=by).state == "denied"


def test_one_no_is_enough_whatever_the_quorum(queue: Voting) -> None:
    made = ask(queue, quorum=3)
    queue.approve(made.id, by="olga")
    assert queue.deny(made.id, by="otto").state == "denied"


def test_an_unknown_request_is_said_to_be_unknown(queue: Voting) -> None:
    with pytest.raises(CannotDecideError, match="there is no request ap_0") as caught:
        queue.approve("ap_0", by="olga")
    assert caught.value.why == "unknown"
    assert queue.get("ap_0") is None


def test_two_processes_cannot_use_one_approval_up(tmp_path: Path, clock: Clock) -> None:
    one, other = (
        Voting(operated_state_in(tmp_path), clock=clock, random=os.urandom) for _ in range(2)
    )
    other.approve(ask(one).id, by="olga")
    assert [one.redeem(ASKED) is not None, other.redeem(ASKED) is not None] == [True, False]
    one.close()
    other.close()


def test_a_decision_of_another_process_is_noticed_once(tmp_path: Path, clock: Clock) -> None:
    one, other = (Voting(state_in(tmp_path), clock=clock, random=os.urandom) for _ in range(2))
    made = ask(one)
    one.changed()
    assert not look(one).changed()
    other.deny(made.id, by="olga")
    assert look(one).changed()
    assert not look(one).changed()
    one.close()
    other.close()


def test_the_queue_survives_its_process(tmp_path: Path, clock: Clock) -> None:
    first = Voting(state_in(tmp_path), clock=clock, random=os.urandom)
    made = ask(first)
    first.close()
    second = Voting(state_in(tmp_path), clock=clock, random=os.urandom)
    assert second.waiting() == [made]
    second.close()


def test_a_caller_cannot_fill_the_queue(queue: Voting) -> None:
    for number in range(WAITING_EACH):
        ask(queue, replace(ASKED, arguments_digest=str(number)))
    more = {"arguments": "{}", "risk": "dangerous", "reason": "", "quorum": 1, "lasts_s": HOUR}
    assert queue.ask(ASKED, **more) is None  # type: ignore[arg-type]
    assert ask(queue, replace(ASKED, agent="bob")).state == "pending"


def test_arguments_are_shown_up_to_a_length_and_forgotten_when_it_is_over(queue: Voting) -> None:
    made = ask(queue, arguments="x" * (SHOWN_CHARS + 1))
    assert made.arguments == "x" * SHOWN_CHARS + f"… ({SHOWN_CHARS + 1} characters)"
    assert f"of {SHOWN_CHARS + 1} characters of arguments" in made.unseen
    queue.deny(made.id, by="olga")
    found = queue.get(made.id)
    assert found is not None
    assert found.arguments == ""


def test_every_step_is_told_once_for_the_record(queue: Voting, clock: Clock) -> None:
    made = ask(queue, quorum=2)
    queue.approve(made.id, by="olga")
    queue.approve(made.id, by="otto")
    queue.redeem(ASKED)
    ask(queue)
    clock.now += HOUR
    steps = queue.changes()
    assert [(one.action, one.by) for one in steps] == [
        ("requested", "ann"),
        ("voted", "olga"),
        ("approved", "otto"),
        ("used", "ann"),
        ("requested", "ann"),
        ("expired", ""),
    ]
    assert {one.approval.tool for one in steps} == {"wipe"}
    queue.recorded(one.number for one in steps[:-1])
    assert [one.action for one in queue.changes()] == ["expired"]


def test_what_has_been_over_for_a_month_is_forgotten(queue: Voting, clock: Clock) -> None:
    queue.deny(ask(queue).id, by="olga")
    voted = ask(queue, other(1), quorum=2)
    queue.approve(voted.id, by="olga")
    clock.now += 40 * 86_400
    waiting = ask(queue, other(2), quorum=2)
    queue.approve(waiting.id, by="olga")
    queue.recorded(one.number for one in queue.changes())
    assert [one.id for one in queue.all()] == [waiting.id]
    votes = queue._rows.rows("SELECT approval FROM approval_votes")
    assert votes == [(waiting.id,)], "with its votes"


def other(number: int) -> Asked:
    return replace(ASKED, arguments_digest=f"{number:064x}")


def test_what_ends_at_the_same_time_ends_some_at_a_time(queue: Voting, clock: Clock) -> None:
    """Nobody waits while hundreds of requests end; and none of them can be decided on any more."""
    made = [ask(queue, replace(other(n), agent=f"agent-{n % 3}")) for n in range(250)]
    clock.now += 4000
    assert len(queue.changes()) == 250 + 100
    last = made[-1]
    with pytest.raises(CannotDecideError, match="expired already"):
        queue.approve(last.id, by="olga")
    assert queue.waiting() == []
    assert len(queue.undecided) == 0
    assert len(queue.changes()) == 500


def test_who_has_too_much_that_is_over_may_ask_again(queue: Voting, clock: Clock) -> None:
    for number in range(100):
        ask(queue, other(number))
    for number in range(100, 200):
        ask(queue, replace(other(number), agent="bob"))
    clock.now += 4000
    assert ask(queue, other(1000)).state == "pending"
    assert ask(queue, replace(other(1000), agent="bob")).state == "pending"


def test_the_steps_of_one_request_are_written_down_without_those_of_others(
    queue: Voting,
) -> None:
    first, second = ask(queue), ask(queue, other(1))
    assert [one.approval.id for one in queue.changes(second.id)] == [second.id]
    assert [one.approval.id for one in queue.changes("", 1)] == [first.id]
    queue.recorded(one.number for one in queue.changes(second.id))
    assert [one.approval.id for one in queue.changes()] == [first.id]


def test_a_damaged_file_is_a_named_error(tmp_path: Path, clock: Clock) -> None:
    (tmp_path / "state.db").write_bytes(NO_DATABASE)
    with pytest.raises(StoreError, match=r"state\.db"):
        Voting(state_in(tmp_path), clock=clock, random=os.urandom)


def test_whoever_asked_takes_back_what_is_undecided_and_nothing_else(queue: Voting) -> None:
    one = ask(queue)
    assert queue.withdraw(one.id)
    assert not queue.withdraw(one.id)
    gone = queue.get(one.id)
    assert gone is not None
    assert (gone.state, gone.arguments) == ("expired", "")
    assert [(change.action, change.by) for change in queue.changes()] == [
        ("requested", ASKED.agent),
        ("withdrawn", ASKED.agent),
    ]
    decided = ask(queue)
    queue.approve(decided.id, by="olga")
    assert not queue.withdraw(decided.id)
    assert queue.redeem(ASKED) is not None
