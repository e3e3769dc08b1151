"""`tools/register` (Groundhog): checks a registration, then adds and stores a shipped tool or binds the tool to its connection.

The steps are the specification's: metadata, security profile, schema, conflicts, storing, instance. What
stands behind a registered tool is never code that came with the request. It is a tool that the gateway
ships and that has this name, under the limits and in the isolation that the profile asks for; or the
connection that registers, which is asked for every call of it (`implementation = "connection"`).

A profile is a promise. What cannot be kept here is refused with the reason: isolation that this machine
does not give, and limits on memory of a program that runs elsewhere.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

import msgspec

from gatewright.call import SHIPPED, Answer, Back, Call, Caller, Failure, Outcome, Refusal, Who
from gatewright.command_text import to_type
from gatewright.config.reserved_server_ids import begins_as_ours
from gatewright.dialects.groundhog.registration import Flawed, Profile, Wanted, read_registration
from gatewright.dialects.groundhog.sandboxed_run import Level
from gatewright.dialects.groundhog.tool_registry import Conflict, Registered, Registry, TooMany
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.groundhog import META_TOOL
from gatewright.mcp.wire.permissions import permission_risk
from gatewright.servers.listing import Listing
from gatewright.servers.local import Function
from gatewright.storage.errors import StoreError

__all__ = ["Making", "Register", "Shipped", "definition_of", "registered_of"]

_REST, _LONGEST_S = 3, 0.05
"""What is offered is made anew with each registration, in one piece. Who registers many tools waits between them, three times as long as one
took, so that most of the time is everybody else's."""
_ATTEMPTS = 3
"""How often what will be listed is made ready, where something else is listed meanwhile; then it is made in one piece."""

_RISKS = ("safe", "moderate", "dangerous")


class Shipped(msgspec.Struct, frozen=True):
    """A tool that the gateway can stand behind."""

    definition: Mapping[str, Any]
    make: Callable[[Profile], Function]
    prove: Callable[[Level], Awaitable[str]]
    """Why it cannot run in this isolation here; nothing where it can."""


class Making(msgspec.Struct, frozen=True):
    """What a registration needs of the gateway."""

    registry: Registry
    shipped: Mapping[str, Shipped]
    may_register: Callable[[Caller], bool]
    connection: Callable[[str, str, str], Function | None]
    """The caller's connection as the function behind a tool, by the connection's name (the fact `connection`
    of a call; empty without one), the tool's name and version; None where it cannot be asked."""
    stands_behind: Callable[[str, str, str], None]
    """The same three of a tool that is registered now: from then on the connection answers for it."""
    used: Callable[[str], str]
    """Which server's tool is called by this name, or by one that says the same; empty where none is."""
    known: Callable[[], Awaitable[None]]
    """Waits until `used` can be said at once."""
    ahead: Callable[[Listing], Awaitable[None]]
    """Makes ready what the registry is about to list: everybody goes by what it lists now until then."""
    stored: Callable[[Registered], Awaitable[None]]
    """Keeps what was registered now, beside the loop. Raises `StoreError`."""
    clock: Callable[[], float]
    """Unix seconds."""
    knows: Callable[[Caller, str, str], bool] = lambda *_: False
    """Whether a caller may know of a server, and of this tool of it; of all of it where none is named."""


class _Own(msgspec.Struct):
    """The turn of one caller, and who waits for it."""

    turn: asyncio.Lock
    users: int = 0


