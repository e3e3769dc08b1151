"""`gatewright doctor` on tool servers: each server's trial start as findings with fixes; which isolation levels this machine can give."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from gatewright.cli.finding import Finding
from gatewright.command_text import to_type
from gatewright.config import Server, Settings
from gatewright.discovery.doctor import cost

if TYPE_CHECKING:
    from gatewright.servers.preflight import Found

__all__ = ["check_isolation", "check_servers", "fix_for", "offered"]


def check_isolation(settings: Settings) -> Iterator[Finding]:
    """What this machine can keep servers to, by trying; a problem where a server waits for it."""
    # Only a look at the whole machine pays for it.
    from gatewright.transport.isolation.start import flaw  # noqa: PLC0415

    levels: tuple[Literal["confined", "strict"], ...] = ("confined", "strict")
    for level in levels:
        why = asyncio.run(flaw(level))
        waiting = [
            one.id for one in settings.servers if one.enabled and one.confinement.level == level
        ]
        yield Finding(
            check="isolation",
            subject=level,
            level="problem" if why and waiting else "ok",
            what="cannot be given here" if why else "can be given here",
            why=f"{why}{'; kept down by it: ' if waiting else ''}{', '.join(waiting)}"
            if why
            else "",
            fix="see docs/isolation.md for what it needs" if why else "",
        )


def check_servers(found: Found, server: Server) -> Iterator[Finding]:
    """What a try of one server came to."""
    if found.state == "down":
        last = found.last_words[-1] if found.last_words else ""
        yield Finding(
            check="server",
            subject=found.id,
            level="problem",
            what=found.reason,
            why=f"its last words: {last}" if last else "",
            fix=fix_for(found, server),
        )
        return
    what = "disabled" if found.state == "disabled" else offered(found)
    yield Finding(check="server", subject=found.id, level="ok", what=what)
    for warning in found.shelf.warnings:
        yield Finding(
            check="server",
            subject=found.id,
            level="warning",
            what=warning,
            fix=f"`{to_type('server inspect {} --json', found.id)}` shows what it sent",
        )


def offered(found: Found) -> str:
    """What a server offers, in a few words."""
    shelf = found.shelf
    kinds = {
        "tool": shelf.tools,
        "prompt": shelf.prompts,
        "resource": shelf.resources,
        "template": shelf.templates,
    }
    parts = [f"{len(some)} {kind}{'s' * (len(some) != 1)}" for kind, some in kinds.items() if some]
    spoken = f"MCP {found.hello.revision}, {found.ready_ms or 0:.0f} ms"
    costs = f" of {cost(shelf.tools):,} tokens" if shelf.tools else ""
    return f"{', '.join(parts) or 'nothing'}{costs}; {spoken}"


def fix_for(found: Found, server: Server) -> str:
    """What to do about a server that is down; empty where its reason says it already."""
    if server.problem is not None:
        return server.problem.instead
    if "`command`" in found.reason or "server login" in found.reason:
        return ""
    if server.transport == "stdio":
        # Its arguments are not shown: they may be secrets that were put in just now.
        return f"start {server.command} by hand as mgp.toml says, and read what it prints"
    if server.transport == "openapi":
        return "see docs/openapi-import.md for what a document needs, and what base_url is for"
    return f"is {server.url.partition('?')[0]} right, and does that server run?"
