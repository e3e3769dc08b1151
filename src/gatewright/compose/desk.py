"""The queue of what waits for a person, inside the running gateway: who waits is woken, what happens is recorded,
and whoever wants to know of a new request is told.

`gatewright approve` decides in a process of its own. The gateway looks several times a second whether something was
decided (`look`); a look at a queue that nobody touched costs a few microseconds.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import Any, Protocol

from gatewright.stores.approval import Approval, ApprovalChange, Asked
from gatewright.stores.approvals import Approvals
from gatewright.stores.errors import StoreError
from gatewright.stores.records import Actor, Subject

__all__ = ["Desk", "Record", "Tell"]

log = logging.getLogger("gatewright.approvals")

WISH_S = 30 * 86_400.0
"""How long a request of a server waits. The server waits with it, and asks again when it has ended."""

Tell = Callable[[Approval], Awaitable[None]]
"""Tells somebody outside of a new request. Must not raise."""


class Record(Protocol):
    """Where steps are written down: `AuditLog.event`."""

    def __call__(
        self, event_type: str, *, actor: Actor, target: Subject, details: dict[str, Any]
    ) -> int:
        """Raises `Unrecorded`."""


class Desk:
    """The gate's `Desk` over a store."""

    lasts_s = 3600.0
    """How long a request waits before it ends undecided."""
    tell: Tell | None = None

    def __init__(self, store: Approvals, record: Record) -> None:
        self._store = store
        self._record = record
        self._news = asyncio.Event()
        self._telling: set[asyncio.Task[None]] = set()
        self._writing = False
        self.page: Callable[[Approval], str] = lambda _: ""
        """Gives the URL of a page on which an operator decides; empty where there is none."""
        self.ruled: Callable[[Approval], None] = lambda _: None
        """Hears what operators decide about permissions of servers."""

    # -- for the gate --------------------------------------------------------------------------------

    def redeem(self, asked: Asked) -> Approval | None:
        """Use an approval of this very question up, where there is one."""
        used = self._store.redeem(asked)
        if used is not None:
            self._write_down()  # before the call runs: no use without its record
        return used

    def ask(
        self, asked: Asked, *, arguments: str, risk: str, reason: str, quorum: int
    ) -> Approval | None:
        """The request for this question. None where its caller has too many waiting."""
        made = self._store.ask(
            asked,
            arguments=arguments,
            risk=risk,
            reason=reason,
            quorum=quorum,
            lasts_s=self.lasts_s,
        )
        self._write_down()
        return made

    async def decided(self, id: str) -> None:
        """Wait until a request is no longer undecided."""
        while True:
            news = self._news
            one = self._store.get(id)
            if one is None or one.state != "pending":
                return
            await news.wait()

    # -- for tasks (`compose.tasks`) -----------------------------------------------------------------

    def withdraw(self, id: str) -> None:
        """Whoever asked takes its request back, where nobody has decided on it."""
        if self._store.withdraw(id):
            self._write_down()
            self._wake()

    # -- for operators (`doors.approval_page`) -------------------------------------------------------

    def get(self, id: str) -> Approval | None:
        """One request, whatever became of it."""
        return self._store.get(id)

    def decide(
        self, id: str, yes: bool, *, by: str, seen: str, comment: str = "", edited: str = ""
    ) -> Approval:
        """An operator decides on one call, of which they have `seen` the arguments. Raises `CannotDecideError`, `ValueError`."""
        if yes:
            found = self._store.approve(id, by=by, comment=comment, edited=edited, seen=seen)
        else:
            found = self._store.deny(id, by=by, comment=comment)
        self._write_down()
        self._wake()
        return found

    # -- for servers (`compose.permitting`) ----------------------------------------------------------

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
            return len(self._store.waiting())
        except StoreError:
            return 0

    def look(self) -> None:
        """Notice what another process did, and what nobody decided in time. Several times a second.

        Raises `StoreError`.
        """
        if self._write_down() or self._store.changed():
            self._wake()

    def close(self) -> None:
        """Give the store back; who waits is on its own."""
        for task in self._telling:
            task.cancel()
        self._store.close()

    def _wake(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()

    def _write_down(self) -> bool:
        """Put every step that is not yet there into the audit trail; whether there was one.

        Raises `Unrecorded` (of `call`).
        """
        if self._writing:  # a decision asks for further ones: they are written down in their turn
            return False
        self._writing, found = True, False
        try:
            while changes := self._store.changes():
                found = True
                for change in changes:
                    self._write(change)
        finally:
            self._writing = False
        return found

    def _write(self, change: ApprovalChange) -> None:
        one = change.approval
        self._record(
            f"dev.gatewright.approval.{change.action}",
            actor=_actor(change),
            target=_target(one),
            details=_details(one),
        )
        if one.kind == "server" and change.action in ("approved", "denied"):
            self.ruled(one)
        self._store.recorded(change.number)
        if change.action == "requested" and self.tell is not None:
            self._tell(self.tell, one)

    def _tell(self, tell: Tell, approval: Approval) -> None:
        task = asyncio.ensure_future(tell(approval))
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)


def _actor(change: ApprovalChange) -> Actor:
    if change.action in ("requested", "used", "withdrawn"):
        return Actor(change.approval.kind, change.by)
    return Actor("operator", change.by) if change.by else Actor("system", "gatewright")


def _wish(server: str, permission: str) -> Asked:
    return Asked(agent=server, server=server, tool=permission, kind="server")


def _target(one: Approval) -> Subject:
    return Subject(server_id=one.server, tool_name=None if one.kind == "server" else one.tool)


def _details(one: Approval) -> dict[str, Any]:
    """What the record says of a request: what it is bound to, and no argument."""
    if one.kind == "server":
        return {"approval": one.id, "permission": one.tool, "risk_level": one.risk}
    found: dict[str, Any] = {
        "approval": one.id,
        "agent": one.agent,
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
