"""`Approvals`: requests in the state database, shared by gateway and commands: ask, vote, decide, redeem, expire; audit outbox.

Theory. A request for approval is bound to what was asked: caller, server, tool, SHA-256 of the canonical
arguments, digest of the tool's definition and version of the policy. The same question asked again is the same
request, so a caller that repeats itself neither fills the queue nor needs an id; any difference is another
request. An approval is used up by the call it lets pass (`once`), or holds for a stated time, for these arguments
or for all of them. It ends unused when its time is over.

Who decides is an operator. Whoever asked never decides on it, whatever key it presents; a quorum counts different
operators by their keys, and one no is a no. Votes of who is no operator any more are dropped before they are counted, and an approval that
rests on a key that was revoked since ends unused (`votes`).

Servers ask as well: for a permission (MGP §3), which stands where the tool would. Such a request binds to nothing else and is not
used up; what its answer means is kept in `access/permissions.py`.

Several processes share the file: the gateway asks and uses up, `gatewright approve` decides. Every step is one
transaction, so that two calls cannot use one approval up. Each step leaves a row in `approval_changes` until the
gateway has put it into the audit trail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec
from msgspec.structs import replace

from gatewright.approvals.forgetting import forget_old
from gatewright.approvals.request import (
    Approval,
    ApprovalChange,
    Asked,
    CannotDecideError,
    Scope,
    State,
    Voter,
    approval_of,
)
from gatewright.approvals.shown_arguments import canonical, shown
from gatewright.approvals.undecided import Undecided
from gatewright.approvals.vote_rules import agreed_on, check_yes, is_own
from gatewright.approvals.votes import cast_vote, check_key, drop_stale, undone_by, who_voted
from gatewright.command_text import to_type
from gatewright.storage.changes import AT_ONCE, Changes
from gatewright.storage.state import StateDatabase

__all__ = ["Approvals"]

FINAL_KEPT_S = 30 * 86_400.0
_TIDIED_S = 3600.0
WAITING_EACH = 100
"""How many requests of one caller may wait; beyond that it has to wait itself."""
WAITING_NAMELESS = 1000
"""How many of all callers without a name, each of whose sessions is one of them."""

_COUNTED = (  # of this very caller, and of all with its name
    "SELECT coalesce(sum(coalesce(session, '') = ?), 0), count(*) FROM approvals "
    "WHERE agent = ? AND kind = ? AND state = 'pending' AND expires > ?"
)
_OPEN = "FROM approvals WHERE (state = 'pending' OR (state = 'approved' AND kind <> 'server'))"
# Given to one session by a version that did not keep which.
_NOBODYS = "AND NOT (kind = 'anonymous' AND coalesce(session, '') = '' AND state = 'approved' AND scope <> 'once') "
_ENDED_AT_ONCE = 100
"""So many requests whose time is over are ended in one step; more of them wait for the next."""
_COLUMNS = ", ".join(Approval.__struct_fields__)


class Approvals:
    """The queue in one state database. Use it from one thread at a time. Every method raises `StoreError`."""

    def __init__(
        self, state: StateDatabase, *, clock: Callable[[], float], random: Callable[[int], bytes]
    ) -> None:
        """`clock` gives Unix seconds, `random(n)` n bytes."""
        self._rows = state.section("approvals", "the requests for approval")
        self.undecided = Undecided(self._rows)
        self._changes = Changes(
            self._rows, "approval_changes", ("time", "action", "approval", "by")
        )
        self._clock = clock
        self._random = random
        self._others = True
        self._tidied = float("-inf")
        self._ends = 0.0
        """When the next request is over; 0 where that has to be asked."""
        self._rows.listen(self._heard)

    def ask(
        self,
        asked: Asked,
        *,
        arguments: str,
        risk: str,
        reason: str,
        quorum: int,
        lasts_s: float,
        began: Callable[[str], None] = lambda _: None,
    ) -> Approval | None:
        """The request for this very question: the one that waits, the one that was denied and whose time is not
        over, so that nobody is asked the same again and again, or a new one, whose id `began` is told. None where the
        caller has too many waiting already."""
        now = self._clock()
        # Without a transaction: a caller that repeats itself writes nothing.
        with self._rows.reading():
            waiting = self._find(asked, "pending", now)
            if waiting is None and asked.kind != "server":  # whose answers are kept elsewhere
                waiting = self._find(asked, "denied", now)
        if waiting is not None:
            return waiting
        with self._rows.changing():
            self._expire(now)
            who = asked.session, asked.agent, asked.kind
            mine, all_alike = self._rows.execute(_COUNTED, (*who, now)).fetchone()
            if mine >= WAITING_EACH or all_alike >= WAITING_NAMELESS:
                return None  # no row: a caller that floods the queue costs no more than this
            made = Approval(
                id="ap_" + self._random(8).hex(),
                **msgspec.structs.asdict(asked),
                arguments=shown(arguments),
                risk=risk,
                reason=reason,
                quorum=quorum,
                requested=now,
                expires=now + lasts_s,
            )
            marks = ", ".join("?" * len(made.__struct_fields__))
            self._rows.execute(
                f"INSERT INTO approvals ({_COLUMNS}) VALUES ({marks})",  # noqa: S608 - constants
                msgspec.structs.astuple(made),
            )
            self._note("requested", made.id, asked.agent, now)
        began(made.id)
        return made

    def redeem(self, asked: Asked) -> Approval | None:
        """Use an approval of this question up, where there is one; None where there is none (any more)."""
        now = self._clock()
        with self._rows.reading():
            if self._find(asked, "approved", now) is None:
                return None  # nearly always, and without a transaction
        with self._rows.changing():
            # Once more: an operator in another process may have taken it back, or another call used it up.
            one = self._find(asked, "approved", now)
            while one is not None and self._lapsed(one, now):
                one = self._find(asked, "approved", now)
            if one is None:
                return None
            state = "used" if one.scope == "once" else "approved"
            self._rows.execute(
                "UPDATE approvals SET uses = uses + 1, state = ?, arguments = '', "
                "edited = CASE ? WHEN 'used' THEN '' ELSE edited END WHERE id = ?",
                (state, state, one.id),
            )
            self._note("used", one.id, asked.agent, now)
            used = self._get(one.id)
        return None if used is None else replace(used, edited=one.edited)

    def unwanted(self, asked: Asked) -> bool:
        """Nobody has to decide on this question any more; whether somebody had to."""
        now = self._clock()
        with self._rows.reading():
            one = self._find(asked, "pending", now)
        if one is None:
            return False
        with self._rows.changing():
            self._end(one.id, "expired", "", now)
        return True

    def withdraw(self, id: str) -> bool:
        """Whoever asked takes its request back; whether it was still undecided."""
        now = self._clock()
        with self._rows.changing():
            self._expire(now, id)
            one = self._get(id)
            if one is None or one.state != "pending":
                return False
            self._end(id, "withdrawn", one.agent, now)
        return True

    def get(self, id: str) -> Approval | None:
        """One request, whatever became of it."""
        with self._rows.reading():
            return self._get(id)

    def waiting(self) -> list[Approval]:
        """What waits for a decision, oldest first."""
        return self.all("pending")

    def all(self, *states: State) -> list[Approval]:
        """Every request in one of these states, or in any, oldest first."""
        now = self._clock()
        while self._rows.rows(f"SELECT 1 {_OPEN} AND expires <= ? LIMIT 1", (now,)):
            with self._rows.changing():
                self._expire(now)
        where = f"WHERE state IN ({', '.join('?' * len(states))})" if states else ""
        rows = self._rows.rows(
            f"SELECT {_COLUMNS} FROM approvals {where} ORDER BY requested, id",  # noqa: S608 - constants
            states,
        )
        return [approval_of(row) for row in rows]

    def votes(self, id: str) -> tuple[list[str], list[str]]:
        """As `votes.who_voted`."""
        with self._rows.reading():
            return who_voted(self._rows, id, self._clock())

    def undone(self, id: str) -> bool:
        """Whether an approval, used or not, rests on a key that was revoked since. One that is forgotten does: nobody can tell."""
        with self._rows.reading():
            one = self._get(id)
            return one is None or bool(undone_by(self._rows, one))

    def approve(
        self,
        id: str,
        *,
        by: Voter,
        scope: Scope = "once",
        lasts_s: float | None = None,
        comment: str = "",
        edited: str = "",
        seen: str | None = None,
    ) -> Approval:
        """An operator says yes. With a quorum, the request is approved with the last yes that it needs, for what
        all of them said yes to: the narrowest scope, and the earliest end. `lasts_s` bounds the scopes beyond `once`. `edited` are arguments, as JSON, with which
        it is to run instead: who said yes before has to say so again. `seen` are the arguments that this operator was shown: a
        yes is to them, and to no others that somebody wrote meanwhile. The key that
        they showed has to be in force now. Raises `CannotDecideError`, `ValueError`."""
        if scope != "once" and not lasts_s:
            raise ValueError("an approval for more than one call needs a time after which it ends")
        now = self._clock()
        with self._rows.changing():
            one = self._decidable(id, by.name, now)
            check_key(self._rows, by, now)
            check_yes(one, by.name, scope=scope, edited=edited, seen=seen)
            if edited:
                self._edit(one, edited)
            self._drop_stale(id, now)
            ends = one.expires if scope == "once" else now + (lasts_s or 0.0)
            votes = cast_vote(self._rows, id, by, now, (scope, ends))
            if votes is None:
                raise CannotDecideError(
                    "voted", f"{by.name} has approved {id} already; another operator has to"
                )
            if len(votes) < one.quorum:
                self._note("voted", id, by.name, now)
            else:
                self._decide(one, "approved", agreed_on(votes, one.expires), by.name, comment)
            return self._get(id) or one

    def _drop_stale(self, id: str, now: float) -> None:
        for operator in drop_stale(self._rows, id, now):
            self._note("unvoted", id, operator, now)

    def _edit(self, one: Approval, edited: str) -> None:
        if one.kind == "server":
            raise ValueError("only the arguments of one call can be edited")
        # They agreed to other arguments.
        self._rows.execute("DELETE FROM approval_votes WHERE approval = ?", (one.id,))
        self._rows.execute(
            "UPDATE approvals SET edited = ?, arguments = ? WHERE id = ?",
            (canonical(edited), shown(edited), one.id),
        )

    def deny(self, id: str, *, by: str, comment: str = "", undecided: bool = False) -> Approval:
        """An operator says no, also to what has been approved and not used up, unless it has to be `undecided`. Raises
        `CannotDecideError`."""
        states: tuple[State, ...] = ("pending",) if undecided else ("pending", "approved")
        with self._rows.changing():
            one = self._decidable(id, by, self._clock(), *states)
            self._decide(one, "denied", (one.scope, one.expires), by, comment)
            return self._get(id) or one

    def _decide(
        self,
        one: Approval,
        state: State,
        holds: tuple[Scope, float],
        by: str,
        comment: str,
    ) -> None:
        now = self._clock()
        self._rows.execute(
            "UPDATE approvals SET state = ?, scope = ?, expires = ?, decided = ?, by = ?, "
            "comment = ?, arguments = CASE ? WHEN 'denied' THEN '' ELSE arguments END WHERE id = ?",
            (state, *holds, now, by, comment[:500], state, one.id),
        )
        self._note(state, one.id, by, now)

    # -- between processes ---------------------------------------------------------------------------

    def changed(self) -> bool:
        """Whether another process was heard to have changed something since this was last asked."""
        others, self._others = self._others, False
        return others

    def changes(self, of: str = "", most: int = AT_ONCE) -> list[ApprovalChange]:
        """Steps that the audit trail does not have yet, oldest first: of one request, or of all, and at most so many. What nobody
        decided in time is among them."""
        now = self._clock()
        if now >= self._next_end():
            with self._rows.changing():
                self._expire(now)
        with self._rows.reading():
            waiting = self._changes.waiting(most, **({"approval": of} if of else {}))
            found = [(row, self._get(row[3])) for row in waiting]
        return [
            ApprovalChange(number, time, action, by, one)
            for (number, time, action, _, by), one in found
            if one is not None
        ]

    def recorded(self, numbers: Iterable[int]) -> None:
        """The audit trail has these steps; what has been over for a month is forgotten, once an hour, a few at a time: the rest of
        them with the next steps."""
        self._changes.recorded_each(numbers)
        if self._clock() < self._tidied + _TIDIED_S:
            return
        with self._rows.tidying():
            over = forget_old(self._rows, self._clock() - FINAL_KEPT_S)
        if over:
            self._tidied = self._clock()

    def close(self) -> None:
        """Nothing is followed any more."""
        self._rows.close()

    # -- rows ----------------------------------------------------------------------------------------

    def _lapsed(self, one: Approval, now: float) -> bool:
        """End an approval that rests on a key that was revoked since; whether it did."""
        gone = undone_by(self._rows, one)
        if gone:
            self._end(one.id, "lapsed", gone, now)
        return bool(gone)

    def _find(self, asked: Asked, state: State, now: float) -> Approval | None:
        row = self._rows.execute(
            f"SELECT {_COLUMNS} FROM approvals WHERE agent = ? AND server = ? AND tool = ? "  # noqa: S608 - constants
            "AND (arguments_digest = ? OR (scope = 'tool' AND state = 'approved')) "
            f"AND definition_digest = ? AND policy = ? AND kind = ? AND coalesce(session, '') = ? AND state = ? AND expires > ? {_NOBODYS}"
            "ORDER BY requested LIMIT 1",
            (*msgspec.structs.astuple(asked), state, now),
        ).fetchone()
        return None if row is None else approval_of(row)

    def _get(self, id: str) -> Approval | None:
        row = self._rows.execute(
            f"SELECT {_COLUMNS} FROM approvals WHERE id = ?",  # noqa: S608 - a constant
            (id,),
        ).fetchone()
        return None if row is None else approval_of(row)

    def _decidable(self, id: str, by: str, now: float, *states: State) -> Approval:
        self._expire(now, id)
        one = self._get(id)
        if one is None:
            known = to_type("approve")
            raise CannotDecideError("unknown", f"there is no request {id}; `{known}` lists them")
        if one.state not in (states or ("pending",)):
            raise CannotDecideError(
                "over", f"{id} is {one.state} already" + (f", by {one.by}" if one.by else "")
            )
        # Separation of duties: an operator who calls a tool does not approve that call.
        if is_own(one.kind, one.agent, by):
            raise CannotDecideError("own", f"{by} asked for {id}, so somebody else has to decide")
        return one

    def _expire(self, now: float, of: str = "") -> int:
        """End what nobody decided in time, of one request or of some; how many that were."""
        due = self._rows.execute(
            f"SELECT id {_OPEN} AND expires <= ? AND ? IN ('', id) LIMIT ?",
            (now, of, _ENDED_AT_ONCE),
        ).fetchall()
        for (id,) in due:
            self._end(id, "expired", "", now)
        self._ends = 0.0  # some may be left: ask again
        return len(due)

    def _next_end(self) -> float:
        if not self._ends:
            ((ends,),) = self._rows.rows(f"SELECT min(expires) {_OPEN}")
            self._ends = float("inf") if ends is None else ends
        return self._ends

    def _heard(self) -> None:
        self._others = True
        self._ends = 0.0

    def _end(self, id: str, action: str, by: str, now: float) -> None:
        self._rows.execute(
            "UPDATE approvals SET state = 'expired', arguments = '' WHERE id = ?", (id,)
        )
        self._note(action, id, by, now)

    def _note(self, action: str, id: str, by: str, now: float) -> None:
        self._ends = 0.0
        self._changes.add(now, action, id, by)
