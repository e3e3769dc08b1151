"""`Lookup`: tools of a profile that a caller may use, whether lists show each (`expose`, pins), its description (MGP §16.5) and tokens.

A tool exists for a caller where the catalogue in force lets it see it. One whose permissions it does not hold is left out, unless
the policy is that an operator decides on permissions: then it is there, and marked `pending_approval`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from typing import Any, Protocol, runtime_checkable

import msgspec

from gatewright.call import KERNEL, Call, Caller, Target, Tool
from gatewright.config import Settings
from gatewright.discovery.catalogue_index import tool_id
from gatewright.discovery.tokens import count
from gatewright.identity.rights import administers
from gatewright.in_force import InForce
from gatewright.mcp.wire import jsonrpc
from gatewright.schemas.lookalikes import spellings
from gatewright.servers.names import is_meta, meta_tool

__all__ = [
    "RISKS",
    "SHOWN",
    "Lookup",
    "Needs",
    "Offered",
    "declared_id",
    "described",
    "exposes_less",
    "exposing",
    "pins_of",
    "tokens_in",
    "tokens_of",
]

RISKS = ("safe", "moderate", "dangerous")
SHOWN = frozenset(map(meta_tool, ("discover", "describe", "call")))
"""The gateway's own tools that lists have where not every tool is listed."""
_LONG = 65_536
"""Bytes, counted in some milliseconds. A longer definition is not counted: its bytes are taken for tokens."""
_KEPT = 65_536
"""Callers in a profile whose pins are remembered."""
_ID_BYTES = 1024
_MEMBERS = ("description", "inputSchema")


@runtime_checkable
class Needs(Protocol):
    """Gate `permission`."""

    def missing(self, caller: Caller, tool: Tool, requested: frozenset[str] | None) -> list[str]:
        """What a tool needs and the caller does not hold."""

    def held(self, caller: Caller) -> list[str]:
        """Every permission that the caller holds."""


class Offered(msgspec.Struct, frozen=True):
    """A tool as a caller may use it. `missing` are permissions that an operator has to give first."""

    tool: Tool
    state: str
    missing: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """What the index calls it."""
        return tool_id(self.tool)

    @property
    def risk(self) -> int:
        """From 0, safe, to 2, dangerous."""
        return RISKS.index(self.tool.security.risk_level)


class Lookup:
    """By the configuration and the catalogue in force."""

    def __init__(self, now: InForce) -> None:
        self._now = now
        self._counted: dict[tuple[Target, str], int] = {}
        self._counted_at: tuple[Hashable, ...] = ()

    def tokens(self, tool: Tool) -> int:
        """The same as `tokens_of`, remembered until something is listed otherwise."""
        catalogue = self._now.servers.catalogue
        now = id(catalogue), catalogue.version
        if now != self._counted_at:
            self._counted, self._counted_at = {}, now
        key = tool.target, tool.exposed
        found = self._counted.get(key)
        if found is None:
            found = self._counted[key] = tokens_of(tool)
        return found

    async def ready(self, profile: str) -> None:
        """Make the names of a profile, in slices."""
        await self._now.servers.catalogue.warm((profile,))

    def of(self, call: Call) -> Callable[[str], Offered | None]:
        """Says of any name of a tool what it is for the caller of `call`; None where there is none that it may know of. Good for
        this moment."""
        servers, caller, requested = self._now.servers, call.caller, call.requested
        named, sees = servers.catalogue.view(call.profile).tools, servers.catalogue.sight.tool
        states, needs = servers.states, self._needs()
        marks = self._now.settings.permissions.policy == "interactive"

        def offered(name: str) -> Offered | None:
            tool = named.get(name)
            if tool is None or tool.target.server == KERNEL or not sees(caller, tool):
                return None
            missing = ["?"] if needs is None else needs.missing(caller, tool, requested)
            if missing and (needs is None or not marks):
                return None
            return Offered(tool, states.get(tool.target.server, "registered"), tuple(missing))

        return offered

    def view(self, call: Call) -> Hashable:
        """Changes with everything that an answer of `of` depends on."""
        servers = self._now.servers
        catalogue = servers.catalogue
        when = id(catalogue), catalogue.version, catalogue.sight.version(), id(self._now.gates)
        return call.caller, call.profile, call.requested, when, tuple(servers.states.items())

    def held(self, caller: Caller) -> Collection[str]:
        """Permissions that a caller holds."""
        needs = self._needs()
        return () if needs is None else needs.held(caller)

    def may_create(self, caller: Caller) -> bool:
        """Whether a caller may make itself a tool that there is not (MGP §16.6): it may run code and register servers, every
        permission is approved without a question, and there is registration, with a folder for its programs."""
        settings = self._now.settings
        there = "registration" not in self._now.gates  # what is missing has its name there
        return (
            there
            and settings.permissions.policy == "auto_approve"
            and bool(settings.registration.folders)
            and "code_execution" in self.held(caller)
            and administers(caller, "write")
        )

    def _needs(self) -> Needs | None:
        found: object = self._now.gates.get("permission")
        return found if isinstance(found, Needs) else None

    def pinned(self, call: Call, offered: Callable[[str], Offered | None]) -> list[str]:
        """Ids of the tools that are pinned for a caller and that it may use."""
        found = map(offered, pins_of(self._now.settings, call.profile, call.caller))
        return [one.id for one in found if one is not None and not one.missing]


