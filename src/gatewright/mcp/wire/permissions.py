"""Parses and translates permission names: MGP §3.2's and custom ones with risk, `kernel.*` rights, ggen's and Groundhog's spellings.

Pure data and reading rules, so that configuration, keys, servers' declarations and gates agree on what
`shell` means (decision C-07), and on what `ToolInvoke(add)` and `read:filesystem` do (table 2.2).

What a tool may need is a permission of MGP (`canonical_permission`). What a caller may hold is that, or a
right over the gateway itself (`held_permission`): `kernel.tool.invoke:NAME`, `kernel.tool.read:NAME`,
`kernel.tools.list`, `kernel.registry.read`, `kernel.registry.write`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Literal

from gatewright.patterns import IGNORECASE, Pattern

__all__ = [
    "ALIASES",
    "ASKED",
    "INVOKE",
    "LIST_ALL",
    "MOST",
    "NOTHING",
    "OF_GATEWAY",
    "READ",
    "REGISTRY_READ",
    "REGISTRY_WRITE",
    "REQUEST",
    "RULED",
    "STANDARD",
    "Value",
    "canonical_permission",
    "declared_permissions",
    "ggen_permission",
    "groundhog_permission",
    "held_permission",
    "permission_risk",
]

Risk = Literal["safe", "moderate", "dangerous"]

Value = Literal["approved", "denied", "deferred"]
"""What became of a permission that was asked for (MGP §3.6)."""

STANDARD: Mapping[str, Risk] = MappingProxyType(
    {
        "filesystem.read": "moderate",
        "filesystem.write": "dangerous",
        "network.outbound": "moderate",
        "network.listen": "dangerous",
        "shell.execute": "dangerous",
        "code_execution": "dangerous",
        "memory.read": "safe",
        "memory.write": "moderate",
        "system.info": "safe",
        "camera": "dangerous",
        "notification": "safe",
    }
)
"""Standard permission → risk."""

ALIASES: Mapping[str, str] = MappingProxyType(
    {"shell": "shell.execute", "network": "network.outbound"}
)
"""Shorthand that the specification itself uses in places → standard name."""

REQUEST = "mgp/permission/request"
"""In both directions: a client tells a server that it waits (§3.5), a server asks how it stands (decision C-08)."""
ASKED = frozenset({REQUEST, "mgp/permission/await"})
"""The same with its name since 0.4."""
RULED = frozenset({"mgp/permission/response", "mgp/permission/grant"})
"""The decision as a message of its own (decision C-09), by both its names."""

MOST = 64
"""How many permissions one server may ask for."""
_NAME_CHARS = 128

_CUSTOM = Pattern(r"[a-z][a-z0-9-]*(?:\.[a-z0-9_][a-z0-9_-]*){2,}", IGNORECASE)


def canonical_permission(name: str) -> str | None:
    """The canonical name, or None where `name` is neither standard, shorthand nor reverse-domain."""
    name = ALIASES.get(name, name)
    if name in STANDARD or _CUSTOM.fullmatch(name):
        return name
    return None


def declared_permissions(names: Iterable[str]) -> tuple[str, ...]:
    """What a server says that it needs, each once and canonical. A name that is no permission stays what it is:
    whoever declares it waits for somebody who knows what it means.

    Raises `ValueError` for a name that nobody could be shown.
    """
    found: dict[str, None] = {}
    for name in names:
        if not 1 <= len(name) <= _NAME_CHARS or not name.isprintable():
            raise ValueError(f"a permission has 1 to {_NAME_CHARS} printable characters")
        found[canonical_permission(name) or name] = None
    if len(found) > MOST:
        raise ValueError(f"a server may ask for {MOST} permissions at most")
    return tuple(found)


def permission_risk(name: str) -> Risk:
    """The risk of a canonical permission. A custom one is dangerous: nobody has said otherwise."""
    return STANDARD.get(name, "dangerous")


INVOKE = "kernel.tool.invoke:"
READ = "kernel.tool.read:"
"""What stands before the name of a tool, or a pattern with `*`."""
LIST_ALL = "kernel.tools.list"
REGISTRY_READ = "kernel.registry.read"
REGISTRY_WRITE = "kernel.registry.write"
NOTHING = "kernel.nothing"
"""Held by whom nothing was given, where something had to be: it gives nothing."""
OF_GATEWAY = (INVOKE, READ, LIST_ALL, NOTHING, "kernel.registry.")
"""How permissions begin that say which of the gateway's tools and methods somebody has; all others are MGP's, about the world outside."""

_OF_TOOLS = {"ToolInvoke": INVOKE, "ToolRead": READ}
_PLAIN = {"ToolsListAll": LIST_ALL, "AdminRead": REGISTRY_READ, "AdminWrite": REGISTRY_WRITE}
_CALLED = Pattern(r"(ToolInvoke|ToolRead)\(([^()\s]{1,256})\)")
_NAMED = Pattern(r"kernel\.tool\.(?:invoke|read):[^()\s]{1,256}")

_VERBS = {
    "read:filesystem": "filesystem.read",
    "write:filesystem": "filesystem.write",
    "connect:network": "network.outbound",
    "listen:network": "network.listen",
    "execute:shell": "shell.execute",
    "execute:code": "code_execution",
    "read:memory": "memory.read",
    "write:memory": "memory.write",
}
_SPOKEN = {canonical: spoken for spoken, canonical in _VERBS.items()}
_SPELLED = {canonical: name for name, canonical in _PLAIN.items()}


def held_permission(name: str) -> str | None:
    """What a caller may hold, however it is spelled: as MGP, ggen (`ToolInvoke(add)`) or Groundhog
    (`read:filesystem`) does, or here. None for what is no permission of any of them."""
    # Spellings of ggen and of our own first: none of them is a permission of MGP.
    if name in _PLAIN or name in _SPELLED:
        return _PLAIN.get(name, name)
    called = _CALLED.fullmatch(name)
    if called is not None:
        return _OF_TOOLS[called[1]] + called[2]
    if _NAMED.fullmatch(name):
        return name
    if name in _VERBS:
        return _VERBS[name]
    verb, colon, noun = name.partition(":")  # Groundhog's order is the other way round
    return canonical_permission(f"{noun}.{verb}" if colon else name)


def ggen_permission(held: str) -> str:
    """The same in ggen's spelling, where it has one."""
    for spelled, prefix in _OF_TOOLS.items():
        if held.startswith(prefix):
            return f"{spelled}({held[len(prefix) :]})"
    return _SPELLED.get(held, held)


def groundhog_permission(held: str) -> str:
    """The same as Groundhog's `verb:noun`, where it is one of MGP's."""
    if held in _SPOKEN or held.startswith("kernel."):
        return _SPOKEN.get(held, held)
    noun, dot, verb = held.rpartition(".")
    return f"{verb}:{noun}" if dot else held
