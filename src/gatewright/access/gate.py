"""Gate `access`: decides calls, list entries, resources by grants (MGP §5), role, and a caller's tool, trust, path limits; caches decisions.

Theory: one question, asked in places that must agree: for a call, once more after a wait for a person
and when grants change while it runs, for every line of a list, and for whoever asks what would be.
Tools are decided one by one, and so are their tasks; prompts, resources and everything else that a server answers are decided
with the server as a whole, because grants name tools only.

The process owner's host and operators stand where the default policy would: what the configuration's
servers offer is open to them, and the gateway's own tools to operators; an agent has what it registered itself. Those about tools (`is_meta`) are open to everybody, as lists
are. An explicit word in the table holds for them as for everybody.
Calls that no server answers belong to the gateway itself; of those, lists are filtered line by line
with `may_see`, and MGP's own methods do not exist for anybody but an operator unless they are `open`.

A caller of whom a key, the configuration or a token says more (`Caller.user`) is limited by that as well: to
the tools that are named, for calls and for lists; to risks that fit its trust; to some paths and URIs. Tools
that are named for it need no grant, but what the table denies stays denied (decision C-32, table 2.2).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container, Mapping, Sequence

from msgspec import Raw
from msgspec.structs import replace

from gatewright.access.grants import Decision, Grants, granting, no_grant
from gatewright.access.refusals import BY_CALLER, GATE, lacks, outside, too_many, too_risky
from gatewright.access.touched import Known, looked_through, touched
from gatewright.call import ANONYMOUS, KERNEL, Back, Call, Caller, Refusal, Target, Tool, Who
from gatewright.command_text import to_type
from gatewright.identity.rights import rights_of, runs_programs
from gatewright.mcp.wire.permissions import INVOKE, LIST_ALL, REGISTRY_READ, REGISTRY_WRITE
from gatewright.schemas.objection import Validator
from gatewright.schemas.value_weight import outweighs
from gatewright.servers.definition_digest import definition_digest
from gatewright.servers.names import is_meta
from gatewright.short_cache import LONGEST
from gatewright.standing import Standing
from gatewright.validators.registry import Checks
from gatewright.validators.resources import Resources

__all__ = ["Access", "Judged"]

_WHOLE_SERVER = ""
"""No grant names an empty tool, so a question about it is answered for the server as a whole."""

_OPERATORS = ("mgp/", "gatewright/")
"""How the gateway's own methods begin."""

_BY_ROLE = "owner"
_ROLES = ("owner", "operator")
_OPERATOR = ("operator",)
_REMEMBERED = 65_536

_FOLLOWED = frozenset({"resources/subscribe", "resources/unsubscribe"})
_PASSED_ON = frozenset(
    _FOLLOWED
    | {"logging/setLevel", "notifications/roots/list_changed"}
    | {f"tasks/{what}" for what in ("get", "result", "cancel", "list", "update")}
)
"""Methods for servers whose effect is known: the only ones for callers who are limited."""
_REGISTRY = {
    "mgp/discovery/register": REGISTRY_WRITE,
    "mgp/discovery/deregister": REGISTRY_WRITE,
    "mgp/discovery/list": REGISTRY_READ,
    "tools/register": REGISTRY_WRITE,
}
"""The gateway's own methods that a permission opens."""

_Question = tuple[str, str, str, str]
_Definition = Mapping[str, Raw]
Judged = tuple[bool, str, Decision]
"""Whether it is allowed, the level that says so, and the table's word."""
_LIGHT = 16_384
"""What arguments weigh that are looked through at once: two thousand texts, some milliseconds."""
_TOUCHED_US = 50_000
"""Microseconds that judging the paths of one call may take: here they are judged on the event loop, some hundred of them."""


