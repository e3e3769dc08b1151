"""Permissions of tool servers (MGP §3): decides each by policy or operator, queues open ones, bars servers; audits, announces changes.

How one permission of one server stands is asked in this order. An operator's no holds under every policy. Then:

- `interactive`: an operator's yes, or the configuration's; everything else is put to an operator.
- `auto_approve`: yes to everything.
- `deny_all`: what was said beforehand holds, by an operator or in the configuration; the rest is denied, and nobody is asked.
- `config_only`: what the configuration names, whatever operators said before; the rest is denied.

What servers declare when they connect they need: without it they are not connected, unless the configuration says that
they do with less. What they ask for later they can do without. Whatever changes an answer, an operator, time or another
configuration, reaches within a moment who waits for it, whoever runs without it, and the record.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import partial
from typing import Any, NamedTuple, Protocol

from gatewright.access.permissions import PermissionChange, Permissions, Word
from gatewright.access.refusals import server_lacks
from gatewright.approvals.queue import ApprovalQueue
from gatewright.approvals.request import Approval
from gatewright.audit.records import GATEWAY, Actor, Subject
from gatewright.call import Refusal
from gatewright.command_text import to_type
from gatewright.config import Settings
from gatewright.config.oversight import PermissionPolicy
from gatewright.listeners import Signal
from gatewright.mcp.wire.permissions import MOST, Value, permission_risk
from gatewright.servers.permission_admission import Standing, TooManyPermissions
from gatewright.storage.run_each import run_each
from gatewright.storage.state import StateDatabase

__all__ = ["Asks", "Record", "ServerPermissions", "permitting_of"]

log = logging.getLogger("gatewright.permissions")

_EVENTS: Mapping[str, str] = {
    "approved": "PERMISSION_GRANTED",
    "granted": "PERMISSION_GRANTED",
    "denied": "PERMISSION_DENIED",
    "revoked": "PERMISSION_REVOKED",
    "expired": "PERMISSION_REVOKED",
}
_BY_FILE = "configuration"
_BY_BOUND = "the bound of a server's requests"
_IDS_KEPT = 1000
"""Of each server: it chooses them, and may choose any number."""


class Record(Protocol):
    """Where steps are written down: `AuditLog.event`."""

    def __call__(
        self, event_type: str, *, actor: Actor, target: Subject, details: dict[str, Any]
    ) -> int:
        """Raises `Unrecorded`."""


class Asks(Protocol):
    """The queue of what waits for a person (`approvals.queue`)."""

    def want(self, server: str, permission: str, *, risk: str, quorum: int) -> Approval | None:
        """Put a permission to the operators, where it does not wait already."""

    def unwanted(self, server: str, permission: str) -> None:
        """Nobody has to decide on it any more."""


class _Rule(NamedTuple):
    policy: PermissionPolicy
    listed: frozenset[str]
    degrades: bool
    since: float


def _rules_of(settings: Settings) -> dict[str, _Rule]:
    rules = {}  # nobody chose a server that an agent registered: it has nothing approved by itself
    for one in settings.servers:
        mgp = one.mgp
        policy = (mgp and mgp.permission_policy) or settings.permissions.policy
        policy = "interactive" if one.private and policy == "auto_approve" else policy
        listed = frozenset(() if mgp is None else mgp.permissions_required)
        degrades = mgp is not None and mgp.missing_permissions == "degrade"
        rules[one.id] = _Rule(policy, listed, degrades, one.registered_at)
    return rules


class ServerPermissions:
    """The permissions of all servers of one gateway; also the `Permits` of `servers.permission_admission`.

    `barred` is why no call of a server may pass, by server: one dictionary for the life of the gateway."""

    hold_s = 45.0
    quorum = 1

    def __init__(self, store: Permissions, asks: Asks | None, record: Record) -> None:
        """Without `asks` there is no queue: what nobody has decided stays undecided."""
        self.barred: dict[str, Refusal] = {}
        self.version = 0
        """Changes whenever an answer may have changed."""
        self.changed: Signal[None] = Signal()
        """Told then."""
        self._store = store
        self._asks = asks
        self._record = record
        self._rules: Mapping[str, _Rule] = {}
        self._needs: dict[str, tuple[str, ...]] = {}
        self._wishes: dict[str, dict[str, None]] = {}
        self._known: dict[str, set[str]] = {}
        """What each server has ever asked about, as it connected or later."""
        self._refused: set[str] = set()
        """Those that asked about too much, which is in the record."""
        self._requests: dict[str, dict[str, None]] = {}
        """The ids of the last requests about each server."""
        self._recorded: dict[tuple[str, str], Standing] = {}
        self._turn: asyncio.Future[None] | None = None
        self._due: bool | None = None
        """Whether others' words have changed since answers were last worked out; None where that was done."""

    def adopt(self, settings: Settings) -> None:
        """Go on with what a configuration says."""
        self.hold_s, self.quorum = settings.approvals.hold_s, settings.approvals.quorum
        rules = _rules_of(settings)
        if rules != self._rules:
            gone, self._rules = set(self._rules).difference(rules), rules
            self._forget(gone)
            self._news()

    def expect(self, settings: Settings) -> None:
        """Servers of a configuration to come are about to connect. Those that none had yet are decided on by what it says."""
        self._rules = {**_rules_of(settings), **self._rules}

    def _forget(self, servers: Set[str]) -> None:
        """These are configured no more: what they asked about, they ask about again when they come back. Until then nobody is."""
        asks, known = self._asks, self._known
        if asks is not None:
            each = ((server, name) for server in servers for name in known.get(server, ()))
            run_each(*(partial(asks.unwanted, *one) for one in each))
        for each_has in (self._needs, self._wishes, self._known, self._requests):
            for server in servers:
                each_has.pop(server, None)
        self._refused -= servers
        self._recorded = {key: one for key, one in self._recorded.items() if key[0] not in servers}

    # -- for servers (`Permits`) ---------------------------------------------------------------------

    def declared(self, server: str, permissions: Sequence[str]) -> Mapping[str, Standing]:
        """How everything stands that a server declares as it connects."""
        self._count(server, permissions)
        self._needs[server] = tuple(permissions)
        found = self._decided(server, permissions)
        self._bar()
        return found

    def asked(self, server: str, permissions: Sequence[str]) -> Mapping[str, Standing]:
        """How everything stands that a server asks for while it runs."""
        self._count(server, permissions)
        self._wishes.setdefault(server, {}).update(dict.fromkeys(permissions))
        return self._decided(server, permissions)

    def named(self, server: str, ident: str) -> None:
        """Remember the id of a permission request, whichever side made it, so that an operator's answer finds the server."""
        mine = self._requests.setdefault(server, {})
        mine.pop(ident, None)
        mine[ident] = None
        # The oldest: a server must not make the gateway remember ids without end.
        if len(mine) > _IDS_KEPT:
            del mine[next(iter(mine))]

    def turn(self) -> asyncio.Future[None]:
        """A future that is done as soon as any permission of any server changes."""
        if self._turn is None:
            self._turn = asyncio.get_running_loop().create_future()
        return self._turn

    # -- for gates and operators ---------------------------------------------------------------------

    def value(self, server: str, permission: str) -> Value | None:
        """How a permission of a server stands; None where it was never a question."""
        rule = self._rules.get(server)
        if rule is None:
            return None
        known = (
            rule.policy == "auto_approve"
            or permission in rule.listed
            or permission in self._needs.get(server, ())
            or permission in self._wishes.get(server, ())
            or self._store.word(server, permission) is not None
        )
        return self._standing(server, permission).value if known else None

    def of(self, server: str) -> dict[str, Standing]:
        """Everything that is known of a server's permissions."""
        rule = self._rules.get(server)
        names = dict.fromkeys(
            (
                *(() if rule is None else sorted(rule.listed)),
                *self._needs.get(server, ()),
                *self._wishes.get(server, ()),
                *(word.permission for word in self._store.of(server)),
            )
        )
        return {name: self._standing(server, name) for name in names}

    def servers_of(self, ident: str) -> set[str]:
        """Which servers a request of this id was about."""
        return {server for server, idents in self._requests.items() if ident in idents}

    def say(self, *words: Word) -> None:
        """An operator says something, all of it or nothing. Raises `ValueError`, `StoreError`, `Unrecorded`."""
        self._store.put(*words)
        self._news()

    def ruled(self, approval: Approval) -> None:
        """What a decision in the queue means."""
        approved = approval.state == "approved"
        ends = approval.expires if approved and approval.scope != "once" else None
        self.say(
            Word(
                approval.server,
                approval.tool,
                "approved" if approved else "denied",
                approval.by,
                expires=ends,
                comment=approval.comment,
            )
        )

    def look(self) -> None:
        """Notice what another process said, and what came to its end. Several times a second.

        Raises `StoreError`, `Unrecorded`.
        """
        before = self._store.words
        if self._store.refresh_if_changed():
            self._due = self._due or self._store.words != before
        if self._due is not None:
            self._news(others=self._due)

    def close(self) -> None:
        """Give the store back."""
        self._store.close()

    # -- inside --------------------------------------------------------------------------------------

    def _count(self, server: str, permissions: Sequence[str]) -> None:
        """Take note of what a server asks about. Each is a request of its own, and it could think of ever new ones: what goes
        over the bound is refused whole, and recorded once. Raises `TooManyPermissions`."""
        known = self._known.setdefault(server, set())
        more = [name for name in permissions if name not in known]
        if len(known) + len(more) > MOST:
            if server not in self._refused:
                log.warning("server %s: %s", server, TooManyPermissions())
                why = {"reason": "resource_exhausted", "limit": MOST}
                self._put("PERMISSION_DENIED", GATEWAY, server, more[0], by=_BY_BOUND, more=why)
                self._refused.add(server)
            raise TooManyPermissions
        known.update(more)

    def _news(self, *, others: bool = True) -> None:
        """Answers may be others than before. What cannot be recorded holds all the same, and is recorded at a later look."""
        self._due = others  # stays set where a step below raises, so that `look` tries again
        self.version += others
        asking = dict.fromkeys((*self._needs, *self._wishes))
        run_each(
            self._write_down,
            *(partial(self._decide_again, server) for server in asking if server in self._rules),
            self._bar,
            partial(self.changed.send, None),
            self._tell_turn,
        )
        self._due = None

    def _decide_again(self, server: str) -> None:
        self._decided(server, [*self._needs.get(server, ()), *self._wishes.get(server, ())])

    def _tell_turn(self) -> None:
        turn, self._turn = self._turn, None
        if turn is not None and not turn.done():
            turn.set_result(None)

    def _decided(self, server: str, permissions: Iterable[str]) -> dict[str, Standing]:
        """How each stands; what nobody has decided is put to the operators, what the policy has is recorded."""
        found = {name: self._standing(server, name) for name in permissions}
        for name, one in found.items():
            if self._asks is None and one.value == "deferred":
                log.warning("server %s: nobody is asked about %s: no queue is there", server, name)
            elif self._asks is None:
                self._note(server, name, one)
            elif one.value == "deferred":
                risk = permission_risk(name)
                if self._asks.want(server, name, risk=risk, quorum=self.quorum) is None:
                    said = "server %s: nobody is asked about %s: too many of its requests wait already; `%s` shows them"
                    log.warning(said, server, name, to_type("approve"))
            else:
                self._asks.unwanted(server, name)
                self._note(server, name, one)
        return found

    def _standing(self, server: str, name: str) -> Standing:
        rule = self._rules.get(server)
        if rule is None:  # a server that no configuration has
            return Standing("denied", _BY_FILE)
        word = self._store.word(server, name)
        # A deny holds under every policy; `config_only` leaves out what operators allowed.
        since = float("inf") if rule.policy == "config_only" else rule.since
        if word is not None and (word.value == "denied" or word.decided >= since):
            return Standing(word.value, word.by, word.expires)
        if name in rule.listed:
            return Standing("approved", _BY_FILE)
        if rule.policy == "interactive":
            return Standing("deferred")
        value: Value = "approved" if rule.policy == "auto_approve" else "denied"
        return Standing(value, f"policy {rule.policy}")

    def _bar(self) -> None:
        """Whose calls may not pass: those of servers that need what they do not have."""
        self.barred.clear()  # in place: the gates hold this very dictionary
        for server, needs in self._needs.items():
            rule = self._rules.get(server)
            if rule is None or rule.degrades:
                continue
            found = {name: self._standing(server, name).value for name in needs}
            missing = [name for name, value in found.items() if value != "approved"]
            if missing:
                self.barred[server] = server_lacks(server, missing, "denied" in found.values())

    def _note(self, server: str, name: str, one: Standing) -> None:
        """Record what a policy decided, once. What operators said the store knows to be recorded."""
        if one.by != _BY_FILE and not one.by.startswith("policy "):
            self._recorded.pop((server, name), None)
            return
        if self._recorded.get((server, name)) == one:
            return
        if one.by == "policy auto_approve":
            log.warning(
                "server %s: %s was approved without a question, because the policy is auto_approve",
                server,
                name,
            )
        self._put(_EVENTS[one.value], GATEWAY, server, name, by=one.by)
        # Behind the record: what could not be recorded is tried again.
        self._recorded[server, name] = one

    def _write_down(self) -> None:
        """Put what operators said into the record, where it is not there yet."""
        for change in self._store.changes():
            self._write(change)
            self._store.recorded(change.number)

    def _write(self, change: PermissionChange) -> None:
        word = change.word
        if change.action == "expired" and word.value == "denied":
            return
        more: dict[str, Any] = {"expires_at": word.expires, "comment": word.comment}
        if change.action == "expired":
            more["reason"] = "expired"
        actor = GATEWAY if change.action == "expired" else Actor("operator", word.by)
        self._put(
            _EVENTS[change.action], actor, word.server, word.permission, by=word.by, more=more
        )

    def _put(
        self,
        event: str,
        actor: Actor,
        server: str,
        name: str,
        *,
        by: str,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        rule = self._rules.get(server)
        details = {
            "permission": name,
            "risk_level": permission_risk(name),
            "decided_by": by,
            "policy": None if rule is None else rule.policy,
            **(more or {}),
        }
        told = {key: value for key, value in details.items() if value not in (None, "")}
        self._record(event, actor=actor, target=Subject(server_id=server), details=told)


def permitting_of(
    settings: Settings, state: StateDatabase, desk: ApprovalQueue | None, record: Record
) -> ServerPermissions:
    """The permissions in a state. Raises `StoreError`."""
    store = Permissions(state, clock=time.time)
    found = ServerPermissions(store, desk, record)
    found.adopt(settings)
    if desk is not None:
        desk.ruled.listen(found.ruled)
    return found
