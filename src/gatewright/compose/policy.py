"""What judges a call, made of one configuration at a time.

Theory: everything that a configuration says about who may do what is made into new gates, whole, and
the kernel takes them all at once. What was never configured outlives them: the keys, the sessions, how
much each caller has used up, compiled schemas. Nothing here is changed while a call uses it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from gatewright import filters, gates
from gatewright.call import Back, Call, Caller, Filter, Refusal, Who, verdict_of
from gatewright.compose.approving import queue_of, rules_of
from gatewright.compose.beside import Beside
from gatewright.compose.identity import Known, known_of
from gatewright.compose.limiting import Meters, meters_of
from gatewright.compose.parts import folders_of, grants_of
from gatewright.compose.permitting import Permitting
from gatewright.compose.pinning import Pinning, pinned_sight
from gatewright.compose.redaction import redaction_of, size_of, wanted_of
from gatewright.compose.sessions import METHOD as SESSIONS
from gatewright.compose.subjects import Subjects
from gatewright.serving.protected import Protected
from gatewright.settings import Settings
from gatewright.stores.agreements import Agreements
from gatewright.stores.allowance import Allowance
from gatewright.stores.grants import Grants, Layer
from gatewright.stores.looks import Looks
from gatewright.stores.taints import Taints
from gatewright.transport.egress import addresses_of
from gatewright.upstream.catalogue import Catalogue, Sight
from gatewright.upstream.fleet import Fleet
from gatewright.validators.compiled import Compiled
from gatewright.wire.permissions import ASKED

if TYPE_CHECKING:
    from gatewright.identity import Tokens

__all__ = ["OPEN_METHODS", "Judges", "Revoked", "Still", "Table", "filters_of", "table_of"]

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
    access: gates.Access
    sight: Sight


def table_of(settings: Settings, issued: Layer, pinning: Pinning, permitting: Permitting) -> Table:
    """The access table, and the gate that reads it. Any thread may make one."""
    grants = grants_of(settings, issued)
    access = gates.Access(
        grants, time.time, open_methods=OPEN_METHODS, folders=folders_of(settings)
    )
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
    found: gates.Gates,
    catalogue: Catalogue,
    beside: Beside | None = None,
) -> Sequence[Filter]:
    """What cleans what travels back. `key` makes the marks of what was taken out this gateway's own, `found` are
    the gates that let the call pass, `catalogue` knows whose resources are, `beside` does what is large."""
    flow, schema = found.flow, found.schema
    return filters.ordered(
        filters.Filters(
            filters.Flow(flow.taints, flow.rule.holder, idle=flow.idle),
            filters.OutputSchema(schema.compiled, schema.off, beside.fit if beside else None),
            filters.Redact(redaction_of(settings, key), beside.clean if beside else None),
            filters.Links(catalogue, beside),
            size_of(settings),
        )
    )


class Judges:
    """Makes the gates, for one configuration after the other. `keys` are the API keys, `tokens` those of
    this process's own making, `owners` the sessions and who opened each, `desk` the queue of what waits for a person, `pinning` what is held back."""

    def __init__(
        self,
        keys: gates.Keys,
        tokens: Mapping[str, Caller],
        owners: Mapping[str, Who],
        desk: gates.Desk,
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
        self.looks = Looks(time.monotonic)
        """Which calls wait for a person; whoever lets one wait says so there."""
        self._lists = Allowance(time.monotonic)
        self._session = gates.Session(owners.get)
        self._known = self._staged = Known()
        self._current: gates.Gates | None = None
        self._schema: gates.Schema | None = None
        self._schema_of: object = None

    def of(self, settings: Settings, table: Table, fleet: Fleet) -> gates.Gates:
        """One of each, for these settings. They count as the current ones once `take` has them."""
        access, meters = table.access, self._meters(settings)
        beside = self._beside
        judging = (
            gates.Sanitize(wanted_of(settings), beside.visible if beside else None),
            self._schema_gate(settings),
            gates.Validators(addresses_of, beside.judge if beside else None),
            gates.Permission(
                table.grants,
                time.time,
                barred=self._permitting.barred,
                value=self._permitting.value,
            ),
        )
        sanitize, schema, validators, permission = judging
        return gates.Gates(
            authenticate=gates.Authenticate(
                self._keys,
                tokens=self._tokens,
                anonymous=settings.gateway.anonymous == "allow",
                users={name: one.context for name, one in settings.agents.items()},
                bearers=self._known_of(settings).tokens,
            ),
            session=self._session,
            rate=gates.Rate(meters.callers, self.looks, self._lists),
            resolve=gates.Resolve(
                Subjects(fleet, access.may_reach, self._permitting.barred),
                table.sight.tool,
                access.may_see,
            ),
            access=access,
            tool_rate=gates.ToolRate(meters.targets, meters.callers, self.looks),
            definition=gates.Definition(self._pinning.held, fleet.catalogue.present),
            sanitize=sanitize,
            schema=schema,
            validators=validators,
            permission=permission,
            flow=gates.Flow(self._taints, _flow_of(settings)),
            confirm=gates.Confirm(
                Still(access, self.current),
                time.monotonic,
                operators=gates.Operators(
                    queue_of(settings, self._desk), self.looks, meters.give_back
                ),
                rule=rules_of(settings),
                open_world=gates.OpenWorld(self._agreements, settings.approvals.open_world_s),
                again=judging,
            ),
        )

    def take(self, found: gates.Gates) -> None:
        """From now on these are the current ones."""
        self._current = found
        self._known = self._staged

    def current(self) -> gates.Gates:
        """The present gates."""
        if self._current is None:
            raise RuntimeError("no gates were taken yet")
        return self._current

    def access(self) -> gates.Access:
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

    def permission(self) -> gates.Permission:
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

    def _schema_gate(self, settings: Settings) -> gates.Schema:
        off = frozenset(one.id for one in settings.servers if one.schema == "off")
        limits = settings.limits
        facts = off, limits.schema_depth, limits.subschemas
        if self._schema is None or facts != self._schema_of:
            bounds = Compiled(limits.schema_depth, limits.subschemas)
            self._schema = gates.Schema(off, bounds, self._beside.check if self._beside else None)
            self._schema_of = facts
        return self._schema


def _flow_of(settings: Settings) -> gates.FlowRule:
    said = settings.flow
    return gates.FlowRule(said.then, said.per, said.lasts_s)


class Still:
    """Gate `access`, once more, for a call that has waited: by the table it began with, and by all that holds now, because a grant
    that was taken back while somebody thought is gone. So are a permission, the credential, and the definition that they read."""

    name = "access"

    def __init__(self, access: gates.Access, current: Callable[[], gates.Gates]) -> None:
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
        access: gates.Access,
        fleet: Fleet,
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