class Register:
    """The method `tools/register`. `rest` waits so many seconds."""

    def __init__(
        self, making: Making, rest: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        self._making = making
        self._rest = rest
        self._turn = asyncio.Lock()
        self._own: dict[Who, _Own] = {}

    async def __call__(self, call: Call, back: Back) -> Outcome:
        """Register one tool."""
        if not self._making.may_register(call.caller):
            return Refusal(
                "permission_denied",
                f"{call.caller.id} may not register tools: it takes an operator's key, or the permission "
                f"kernel.registry.write: `{to_type('key create {} --permission kernel.registry.write', call.caller.id)}`",
                {"missing_permissions": ["kernel.registry.write"]},
                gate="permission",
            )
        who = call.caller.who
        try:
            async with self._in_turn(who):
                wanted = read_registration(call.params)
                shipped, level = self._behind(wanted), wanted.profile.level
                if shipped is None or level == "none":
                    return await self._register(wanted, call, shipped)
            # While others register: it takes as long as a mount or a busy machine lets it.
            if why := await shipped.prove(level):
                return _no_isolation(level, why)
            async with self._in_turn(who):
                return await self._register(wanted, call, shipped)
        except Flawed as problem:
            return problem.outcome

    @contextlib.asynccontextmanager
    async def _in_turn(self, who: Who) -> AsyncIterator[None]:
        """One at a time, and of each caller one in line: who registers many tools is no more in front of others than who registers
        one."""
        own = self._own.setdefault(who, _Own(asyncio.Lock()))
        own.users += 1
        try:
            async with own.turn, self._turn:
                began = time.perf_counter()
                try:
                    yield
                finally:
                    await self._rest(_REST * min(_LONGEST_S, time.perf_counter() - began))
        finally:
            own.users -= 1
            if not own.users:
                del self._own[who]

    async def _register(self, wanted: Wanted, call: Call, shipped: Shipped | None) -> Outcome:
        making, operates = self._making, call.caller.kind == "operator"
        if shipped is None:
            run, base = self._by_connection(wanted, call), None
        else:
            run, base = shipped.make(wanted.profile), shipped.definition
        one = registered_of(wanted, base, run, None if wanted.by_connection else call.params)
        if wanted.by_connection:
            one = msgspec.structs.replace(one, owner=f"{call.caller.kind} {call.caller.id}")
        try:
            added = await self._added(one)
        except Conflict as problem:
            told = problem.of is None or operates or making.knows(call.caller, *problem.of)
            what = str(problem) if told else f"{wanted.name} is taken"
            return Failure(
                "registration_conflict",
                f"{what}: register it under another {problem.field}",
                {"field": f"tool_metadata.{problem.field}"},
            )
        except TooMany as problem:
            return Failure("resource_exhausted", str(problem))
        if wanted.by_connection:
            making.stands_behind(_connection(call), wanted.name, wanted.version)
            return self._done(wanted)
        try:
            if added:
                await making.stored(one)
        except StoreError:
            making.registry.remove((wanted.name, wanted.version))
            return Failure(
                "internal", "the registration could not be stored; the gateway's log says why"
            )
        return self._done(wanted)

    async def _added(self, one: Registered) -> bool:
        """Offer it, everything made ready before that in slices. Raises `Conflict`, and `TooMany`."""
        making = self._making
        await making.known()
        self._check_name(one)
        for _ in range(_ATTEMPTS):
            listing = making.registry.coming(one)
            if listing is None:
                break
            await making.ahead(listing)
            self._check_name(one)  # others may have listed something meanwhile
            if making.registry.is_ready(one):  # else tools were left meanwhile
                break
        return making.registry.add(one)

    def _check_name(self, tool: Registered) -> None:
        """Raises `Conflict` where calls by this name lead to a server's tool now, for they would lead elsewhere, or where it is read
        as that of somebody else's tool. A name of the registry leads to it already."""
        name = tool.name
        if self._making.registry.has(name):
            return
        if own := begins_as_ours(name):
            raise Conflict(f"{name} reads as one of the gateway's own tools ({own})", "name")
        if other := self._making.registry.reads_as(tool):
            what = f"{name} reads as {other}, which somebody else answers for"
            raise Conflict(what, "name", (SHIPPED, other))
        server = self._making.used(name)
        if server:
            what = f"{name} is what a tool of server {server} is called"
            raise Conflict(what, "name", (server, ""))

    def _done(self, wanted: Wanted) -> Answer:
        return Answer(jsonrpc.encode({"structuredContent": self._said(wanted), "content": []}))

    def _said(self, wanted: Wanted) -> dict[str, Any]:
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self._making.clock()))
        instance = {
            "tool_id": wanted.name,
            "version": wanted.version,
            "state": "ready",
            "sandbox_level": wanted.profile.level,
            "resource_limits": _limits(wanted.profile),
        }
        return {"tool_id": wanted.name, "tool_instance": instance, "registration_time": moment}

    def _behind(self, wanted: Wanted) -> Shipped | None:
        """What of the gateway stands behind the tool; None where that is the connection. Raises `Flawed`."""
        if wanted.by_connection:
            return None
        shipped = self._making.shipped.get(wanted.name)
        if shipped is None:
            known = ", ".join(sorted(self._making.shipped)) or "none"
            raise Flawed(
                Failure(
                    "invalid_args",
                    f"nothing here implements {wanted.name}: shipped tools that are switched on: {known}; to "
                    'answer its calls over this connection, send "implementation": "connection"',
                    {"field": "tool_metadata.name"},
                )
            )
        return shipped

    def _by_connection(self, wanted: Wanted, call: Call) -> Function:
        profile = wanted.profile
        if profile.level != "none":
            raise Flawed(
                _no_isolation(profile.level, "the tool runs where the connection comes from")
            )
        if profile.memory is not None:
            raise Flawed(
                Failure(
                    "invalid_args",
                    "resource_limits.max_memory cannot be kept for a program that runs elsewhere: leave it "
                    "out, and limit the memory there",
                    {"field": "security_profile.resource_limits.max_memory"},
                )
            )
        run = self._making.connection(_connection(call), wanted.name, wanted.version)
        if run is None:
            raise Flawed(
                Failure(
                    "invalid_args",
                    "this connection cannot be asked: register over WebSocket or TCP",
                    {"field": "implementation"},
                )
            )
        return _limited(run, profile.seconds)