def exposes_less(settings: Settings) -> bool:
    """Whether the list of any profile shows less than there is."""
    said = (settings.discovery.expose, *(one.expose for one in settings.profiles.values()))
    return not {None, "all"}.issuperset(said)


def exposing(settings: Settings) -> Callable[[Caller, str, Tool], bool]:
    """Whether the list of a profile has a tool that the caller may see, by this configuration."""
    pins: dict[tuple[str, str, str], frozenset[str]] = {}

    def listed(caller: Caller, profile: str, tool: Tool) -> bool:
        target = tool.target
        said = settings.profiles.get(profile)
        expose = (None if said is None else said.expose) or settings.discovery.expose
        if expose == "all" or target.server == KERNEL:
            return not is_meta(target) if expose == "all" else target.name in SHOWN
        key = profile, caller.kind, caller.id
        if key not in pins:
            if len(pins) > _KEPT:
                pins.clear()
            pins[key] = frozenset(pins_of(settings, profile, caller))
        names = tool_id(tool), f"{target.server}.{target.name}", tool.exposed
        return not pins[key].isdisjoint(names)

    return listed


def pins_of(settings: Settings, profile: str, caller: Caller) -> list[str]:
    """The names that are pinned for a caller: its own, everybody's, the profile's."""
    agents = settings.agents if caller.kind != "operator" else {}
    names = (*spellings(caller.id), "*")
    found = [name for one in names if one in agents for name in agents[one].pinned]
    said = settings.profiles.get(profile)
    expose = (None if said is None else said.expose) or settings.discovery.expose
    if said is not None and expose != "discover":
        found += said.pinned
    return list(dict.fromkeys(found))


def described(one: Offered, more: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A tool as it is found (MGP §16.5), with its whole schema: to be called by `name` at once."""
    tool, definition = one.tool, one.tool.definition
    security = tool.security
    found: dict[str, Any] = {
        "name": tool.exposed,
        "tool_id": declared_id(tool),
        "server_id": tool.target.server,
        **{name: definition[name] for name in _MEMBERS if name in definition},
        "security": {
            "risk_level": security.risk_level,
            "permissions_required": list(security.permissions_required),
            "validator": security.validator,
            "confirmation_required": security.confirmation_required,
        },
        **(more or {}),
    }
    if one.missing:
        found["status"] = "pending_approval"
        found["missing_permissions"] = list(one.missing)
    return found


def declared_id(tool: Tool) -> str:
    """What a tool says that its id is, else `server.name` (decision C-20)."""
    declared = tool.definition.get("tool_id")
    said = None if declared is None or len(declared) > _ID_BYTES else jsonrpc.decode(declared)
    return said if isinstance(said, str) and said else f"{tool.target.server}.{tool.target.name}"


def tokens_of(tool: Tool) -> int:
    """What a host puts into a model's context for a tool: name, description and schema."""
    members = {name: tool.definition[name] for name in _MEMBERS if name in tool.definition}
    return tokens_in(jsonrpc.encode({"name": tool.exposed, **members}))


def tokens_in(text: bytes) -> int:
    """How many tokens a JSON text has; more than any budget of one that is too long to be counted."""
    return count(text.decode()) if len(text) <= _LONG else len(text)