class Access:
    """Gate `access`. Writes the deciding level into the fact `access`: `tool_grant`, `server_grant`,
    `default_policy`, `owner` or `caller_permission`; what limits the caller into `constraints`, and the
    permissions that the tool needs into `permissions_used`."""

    name = GATE

    def __init__(
        self,
        grants: Grants,
        clock: Callable[[], float],
        *,
        open_methods: Container[str] = frozenset(),
        folders: Mapping[str, str] | None = None,
        private: Mapping[str, Who] | None = None,
    ) -> None:
        """`clock` gives Unix seconds. `open_methods` are the `mgp/…` methods that everybody may call, `folders` says in which folder
        of this machine a server runs, `private` are servers that by default only operators have and the agent that registered each."""
        self._grants = grants
        self._clock = clock
        self._open = open_methods
        self._decided: dict[_Question, tuple[_Definition | None, Judged]] = {}
        self._decided_at = -1
        self._folders = folders or {}
        self._private = private or {}
        self._bounds: dict[tuple[Sequence[Sequence[str]], str], Resources | None] = {}

    def __call__(self, call: Call, back: Back) -> Call | Refusal | Awaitable[Call | Refusal]:
        tool, caller = call.tool, call.caller
        # The usual call, without the detour: nothing but the table decides about a caller without claims.
        if tool is not None and not caller.user and call.kind == "tool":
            target, definition = tool.target, tool.definition
            found = self._decided.get((caller.id, caller.kind, target.server, target.name))
            # As `_decide` has it: nearly all calls are like one before them.
            if (
                found is not None
                and found[0] is definition
                and self._grants.version(self._clock()) == self._decided_at
            ):
                allowed, call.facts["access"], word = found[1]
            else:
                allowed, call.facts["access"], word = self._decide(
                    caller, target.server, target.name, definition
                )
            return call if allowed else self._denied(call, word)
        bounds = (
            self._bounds_of(caller, call.target.server) if caller.user and call.target else None
        )
        if bounds is None or not outweighs(call.arguments, _LIGHT):
            return self._noted(call, *self._judged(call))
        refusal, source = self._judged(replace(call, touches=(call.arguments, ())))
        return self._noted(call, refusal, source) if refusal else self._slowly(call, bounds)

    def stands(self, call: Call) -> Standing | None:
        """The table's word, as long as the table is as it was. Of callers who are limited arguments may count."""
        tool, caller = call.tool, call.caller
        if tool is None or caller.user or call.kind != "tool":
            return None
        target = tool.target
        allowed, source, _ = self._decide(caller, target.server, target.name, tool.definition)
        return Standing(self._grants.rests(self._clock), {"access": source}) if allowed else None

    async def _slowly(self, call: Call, bounds: Resources) -> Call | Refusal:
        """What there is nothing else against: thousands of texts, whose looking through would hold up everybody else's calls."""
        known = await looked_through(call, bounds)
        return self._noted(known, *self._judged(known))

    def eased(self, call: Call) -> Call | Awaitable[Call]:
        """The call with what its arguments name, where they are large and were changed since it passed: `sanitize` stands behind."""
        if call.touches is None or call.touches[0] is call.arguments or call.target is None:
            return call
        bounds = self._bounds_of(call.caller, call.target.server)
        return call if bounds is None else looked_through(call, bounds)

    @staticmethod
    def _noted(call: Call, refusal: Refusal | None, source: str) -> Call | Refusal:
        if source:
            call.facts["access"] = source
        if call.caller.user:
            _note(call)
        return refusal or call

    def judge(self, call: Call) -> Refusal | None:
        """Why this call may not pass as things stand now; None where it may. Writes nothing."""
        return self._judged(call)[0]

    def _judged(self, call: Call) -> tuple[Refusal | None, str]:
        target, tool = call.target, call.tool or call.task_tool
        if target is None:
            return (self._own_limited(call) if call.caller.user else self._own(call)), ""
        name = target.name if call.of_tool else _WHOLE_SERVER
        definition = None if tool is None else tool.definition
        judged = self._decide(call.caller, target.server, name, definition)
        if call.caller.user and not is_meta(target):
            return self._limited(call, target, judged)
        allowed, source, word = judged
        return (None if allowed else self._denied(call, word)), source

    def of_tool(self, caller: Caller, server: str, name: str, tool: Tool | None) -> Judged:
        """What holds for a tool by its own name; `tool` is what the catalogue has of that name."""
        known = None if tool is None else tool.definition
        judged = (self._found if tool is None else self._decide)(caller, server, name, known)
        if not caller.user or is_meta(Target(server, name)):
            return judged
        return _named(judged, self._may_invoke(caller, Target(server, name), tool))

    def of_server(self, caller: Caller, server: str) -> Judged:
        """What holds for a server as a whole, also for one that there is not."""
        return self._found(caller, server, _WHOLE_SERVER, None)

    def may_see(self, caller: Caller, tool: Tool) -> bool:
        """Whether a call of this tool would pass, so that lists show what can be called and no more."""
        target = tool.target
        judged = self._decide(caller, target.server, target.name, tool.definition)
        if not caller.user or is_meta(target):
            return judged[0]
        rights = rights_of(caller.user)
        said = rights.reads(_names(target, tool))
        # Where claims name tools, the operator chose what is listed; a call of a risky one is refused all the same.
        if said is None and rights.too_risky(tool.security):
            return False
        return _named(judged, None if said and self._closed(target.server) else said)[0]

    def may_reach(self, caller: Caller, server: str) -> bool:
        """The same for what a server offers besides tools."""
        return self._decide(caller, server, _WHOLE_SERVER)[0]

    def may_touch(self, caller: Caller, resource: Target) -> bool:
        """The same for one resource of a server, by its own URI there."""
        bounds = self._bounds_of(caller, resource.server) if caller.user else None
        return bounds is None or bounds.allows(resource.name)

    def version(self) -> int:
        """A number that changes whenever any answer may have changed, expiry of a grant included."""
        return self._grants.version(self._clock())

    def _decide(
        self, caller: Caller, server: str, tool: str, definition: _Definition | None = None
    ) -> Judged:
        """Remembered for as long as the table and the tool's definition stay the same."""
        now = self._clock()
        version = self._grants.version(now)
        if version != self._decided_at:
            self._decided = {}
            self._decided_at = version
        question = (caller.id, caller.kind, server, tool)
        found = self._decided.get(question)
        # By identity: a grant may be bound to the digest of a definition, and another object may be another definition.
        if found is None or found[0] is not definition:
            if len(self._decided) > _REMEMBERED:
                self._decided = {}
            found = definition, self._found(caller, server, tool, definition)
            if len(tool) <= LONGEST:  # a server may list others of any length with each second
                self._decided[question] = found
        return found[1]

    def _found(self, caller: Caller, server: str, tool: str, known: _Definition | None) -> Judged:
        """Not remembered: who asks what would be names what there is not, at any length and without end."""
        word = self._grants.decide(caller.id, server, tool, self._clock(), _digest_of(known))
        if word.source == "default_policy" and is_meta(Target(server, tool)):
            return True, word.source, word
        # By kind and id: a key may be named as another caller is. What nameless callers registered is no one's of them.
        if caller.who == self._private.get(server) and caller.kind != ANONYMOUS.kind:
            return _judge(caller, word, (caller.kind,))
        return _judge(caller, word, _OPERATOR if self._closed(server) else _ROLES)

    def _closed(self, server: str) -> bool:
        """Whether a server is the gateway's own or registered by an agent. Claims open none of its tools."""
        return server == KERNEL or server in self._private

    def _may_invoke(self, caller: Caller, target: Target, tool: Tool | None) -> bool | None:
        """What was said of the caller and this tool."""
        said = rights_of(caller.user).invokes(_names(target, tool))
        return None if said and self._closed(target.server) else said

    def _own(self, call: Call) -> Refusal | None:
        """Calls without a target. Only what the gateway answers by itself may have none."""
        if call.kind == "list":
            return None
        if call.kind != "method":
            return Refusal(
                "access_denied", f"no server was found for this {call.kind}", gate=self.name
            )
        if call.caller.kind == "operator" or call.method in self._open:
            return None
        if call.method.startswith(_OPERATORS):
            # As for a method that does not exist: who may not use these learns nothing of them.
            return Refusal("method_not_found", f"Method not found: {call.method[:100]}")
        return None

    # -- callers of whom more is said

    def _limited(self, call: Call, target: Target, judged: Judged) -> tuple[Refusal | None, str]:
        if call.kind == "method" and call.method not in _PASSED_ON:
            # Nobody can tell what a method that is not MCP's touches.
            rights = rights_of(call.caller.user)
            if rights.patterns or rights.names_tools:
                return Refusal("method_not_found", f"Method not found: {call.method}"), ""
        if call.of_tool:
            judged = _named(
                judged, self._may_invoke(call.caller, target, call.tool or call.task_tool)
            )
        allowed, source, word = judged
        if source == BY_CALLER and not allowed:
            return lacks(call, f"{INVOKE}{target.server}/{target.name}"), source
        if not allowed:
            return self._denied(call, word), source
        return too_risky(call) or self._untouchable(call, target), source

    def _own_limited(self, call: Call) -> Refusal | None:
        """A call without a target, by a caller who is limited: what is not known is not tried on servers."""
        rights = rights_of(call.caller.user)
        if call.method == "tools/list" and rights.reads_nothing:
            return lacks(call, LIST_ALL)
        if call.kind != "method" or call.method in self._open:
            return self._own(call)
        if rights.administers(_REGISTRY.get(call.method, "")):
            return None
        limited = rights.patterns or rights.names_tools
        if call.method.startswith(_OPERATORS) or (limited and call.method not in _PASSED_ON):
            return Refusal("method_not_found", f"Method not found: {call.method[:100]}")
        bounds = self._bounds_of(call.caller, "")
        if bounds is None or "uri" not in call.params:
            return None
        found = bounds.judge(call.params["uri"])
        return None if found is None else outside(call, found.details, "/uri")

    def _untouchable(self, call: Call, target: Target) -> Refusal | None:
        bounds = self._bounds_of(call.caller, target.server)
        tool = call.tool or call.task_tool
        if bounds is None:
            return None
        # A subscription tells of changes of what it may not read.
        if call.kind == "resource" or call.method in _FOLLOWED:
            read = bounds.judge(target.name)
            return None if read is None else outside(call, read.details, "/uri")
        # Fail closed: a path inside of a command line has no argument of its own that could be compared.
        if tool is not None and runs_programs(tool.security):
            return outside(call, {"reason": "Nobody can tell what a command or a program touches"})
        # A prompt has arguments as a tool has, and its server may put the file that they name into it.
        pointers = () if tool is None else tool.security.validator_args.get("paths", ())
        found = touched(call, bounds)
        if found is None:
            return too_many(call)
        declared: list[tuple[str, Validator]] = [("declared", bounds)] if pointers else []
        checks = Checks([*declared, ("named", Known(bounds, found))], {"declared": pointers})
        said = checks.objection(call.arguments, _TOUCHED_US)
        if said is None:
            return None
        flaw = said[1]
        if flaw.rule == "too_costly":
            return too_many(call, flaw.path)
        return outside(call, flaw.details or {"reason": f"It {flaw.message}"}, flaw.path)

    def _bounds_of(self, caller: Caller, server: str) -> Resources | None:
        rights = rights_of(caller.user)
        # By the operator's words, and by none of a token's.
        key = rights.patterns, server
        if key not in self._bounds:
            if len(self._bounds) > _REMEMBERED:
                self._bounds.clear()
            self._bounds[key] = rights.resources(self._folders.get(server))
        return self._bounds[key]

    def _denied(self, call: Call, word: Decision) -> Refusal:
        if not word.outdated:
            return replace(no_grant(call), gate=self.name)
        return Refusal(
            "access_denied",
            f"{call.caller.id} may not use the tool {call.name[:100]}: its definition has changed since it was granted, so "
            f"that grant does not count; an operator looks at it with `{to_type('tool show {}', call.name[:100])}` and grants it "
            f"again: `{granting(call)}`",
            {"outdated": "tool_grant"},
            gate=self.name,
        )