def _connection(call: Call) -> str:
    return str(call.facts.get("connection", ""))


def _no_isolation(level: str, flaw: str) -> Refusal:
    return Refusal(
        "policy_violation",
        f"sandbox_level {level!r} cannot be given here: {flaw}",
        {"sandbox_level": level, "reason": "Isolation is not available", "suggestion": flaw},
        gate="registration",
    )


def _limited(run: Function, seconds: float | None) -> Function:
    """The function within its own time limit."""

    async def limited(arguments: dict[str, Any], call: Call, back: Back) -> Any:
        async with asyncio.timeout(seconds):
            return await run(arguments, call, back)

    return limited


def registered_of(
    wanted: Wanted,
    base: Mapping[str, Any] | None,
    run: Function,
    request: Mapping[str, Any] | None,
) -> Registered:
    """The tool as the registry keeps it. `base` is the definition of what stands behind it."""
    definition = definition_of(wanted, base)
    return Registered(
        name=wanted.name,
        version=wanted.version,
        definition=definition,
        run=run,
        fingerprint=_fingerprint(definition, wanted.by_connection),
        request=request,
    )


def definition_of(wanted: Wanted, base: Mapping[str, Any] | None) -> dict[str, Any]:
    """The tool as MCP lists it. A registration narrows what stands behind it and never widens it: it needs
    every permission that that needs, and is at least as dangerous."""
    needs = dict.fromkeys(wanted.profile.permissions)
    declared = (base or {}).get("security", {})
    needs |= dict.fromkeys(declared.get("permissions_required", ()))
    risks = [permission_risk(one) for one in needs] + [declared.get("risk_level", "moderate")]
    found: dict[str, Any] = {
        "description": wanted.description,
        "inputSchema": dict(wanted.input),
        "security": {
            "risk_level": max(risks, key=_RISKS.index),
            "permissions_required": list(needs),
            "validator": "none",
            "confirmation_required": False,
        },
        "annotations": dict((base or {}).get("annotations", {})),
        "_meta": {
            META_TOOL: {
                "author": wanted.author,
                "categories": list(wanted.categories),
                "trust_level": "verified" if base is not None else "community",
                "sandbox_level": wanted.profile.level,
                "resource_limits": _limits(wanted.profile),
            }
        },
    }
    if wanted.output is not None:
        found["outputSchema"] = dict(wanted.output)
    return found


def _limits(profile: Profile) -> dict[str, float]:
    found = {"max_execution_time": profile.seconds, "max_memory": profile.memory}
    return {name: value for name, value in found.items() if value is not None}


def _fingerprint(definition: Mapping[str, Any], by_connection: bool) -> str:
    text = msgspec.json.Encoder(order="deterministic").encode([definition, by_connection])
    return hashlib.sha256(text).hexdigest()
