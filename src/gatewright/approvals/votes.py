"""Votes of operators on approvals, in the state database: keys to vote with, which votes still count, approvals that rest on a revoked key.

A vote is kept with the id of the key that was shown for it (`identity.operator_words`), and counts by that key alone: while it waits for others, as
long as the key is in force. An approval that was given and not used up holds until a key whose vote it needed is revoked: that may have been a stolen
key's yes. Votes from before ids were kept count by the keys that their operator had then. Who votes without a key (`by_key`) counts in no quorum, and
has none that could be revoked.
"""

from __future__ import annotations

from typing import NamedTuple

from gatewright.approvals.request import Approval, CannotDecideError, Scope, State, Voter
from gatewright.approvals.vote_rules import by_key
from gatewright.command_text import to_type
from gatewright.identity.key_names import read_alike
from gatewright.identity.operator_words import (
    is_in_force,
    is_operator_since,
    is_revoked,
    revoked_since,
)
from gatewright.storage.migrations import upsert
from gatewright.storage.state import Section

__all__ = ["cast_vote", "check_key", "drop_stale", "undone_by", "who_voted"]

_PUT = upsert("approval_votes")


class _Vote(NamedTuple):
    """One yes, in Unix seconds."""

    operator: str
    time: float
    key: str | None
    """The id of the key that was shown. None of who has none, and in what was written before it was kept."""


def who_voted(rows: Section, id: str, now: float) -> tuple[list[str], list[str]]:
    """The operators whose yes to a request counts now, and those whose does not any more, first come first. Of what was used or came to
    nothing, all counted."""
    found = rows.execute("SELECT state FROM approvals WHERE id = ?", (id,)).fetchone()
    state: State | None = found and found[0]
    counted: list[str] = []
    stale: list[str] = []
    for vote in _votes(rows, id):
        (counted if _counts(rows, vote, state, now) else stale).append(vote.operator)
    return counted, stale


def _counts(rows: Section, vote: _Vote, state: State | None, now: float) -> bool:
    """Whether a yes counts, to a request that is in this state. What is approved stays so where a key just expires."""
    if state == "pending" and by_key(vote.operator):
        if vote.key is None:
            return is_operator_since(rows, vote.operator, vote.time, now)
        return is_in_force(rows, vote.operator, vote.key, now)
    return state != "approved" or _holds(rows, vote)


def _holds(rows: Section, vote: _Vote) -> bool:
    """Whether a yes holds that was counted: no key was revoked that gave it."""
    if not by_key(vote.operator):
        return True
    if vote.key is None:
        return not revoked_since(rows, vote.operator, vote.time)
    return not is_revoked(rows, vote.key)


def check_key(rows: Section, by: Voter, now: float) -> None:
    """Whether the very key that who votes has shown is in force: a prompt stays open for long, and a process that has not looked yet takes a key
    that another one has just revoked. Another key of the same name is no proof: whoever replaces a stolen key has one. Who decides without a key
    has none to lose. Raises `CannotDecideError`."""
    if by_key(by.name) and not is_in_force(rows, by.name, by.key, now):
        raise CannotDecideError(
            "keyless",
            f"the key that {by.name} showed has ended, so a yes by it does not count: begin again with an operator's key that is in force "
            f"(`{to_type('key create NAME --operator')}` makes one)",
        )


def cast_vote(
    rows: Section, id: str, by: Voter, now: float, said: tuple[Scope, float]
) -> list[tuple[Scope | None, float]] | None:
    """Put down the yes of an operator, for a scope and until a time; what all said yes to so far. None where theirs counts already, by
    this key or under a name that reads like theirs. One by another key of theirs gives way: it may be about to end, or in wrong hands."""
    before = [vote for vote in _votes(rows, id) if read_alike(by.name, (vote.operator,))]
    if any(vote.operator != by.name or vote.key == (by.key or None) for vote in before):
        return None
    rows.execute(_PUT, (id, by.name, now, *said, by.key or None))
    found = rows.execute("SELECT scope, ends FROM approval_votes WHERE approval = ?", (id,))
    return found.fetchall()


def drop_stale(rows: Section, id: str, now: float) -> list[str]:
    """Take back the votes that do not count any more; whose they were."""
    _, stale = who_voted(rows, id, now)
    for operator in stale:
        rows.execute(
            "DELETE FROM approval_votes WHERE approval = ? AND operator = ?", (id, operator)
        )
    return stale


def undone_by(rows: Section, one: Approval) -> str:
    """The operator without whose revoked key this approval would not have come about; empty while it holds."""
    gone, left = "", 0
    for vote in _votes(rows, one.id):
        if _holds(rows, vote):
            left += 1
        else:
            gone = vote.operator
    return gone if left < one.quorum else ""


def _votes(rows: Section, id: str) -> list[_Vote]:
    found = rows.execute(
        "SELECT operator, time, key_id FROM approval_votes WHERE approval = ? ORDER BY time, operator",
        (id,),
    ).fetchall()
    return [_Vote(*row) for row in found]
