"""`gatewright doctor` on tool servers: turns each server's trial start into findings: what it offers, warnings, or a problem and its fix."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gatewright.cli.finding import Finding
from gatewright.command_text import to_type
from gatewright.config import Server
from gatewright.discovery.doctor import cost

if TYPE_CHECKING:
    from gatewright.servers.preflight import Found

__all__ = ["check_servers", "fix_for", "offered"]


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
