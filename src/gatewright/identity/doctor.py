"""`gatewright doctor`: finds agents without a key and OAuth issuers out of reach; states who counts as operator and what that protects."""

from __future__ import annotations

import asyncio
from collections.abc import Container, Iterator, Sequence

from gatewright.cli.finding import Finding
from gatewright.command_text import to_type
from gatewright.config import Settings
from gatewright.hosts.local_agents import AGENTS
from gatewright.schemas.lookalikes import caseless, spellings

__all__ = ["check_identity", "check_names", "check_operators"]

_BOUNDARIES = {
    "local": (
        "are whoever shows an operator's key, and whoever sits at a terminal of this user",
        "no boundary towards an agent that runs as this user and has a shell: it can make itself a terminal",
    ),
    "key": (
        "are whoever shows an operator's key, and nobody else",
        "a boundary towards agents that run as another user than the gateway; one of the same user can change the state folder",
    ),
}
_ALWAYS = frozenset({"*", "local", "anonymous", "gateway-client", *AGENTS})


def check_identity(settings: Settings, names: Container[str]) -> Iterator[Finding]:
    """What `[agents]` and `[oauth]` come to. `names` are those that keys were made for."""
    issuers = {one.name for one in settings.oauth.issuers}
    for name in settings.agents:
        known = name in _ALWAYS or any(one in names for one in spellings(name))
        if known or name.partition(":")[0] in issuers:
            continue
        yield Finding(
            check="identity",
            subject=name,
            level="warning",
            what="[agents] speaks of it, and no key was made for it",
            fix=f"`{to_type('key create {}', name)}`, or remove [agents.{name}]",
        )
    if issuers:
        yield from _issuers(settings)


def check_names(names: Sequence[str]) -> Iterator[Finding]:
    """Keys in force whose names read like each other. `names` are those of keys in force."""
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        groups.setdefault(caseless(name), []).append(name)
    for name, *others in groups.values():
        if not others:
            continue
        alike = [name, *others]
        yield Finding(
            check="identity",
            subject=name,
            level="warning",
            what=f"keys in force for {len(alike)} names that people read as one: {', '.join(map(ascii, alike))}",
            why="they were made before names were compared; none of them decides on what another asked for, and they are one in a quorum",
            fix=f"end those that are not meant, by their ids: `{to_type('key list')}`",
        )


def check_operators(settings: Settings) -> Iterator[Finding]:
    """Which boundary stands between agents and what operators may do."""
    what, why = _BOUNDARIES[settings.gateway.operators]
    yield Finding(check="gateway", subject="operators", level="ok", what=what, why=why)


def _issuers(settings: Settings) -> Iterator[Finding]:
    # Most gateways take no tokens: who does not does not load what reads them.
    from gatewright.identity.issuers import unreachable  # noqa: PLC0415

    found = asyncio.run(unreachable(settings))
    for one in settings.oauth.issuers:
        why = found.get(one.name, "")
        how = "asked about its tokens" if one.client_id else "asked for its keys"
        yield Finding(
            check="identity",
            subject=f"{one.name} ({one.issuer})",
            level="problem" if why else "ok",
            what=f"cannot be {how}, so nobody with a token of it gets in"
            if why
            else f"can be {how}",
            why=why,
            fix="check that this machine reaches it, and [[oauth.issuers]]" if why else "",
        )
