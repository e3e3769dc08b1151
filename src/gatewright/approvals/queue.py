"""`ApprovalQueue`: takes, decides, redeems, expires requests (calls, server permissions); wakes waiting calls, audits, tells webhook.

`gatewright approve` decides in a process of its own. The gateway looks several times a second whether something was
decided (`look`); a look at a queue that nobody touched costs no statement.

Many requests may end at once, and many calls may wait for one: a look writes a bounded number of steps down, and who waits is let go
a few in each turn of the loop. What a call asks of the queue waits for the disk, on the loop: so calls ask one after the other, with a rest between
in which everybody else has their turn (`in_turn`).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from hashlib import sha256
from itertools import islice
from typing import Any, Protocol

from gatewright.approvals.request import Approval, ApprovalChange, Asked, Scope, Voter
from gatewright.approvals.store import Approvals
from gatewright.audit.records import Actor, Subject
from gatewright.call import Call
from gatewright.listeners import Signal
from gatewright.storage.errors import StoreError

__all__ = ["ApprovalQueue", "Record", "Tell"]

log = logging.getLogger("gatewright.approvals")

WISH_S = 30 * 86_400.0
"""How long a request of a server waits. The server waits with it, and asks again when it has ended."""

_AGAIN_A_LOOK = 8
"""So many steps more are tried again that failed before."""
STEPS_A_LOOK = 32
LET_GO_A_TURN = 4
"""A call that goes on costs some tenths of a millisecond."""

_REST, _LONGEST_REST_S = 2, 0.05
"""A rest is so many times as long as what was before it took."""

Tell = Callable[[Approval], Awaitable[None]]
"""Tells somebody outside of a new request. Must not raise."""


class Record(Protocol):
    """Where steps are written down: `AuditLog.event`."""

    def __call__(
        self, event_type: str, *, actor: Actor, target: Subject, details: dict[str, Any]
    ) -> int:
        """Raises `Unrecorded`."""


class ApprovalQueue:
    """The gate's `ApprovalRequests` over a store."""

    lasts_s = 3600.0
    """How long a request waits before it ends undecided."""
    tell: Tell | None = None
    offered = False
    """Whether any call may wait for an operator."""
    console = ""
    """The URL of the console, without a path; empty while none is served."""

    def __init__(
        self,
        store: Approvals,
        record: Record,
        clock: Callable[[], float] = time.perf_counter,
        *,
        alone: Callable[[str, Call], bool] = lambda *_: False,
    ) -> None:
        """`clock` gives seconds of any origin; `alone` is whether nobody but the caller of a call asks for a request."""
        self._store = store
        self._record = record
        self._waiters: dict[str, dict[asyncio.Future[None], None]] = {}
        """By request: the calls that wait for what becomes of it, longest first: a yes lets one of them run."""
        self._free: deque[asyncio.Future[None]] = deque()
        self._telling: set[asyncio.Task[None]] = set()
        self._writing = False
        self._half: dict[int, None] = {}
        """The numbers of steps that are in the record, and of which `ruled` could not be told yet: tried longest ago first."""
        self._unruled: Exception | None = None
        self._due = False
        self._clock = clock
        self._alone = alone
        self._line = asyncio.Lock()
        self._free_at = 0.0
        self.ruled: Signal[Approval] = Signal()
        """Told what operators decide about permissions of servers. A listener may raise: then the step is put down again later."""

    def adopt(self, *, lasts_s: float, tell: Tell | None, offered: bool) -> None:
        """Go on with what a configuration says."""
        self.lasts_s, self.tell, self.offered = lasts_s, tell, offered

    def console_at(self, url: str) -> None:
        """Where the console is served now: its URL without a path, empty for nowhere."""
        self.console = url

    @property
    def rests_s(self) -> float:
        """How long it is until the next call may ask."""
        return max(0.0, self._free_at - self._clock())

    @asynccontextmanager
    async def in_turn(self) -> AsyncIterator[None]:
        """While inside, it is this call's turn to ask of the queue, without waiting for anything meanwhile."""
        async with self._line:
            await asyncio.sleep(self.rests_s)  # with the lock held: that is the rest
            began = self._clock()
            try:
                yield
            finally:
                now = self._clock()
                self._free_at = now + min(_REST * (now - began), _LONGEST_REST_S)

    def redeem(self, asked: Asked) -> Approval | None:
        """Use an approval of this very question up, where there is one."""
        used = self._store.redeem(asked)
        if used is not None:
            self._write_down(used.id)  # before the call runs: no use without its record
        return used

    def ask(
        self,
        asked: Asked,
        *,
        arguments: str,
        risk: str,
        reason: str,
        quorum: int,
        began: Callable[[str], None] = lambda _: None,
    ) -> Approval | None:
        """The request for this question; `began` is told its id where it is a new one. None where its caller has too many waiting."""
        made = self._store.ask(
            asked,
            arguments=arguments,
            risk=risk,
            reason=reason,
            quorum=quorum,
            lasts_s=self.lasts_s,
            began=began,
        )
        if made is not None:
            self._write_down(made.id)
        return made

    async def decided(self, id: str) -> None:
        """Wait until a request is no longer undecided."""
        one = self._store.get(id)
        # Without an await from here to the waiter: no decision can be missed in between.
        if one is None or one.state != "pending":
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiters = self._waiters.setdefault(id, {})
        waiters[waiter] = None
        try:
            await waiter
        finally:
            waiters.pop(waiter, None)
            if not waiters and self._waiters.get(id) is waiters:
                del self._waiters[id]

    def withdraw(self, id: str, call: Call) -> None:
        """Whoever asked by this call takes its request back, where nobody else asked, no call waits for it and nobody has decided on it."""
        if self._alone(id, call) and not self._waiters.get(id) and self._store.withdraw(id):
            self._write_down(id)
            self._wake()

    def get(self, id: str) -> Approval | None:
        """One request, whatever became of it."""
        return self._store.get(id)

    def pending(self) -> list[Approval]:
        """Those that wait for a decision, oldest first. Raises `StoreError`."""
        return self._store.waiting()

    def decide(
        self,
        id: str,
        yes: bool,
        *,
        by: Voter,
        seen: str,
        comment: str = "",
        edited: str = "",
        scope: Scope = "once",
        lasts_s: float | None = None,
    ) -> Approval:
        """An operator decides, having `seen` the arguments: on one call, or for a `scope` that lasts so many seconds.
        Raises `CannotDecideError`, `ValueError`."""
        if yes:
            found = self._store.approve(
                id, by=by, comment=comment, edited=edited, seen=seen, scope=scope, lasts_s=lasts_s
            )
        else:
            found = self._store.deny(id, by=by.name, comment=comment)
        self._write_down(id)
        self._wake()
        return found

    def drop(self, id: str, *, by: str, comment: str) -> Approval:
        """An operator denies a request that nobody has decided on, and for which no call waits any more. Raises `CannotDecideError`
        also where it was approved meanwhile: that holds."""
        found = self._store.deny(id, by=by, comment=comment, undecided=True)
        self._write_down(id)
        self._wake()
        return found

    def undone(self, id: str) -> bool:
        """Whether an approval, used or not, rests on a key that was revoked since (`approvals.agreements`)."""
        return self._store.undone(id)

    def want(self, server: str, permission: str, *, risk: str, quorum: int) -> Approval | None:
        """Put a permission to the operators, where it does not wait already."""
        made = self._store.ask(
            _wish(server, permission),
            arguments="{}",
            risk=risk,
            reason="the server asks for it",
            quorum=quorum,
            lasts_s=WISH_S,
        )
        self._write_down()
        return made

    def unwanted(self, server: str, permission: str) -> None:
        """Nobody has to decide on it any more."""
        if self._store.unwanted(_wish(server, permission)):
            self._write_down()

    # -- for the gateway -----------------------------------------------------------------------------

    @property
    def waiting(self) -> int:
        """How many requests wait for a decision; none where the store cannot say."""
        try:
            return len(self._store.undecided)
        except StoreError:
            return 0

    def look(self) -> None:
        """Notice what another process did, and what nobody decided in time. Several times a second.

        Raises `StoreError`, and what `ruled` did.
        """
        self._due = self._store.changed() or self._due
        self._unruled = None
        self._due = self._write_down() or self._due
        if self._due:
            self._wake()
        if self._unruled is not None:
            raise self._unruled

    def close(self) -> None:
        """Give the store back; who waits is on its own."""
        for task in self._telling:
            task.cancel()
        self._store.close()

    def _wake(self) -> None:
        self._due = True  # until all are let go who wait for nothing any more
        if self._waiters:
            pending = self._store.undecided.among(self._waiters)
            for id, waiters in self._waiters.items():
                if id not in pending:
                    self._free.extend(waiters)
            self._let_go()
        self._due = False

    def _let_go(self) -> None:
        for _ in range(min(LET_GO_A_TURN, len(self._free))):
            waiter = self._free.popleft()
            if not waiter.done():
                waiter.set_result(None)
        if self._free:
            asyncio.get_running_loop().call_soon(self._let_go)

    def _write_down(self, of: str = "") -> bool:
        """Put steps that are not yet there into the audit trail, oldest first: some, and every one of the request `of`. Whether
        there was one.

        Raises `Unrecorded` (of `call`).
        """
        if self._writing:  # a decision asks for further ones: they are written down in their turn
            return False
        self._writing, found = True, False
        try:
            changes = self._due_now()
            found = bool(changes)
            self._write_all(changes)
            while of and self._write_all(self._store.changes(of, STEPS_A_LOOK)):
                found = True
        finally:
            self._writing = False
        return found

    def _due_now(self) -> list[ApprovalChange]:
        """The steps of one look. What keeps failing takes a few places of its own, in turns, and none of the others'."""
        most = STEPS_A_LOOK + len(self._half)
        changes = self._store.changes("", most)
        if len(changes) < most:
            there = {one.number for one in changes}
            self._half = {number: None for number in self._half if number in there}
        again = frozenset(islice(self._half, _AGAIN_A_LOOK))
        return [one for one in changes if one.number not in self._half or one.number in again]

    def _write_all(self, changes: list[ApprovalChange]) -> bool:
        """Whether any of them is done."""
        done: list[ApprovalChange] = []
        try:
            for change in changes:
                if self._write(change):
                    done.append(change)  # noqa: PERF401 - one at a time: the next may raise
        finally:
            if done:  # also where one after them could not be written
                self._store.recorded(one.number for one in done)
                self._tell_of(done)
        return bool(done)

    def _tell_of(self, changes: list[ApprovalChange]) -> None:
        tell = self.tell
        for change in changes:
            if change.action == "requested" and tell is not None:
                self._tell(tell, change.approval)

    def _write(self, change: ApprovalChange) -> bool:
        """Put one step into the record, and into force; whether nothing of it is left to do."""
        one = change.approval
        if change.number not in self._half:
            self._record(
                f"dev.gatewright.approval.{change.action}",
                actor=_actor(change),
                target=_target(one),
                details=_details(one) | _of_whom(change),
            )
        if one.kind == "server" and change.action in ("approved", "denied"):
            try:
                self.ruled.send(one)
            except Exception as problem:  # noqa: BLE001 - `look` raises it; nobody else's step waits for this one
                self._half.pop(change.number, None)
                self._half[change.number] = None
                self._unruled = problem
                return False
        self._half.pop(change.number, None)
        return True

    def _tell(self, tell: Tell, approval: Approval) -> None:
        task = asyncio.ensure_future(tell(approval))
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)


