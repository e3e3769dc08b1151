"""Builds the policy of one configuration (access table, gates, filters), swapped whole on reload, and re-judges running calls.

Theory: everything that a configuration says about who may do what is made into new gates, whole, and
the kernel takes them all at once. What was never configured outlives them: the keys, the sessions, how
much each caller has used up, compiled schemas. Nothing here is changed while a call uses it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from gatewright import pipeline
from gatewright.access.gate import Access
from gatewright.access.grants import Grants, Layer
from gatewright.access.permission_gate import Permission
from gatewright.access.permission_policy import Permitting
from gatewright.access.policy import folders_of, grants_of
from gatewright.access.resolve_gate import Resolve
from gatewright.access.resolver import Subjects
from gatewright.app.offload import Beside
from gatewright.approvals.agreements import Agreements
from gatewright.approvals.gate import Confirm, OpenWorld
from gatewright.approvals.operators import ApprovalRequests, Operators
from gatewright.approvals.policy import queue_of, rules_of
from gatewright.call import Back, Call, Caller, Filter, Refusal, Who, verdict_of
from gatewright.config import Settings
from gatewright.flow.filter import Flow as FlowFilter
from gatewright.flow.gate import Flow, FlowRule
from gatewright.flow.taints import Taints
from gatewright.identity.gate import Authenticate, Keys
from gatewright.identity.issuers import Known, known_of
from gatewright.identity.session_gate import Session
from gatewright.identity.sessions import METHOD as SESSIONS
from gatewright.limits.gate import Rate
from gatewright.limits.poll_allowance import PollAllowance
from gatewright.limits.polls import Polls
from gatewright.limits.rules import Meters, meters_of, size_of
from gatewright.limits.tool_gate import ToolRate
from gatewright.mcp.server.protected_resource import Protected
from gatewright.mcp.wire.permissions import ASKED
from gatewright.pins.gate import Definition
from gatewright.pins.pinning import Pinning, pinned_sight
from gatewright.redaction.filter import Redact
from gatewright.redaction.policy import redaction_of, wanted_of
from gatewright.redaction.sanitize_gate import Sanitize
from gatewright.schemas.compiled import Compiled
from gatewright.schemas.gate import Schema
from gatewright.schemas.output_filter import OutputSchema
from gatewright.servers.catalogue import Catalogue, Sight
from gatewright.servers.dispatch import Dispatch
from gatewright.servers.link_filter import Links
from gatewright.servers.server_set import ServerSet
from gatewright.transport.safe_fetch import addresses_of
from gatewright.validators.gate import Validators

if TYPE_CHECKING:
    from gatewright.identity.tokens import Tokens

__all__ = ["OPEN_METHODS", "PolicyFactory", "Revoked", "Still", "Table", "filters_of", "table_of"]

OPEN_METHODS = frozenset(
    {
        "mgp/discovery/list",
        "mgp/access/query",
        "mgp/access/grant",
        "mgp/access/revoke",
        SESSIONS,
        *ASKED,
    }
)
"""Methods of MGP that exist for everybody who negotiated their extension; the others exist for operators
alone. What of them an agent may do they say themselves."""


class Table(NamedTuple):
    """Who may do what, by one configuration."""

    grants: Grants
    access: Access
    sight: Sight


def table_of(settings: Settings, issued: Layer, pinning: Pinning, permitting: Permitting) -> Table:
    """The access table, and the gate that reads it. Any thread may make one."""
    grants = grants_of(settings, issued)
    access = Access(grants, time.time, open_methods=OPEN_METHODS, folders=folders_of(settings))
    pinned = pinned_sight(access.may_see, pinning.held)
    barred = permitting.barred
    sight = Sight(
        lambda caller, tool: tool.target.server not in barred and pinned(caller, tool),
        access.may_reach,
        lambda: (access.version(), pinning.version, permitting.version),
        access.may_touch,
        pinning.held,
    )
    return Table(grants, access, sight)


def filters_of(
    settings: Settings,
    key: bytes,
    found: pipeline.Gates,
    catalogue: Catalogue,
    beside: Beside | None = None,
) -> Sequence[Filter]:
    """What cleans what travels back. `key` makes the marks of what was taken out this gateway's own, `found` are
    the gates that let the call pass, `catalogue` knows whose resources are, `beside` does what is large."""
    flow, schema = found.flow, found.schema
    return pipeline.ordered_filters(
        pipeline.Filters(
            FlowFilter(flow.taints, flow.rule.holder, idle=flow.idle),
            OutputSchema(schema.compiled, schema.off, beside.fit if beside else None),
            Redact(redaction_of(settings, key), beside.clean if beside else None),
            Links(catalogue, beside),
            size_of(settings),
        )
    )


class PolicyFactory:
    """Makes the gates, for one configuration after the other. `keys` are the API keys, `tokens` those of
    this process's own making, `owners` the sessions and who opened each, `desk` the queue of what waits for a person, `pinning` what is held back."""

    def __init__(
        self,
        keys: Keys,
        tokens: Mapping[str, Caller],
        owners: Mapping[str, Who],
        desk: ApprovalRequests,
        pinning: Pinning,
        permitting: Permitting,
        *,
        beside: Beside | None = None,
    ) -> None:
        self._beside = beside
        self._desk = desk
        self._pinning = pinning
        self._permitting = permitting
        self._keys = keys
        self._tokens = tokens
        self._taints = Taints(time.monotonic)
        self._agreements = Agreements(time.monotonic)
        self.looks = Polls(time.monotonic)
        """Which calls wait for a person; whoever lets one wait says so there."""
        self._lists = PollAllowance(time.monotonic)
        self._session = Session(owners.get)
        self._known = self._staged = Known()
        self._current: pipeline.Gates | None = None
        self._schema: Schema | None = None
        self._schema_of: object = None

    def of(
        self, settings: Settings, table: Table, fleet: ServerSet, dispatch: Dispatch
    ) -> pipeline.Gates:
        """One of each, for these settings; `dispatch` is where calls go that they let pass. They count as the current ones once `take` has them."""
        access, meters = table.access, self._meters(settings)
        beside = self._beside
        judging = (
            Sanitize(wanted_of(settings), beside.visible if beside else None),
            self._schema_gate(settings),
            Validators(addresses_of, beside.judge if beside else None),
            Permission(
                table.grants,
                time.time,
                barred=self._permitting.barred,
                value=self._permitting.value,
            ),
        )
        sanitize, schema, validators, permission = judging
        return pipeline.Gates(
            authenticate=Authenticate(
                self._keys,
                tokens=self._tokens,
                anonymous=settings.gateway.anonymous == "allow",
                users={name: one.context for name, one in settings.agents.items()},
                bearers=self._known_of(settings).tokens,
            ),
            session=self._session,
            rate=Rate(meters.callers, self.looks, self._lists),
            resolve=Resolve(
                Subjects(fleet, dispatch, access.may_reach, self._permitting.barred),
                table.sight.tool,
                access.may_see,
            ),
            access=access,
            tool_rate=ToolRate(meters.targets, meters.callers, self.looks),
            definition=Definition(self._pinning.held, fleet.catalogue.present),
            sanitize=sanitize,
            schema=schema,
            validators=validators,
            permission=permission,
            flow=Flow(self._taints, _flow_of(settings)),
            confirm=Confirm(
                Still(access, self.current),
                time.monotonic,
                operators=Operators(queue_of(settings, self._desk), self.looks, meters.give_back),
                rule=rules_of(settings),
                open_world=OpenWorld(self._agreements, settings.approvals.open_world_s),
                again=judging,
            ),
        )

    def take(self, found: pipeline.Gates) -> None:
        """From now on these are the current ones."""
        self._current = found
        self._known = self._staged

    def current(self) -> pipeline.Gates:
        """The present gates."""
        if self._current is None:
            raise RuntimeError("no gates were taken yet")
        return self._current

    def access(self) -> Access:
        """The gate that says who may do what now."""
        return self.current().access

    @property
    def protected(self) -> Protected | None:
        """What is said to clients that have no token, where tokens are taken."""
        return self._known.protected

    @property
    def tokens(self) -> Tokens | None:
        """Who knows access tokens, where they are taken."""
        return self._known.tokens

    def count(self, door: str, caller: Caller) -> Refusal | None:
        """Count a request of a caller that never becomes a call, or say why it is over a limit."""
        if self._current is None:
            return None
        return self._current.rate.meter.take(door, caller.who, caller.key_id)

    def limited(self, door: str, caller: Caller) -> Refusal | None:
        """Why the next call of a caller at a door would be over a limit; nothing is counted."""
        if self._current is None:
            return None
        return self._current.rate.meter.would(door, caller.who, caller.key_id)

    def _known_of(self, settings: Settings) -> Known:
        self._staged = known_of(settings, self._known)
        return self._staged

    def _meters(self, settings: Settings) -> Meters:
        current = self._current
        before = current and Meters(current.rate.meter, current.tool_rate.meter)
        return meters_of(settings, time.monotonic_ns, before)

    def permission(self) -> Permission:
        """The gate that says who holds which permission now."""
        if self._current is None:
            raise RuntimeError("no gates were taken yet")
        return self._current.permission

    def held(self, caller: Caller) -> list[str]:
        """Every permission that a caller holds now."""
        return self.permission().held(caller)

    def completed(self, caller: Caller) -> Caller:
        """A caller with what the configuration says of it now."""
        return caller if self._current is None else self._current.authenticate.completed(caller)

    def _schema_gate(self, settings: Settings) -> Schema:
        off = frozenset(one.id for one in settings.servers if one.schema == "off")
        limits = settings.limits
        facts = off, limits.schema_depth, limits.subschemas
        if self._schema is None or facts != self._schema_of:
            bounds = Compiled(limits.schema_depth, limits.subschemas)
            self._schema = Schema(off, bounds, self._beside.check if self._beside else None)
            self._schema_of = facts
        return self._schema