def _digest_of(definition: _Definition | None) -> Callable[[], str] | None:
    return None if definition is None else lambda: definition_digest(definition)


def _judge(caller: Caller, word: Decision, roles: Container[str]) -> Judged:
    """`roles` are the kinds of callers that have the server where the table says nothing."""
    if word.permission == "allow":
        return True, word.source, word
    # Only where the table says nothing: an explicit deny holds for owner and operators as well.
    if caller.kind in roles and word.source == "default_policy":
        return True, _BY_ROLE, word
    return False, word.source, word


def _names(target: Target, tool: Tool | None) -> tuple[str, ...]:
    """What a permission may call a tool."""
    found = (f"{target.server}/{target.name}", f"{target.server}.{target.name}")
    return found if tool is None else (*found, tool.exposed)


def _named(judged: Judged, said: bool | None) -> Judged:
    """The table's decision with the caller's claims: a tool that they name needs no grant, a deny in the table stays."""
    allowed, source, word = judged
    denied = word.permission == "deny" and source != "default_policy"
    if said is None or (said and (allowed or denied)):
        return judged
    return said, BY_CALLER, word


def _note(call: Call) -> None:
    """What was applied, into the record."""
    rights = rights_of(call.caller.user)
    call.facts["constraints"] = rights.constraints()
    if call.tool is not None and call.tool.security.permissions_required:
        call.facts["permissions_used"] = list(call.tool.security.permissions_required)