def _actor(change: ApprovalChange) -> Actor:
    if change.action in ("unvoted", "lapsed"):
        return Actor("system", "gatewright")
    if change.action in ("requested", "used", "withdrawn"):
        return Actor(change.approval.kind, change.by)  # who asked
    return Actor("operator", change.by) if change.by else Actor("system", "gatewright")


def _wish(server: str, permission: str) -> Asked:
    return Asked(agent=server, server=server, tool=permission, kind="server")


def _target(one: Approval) -> Subject:
    return Subject(server_id=one.server, tool_name=None if one.kind == "server" else one.tool)


def _of_whom(change: ApprovalChange) -> dict[str, Any]:
    """Whose yes counts no more, where that is the step."""
    return {"operator": change.by} if change.action in ("unvoted", "lapsed") else {}


def _details(one: Approval) -> dict[str, Any]:
    """What the record says of a request: what it is bound to, and no argument."""
    if one.kind == "server":
        return {"approval": one.id, "permission": one.tool, "risk_level": one.risk}
    found: dict[str, Any] = {
        "approval": one.id,
        "agent": one.agent,
        "agent_kind": one.kind,  # a host and a key of one name are two
        "arguments_digest": one.arguments_digest,
        "definition_digest": one.definition_digest,
        "policy": one.policy,
        "risk_level": one.risk,
    }
    if one.edited:
        found["edited_digest"] = sha256(one.edited.encode()).hexdigest()
    if one.quorum > 1:
        found["quorum"] = one.quorum
    if one.state == "approved" and one.scope != "once":
        found |= {"scope": one.scope, "until": one.expires}
    return found