def _flow_of(settings: Settings) -> FlowRule:
    said = settings.flow
    return FlowRule(said.then, said.per, said.lasts_s)


class Still:
    """Gate `access`, once more, for a call that has waited: by the table it began with, and by all that holds now, because a grant
    that was taken back while somebody thought is gone. So are a permission, the credential, and the definition that they read."""

    name = "access"

    def __init__(self, access: Access, current: Callable[[], pipeline.Gates]) -> None:
        self._access = access
        self._current = current

    async def __call__(self, call: Call, back: Back) -> Call | Refusal:
        current = self._current()
        known = await verdict_of(current.authenticate, call, back)
        if isinstance(known, Refusal):
            return replace(known, gate=current.authenticate.name)
        verdict = self._access(known, back)
        if isinstance(verdict, Refusal):
            return verdict
        if current.access is not self._access and (refusal := current.access.judge(verdict)):
            return refusal
        return current.permission.judge(verdict) or current.definition.since(verdict) or verdict


class Revoked:
    """Judges calls that are with their owner when the configuration changes: one whose grant is gone ends,
    one whose server is gone is let come to its end."""

    name = "access"

    def __init__(
        self,
        access: Access,
        fleet: ServerSet,
        who: Callable[[Call], Caller | Refusal] | None = None,
    ) -> None:
        """All of the configuration that holds from now on. `who` says who makes a call by it."""
        self._who = who
        self._access = access
        self._fleet = fleet

    def judge(self, call: Call) -> Refusal | None:
        """Why this call may not go on; None where it may."""
        if call.target is None or call.target.server not in self._fleet.servers:
            return None
        who = call.caller
        if self._who is not None:
            found = self._who(call)
            if isinstance(found, Refusal):
                return found
            who = found
        return self._access.judge(call if who == call.caller else replace(call, caller=who))
