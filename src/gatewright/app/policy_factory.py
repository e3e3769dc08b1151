"""`PolicyFactory` builds gates, filters, tool visibility from features' rules; `Still`, `Revoked` recheck access of waiting, running calls.

Everything that a configuration says about who may do what is made into new gates, whole, and the kernel takes them all at once.
What was never configured outlives them in the features: sessions, what each caller has used up, compiled schemas. Where the
feature of a gate is not there, `missing` stands in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from gatewright import pipeline
from gatewright.call import Back, Call, Caller, Filter, Gate, Refusal, Tool, verdict_of
from gatewright.call_policy import Judge, Since
from gatewright.config import Settings
from gatewright.feature import Feature, Making, Rules
from gatewright.identity.gate import Authenticate, Keys
from gatewright.identity.issuers import Known, known_of
from gatewright.identity.session_gate import Session
from gatewright.in_force import InForce
from gatewright.missing import Missing, Without, unmade
from gatewright.servers.catalogue import EVERYTHING, Sight
from gatewright.servers.dispatch import Dispatch
from gatewright.servers.link_filter import Beside, Links
from gatewright.servers.server_set import ServerSet

__all__ = ["Made", "PolicyFactory", "Revoked", "Still", "Table", "sight_of"]


class Table(NamedTuple):
    """What features make of one configuration."""

    settings: Settings
    rules: Sequence[Rules]
    sight: Sight


class Made(NamedTuple):
    """The policy of one configuration; `known` are the OAuth issuers."""

    gates: Mapping[str, Gate]
    filters: Sequence[Filter]
    authenticate: Authenticate
    known: Known


class PolicyFactory:
    """Makes the gates, for one configuration after the other. `keys` are the API keys, `tokens` those of this process's own making,
    `session` is the gate that knows who opened which session; `links` reads large results."""

    def __init__(
        self,
        now: InForce,
        features: Sequence[Feature],
        keys: Keys,
        tokens: Mapping[str, Caller],
        session: Session,
        *,
        missing: Sequence[Without] = (),
        links: Beside | None = None,
    ) -> None:
        self._now = now
        self._features = features
        self._keys = keys
        self._tokens = tokens
        self._session = session
        self._links = links
        self._missing = missing

    def table(self, settings: Settings) -> Table:
        """Who may see what, and what gates will be made of. Any thread may make one."""
        rules = [one.rules(settings) for one in self._features]
        return Table(settings, rules, sight_of(rules, settings, self._missing))

    def of(self, table: Table, servers: ServerSet, dispatch: Dispatch) -> Made:
        """One of each; `dispatch` is where calls go that they let pass. Nothing of them holds before it is taken."""
        settings, gates = table.settings, dict[str, Gate]()
        known = known_of(settings, self._now.known)
        authenticate = self._authenticate(settings, known)
        making = Making(
            settings=settings,
            servers=servers,
            dispatch=dispatch,
            sight=table.sight,
            made=gates,
            former=self._now.gates,
            still=Still(gates, self._now),
        )
        gates["authenticate"], gates["session"] = authenticate, self._session
        makers = {name: make for one in table.rules for name, make in one.gates.items()}
        instead = {gate: one for one in self._missing for gate in one.gates}
        for name in pipeline.Gates._fields[2:]:
            if name == "resolve":
                # What has no gate of its own is refused before a name that means nothing without it.
                ungated = (one for one in self._missing if not one.gates)
                gates |= {one.name: Missing(one.name, one, settings) for one in ungated}
            made = makers.get(name)
            without = instead.get(name) or unmade(name)
            gates[name] = made(making) if made else Missing(name, without, settings)
        return Made(gates, self._filters(table, making), authenticate, known)

    def _filters(self, table: Table, making: Making) -> Sequence[Filter]:
        makers = {name: make for one in table.rules for name, make in one.filters.items()}
        made = {name: make(making) for name, make in makers.items()}
        made["links"] = Links(making.servers.catalogue, self._links)
        return pipeline.ordered_filters(
            made[one] for one in pipeline.Filters._fields if one in made
        )

    def _authenticate(self, settings: Settings, known: Known) -> Authenticate:
        return Authenticate(
            self._keys,
            tokens=self._tokens,
            anonymous=settings.gateway.anonymous == "allow",
            users={name: one.context for name, one in settings.agents.items()},
            bearers=known.tokens,
        )


def sight_of(rules: Sequence[Rules], settings: Settings, missing: Sequence[Without]) -> Sight:
    """Who may see what: where a feature says so, and nobody else; nothing that is held back, nor what may not be called because
    a feature is missing."""
    seen = next((one.sight for one in rules if one.sight is not None), None)
    if seen is None:
        return Sight(lambda *_: False, lambda *_: False, lambda: 0, lambda *_: False)
    may_see, version = seen.tool, seen.version
    holding = [one.held for one in rules if one.held is not None]
    holding += [partial(one.held, settings) for one in missing]
    versions = [one.version for one in rules if one.version is not None]

    def first(tool: Tool) -> str:
        return next((why for one in holding if (why := one(tool))), "")

    held = holding[0] if len(holding) == 1 else first  # asked of each tool of a list

    def tool(caller: Caller, tool: Tool) -> bool:
        return may_see(caller, tool) and not held(tool)

    listed = next((one.listed for one in rules if one.listed is not None), EVERYTHING.listed)
    sight_version = lambda: (version(), *(one() for one in versions))  # noqa: E731
    return Sight(tool, seen.server, sight_version, seen.resource, held, listed, seen.unlisted)


class Still:
    """Gate `access`, once more, for a call that has waited: by the table it began with, and by all that holds now, because a grant
    that was taken back while somebody thought is gone. So are a permission, the credential, and the definition that they read."""

    name = "access"

    def __init__(self, then: Mapping[str, Gate], now: InForce) -> None:
        """`then` are the gates that the call has passed."""
        self._then = then
        self._now = now

    async def __call__(self, call: Call, back: Back) -> Call | Refusal:
        then, now = self._then["access"], self._now.gates
        known = await verdict_of(now["authenticate"], call, back)
        if isinstance(known, Refusal):
            return replace(known, gate="authenticate")
        verdict = await verdict_of(then, known, back)
        if isinstance(verdict, Refusal):
            return verdict
        return self._judged(verdict, then, now) or verdict

    @staticmethod
    def _judged(call: Call, then: Gate, now: Mapping[str, Gate]) -> Refusal | None:
        access, permission = now["access"], now["permission"]
        changed = _judge(access).judge(call) if access is not then else None
        found = changed or _judge(permission).judge(call)
        # What may have changed for other gates while a person thought, each of them knows (`call_policy.Since`).
        asked = (gate.since(call) for gate in now.values() if isinstance(gate, Since))
        return found or next(filter(None, asked), None)


def _judge(gate: Gate) -> Judge:
    """A gate that can be asked again. Raises `TypeError`: then nothing passes."""
    if not isinstance(gate, Judge):
        raise TypeError(f"gate {gate.name} cannot be asked again")
    return gate


class Revoked:
    """Judges calls that are with their owner when the configuration changes: one whose grant is gone ends, wherever it runs, and one
    whose caller is nobody any more; one whose server is gone is let come to its end."""

    name = "access"

    def __init__(
        self,
        access: Gate,
        fleet: ServerSet,
        who: Callable[[Call], Caller | Refusal] | None = None,
    ) -> None:
        """All of the configuration that holds from now on. `who` says who makes a call by it."""
        self._who = who
        self._access = _judge(access)
        self._fleet = fleet

    def judge(self, call: Call) -> Refusal | None:
        """Why this call may not go on; None where it may."""
        who = call.caller
        if self._who is not None:
            found = self._who(call)
            if isinstance(found, Refusal):
                return found
            who = found
        # Without a target nobody's grant is needed, or it is not known yet whose.
        if call.target is None or call.target.server not in self._fleet.owners:
            return None
        return self._access.judge(call if who == call.caller else replace(call, caller=who))
