"""`gatewright doctor` check: what all servers' tools take of a host's context, and whether search in place of a whole list would pay."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gatewright.call import Tool
from gatewright.cli.finding import Finding
from gatewright.config import Settings

__all__ = ["check_context", "cost"]

_MANY = 40
"""Tools. Some hosts take no more, and none finds its way among more as well as among few."""


def cost(tools: Sequence[Tool]) -> int:
    """Tokens of the definitions of some tools."""
    # Loads the servers, which the help of a command does without.
    from gatewright.discovery.lookup import tokens_of  # noqa: PLC0415

    return sum(map(tokens_of, tools))


def check_context(settings: Settings, tools: Sequence[Tool]) -> Iterator[Finding]:
    """What the tools of all servers take together; nothing where there are none."""
    if not tools:
        return
    total, most = cost(tools), settings.discovery.max_tokens
    profiles = settings.profiles.values()
    searches = settings.discovery.expose != "all" or any(
        one.expose not in {None, "all"} for one in profiles
    )
    heavy = not searches and (total > most or len(tools) > _MANY)
    yield Finding(
        check="context",
        subject="tools",
        level="warning" if heavy else "ok",
        what=f"{len(tools):,} tools, {total:,} tokens in the context of a host that lists them all",
        fix='write expose = "discover" in [discovery] or a profile: hosts list three tools and search for the others (docs/discovery.md)'
        if heavy
        else "",
    )
