"""`gatewright server check` and `inspect`: start configured servers temporarily, test them, and list what they offer.

Both read the configuration and start the servers themselves, so they serve as a preflight in cron and
CI, and show what a server offers before anybody is granted anything of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gatewright.cli.completion_names import server_names
from gatewright.cli.errors import CliError, Exit
from gatewright.cli.options import Config, Json
from gatewright.cli.output import note, print_document, print_rows, silence_logs
from gatewright.cli.progress import Progress
from gatewright.config import Server, Settings, load

if TYPE_CHECKING:
    from gatewright.servers.preflight import Found

__all__ = ["check", "inspect"]

_COLUMNS = ("id", "state", "tools", "mcp", "ms", "reason")

Patience = Annotated[
    float | None,
    typer.Option("--timeout", metavar="SECONDS", min=0.1, help="Longest wait for a hello."),
]


def check(
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID]...", help="All of them if none.", autocompletion=server_names),
    ] = None,
    timeout: Patience = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Start each server, list what it offers, stop it again. Nothing is called.

    Columns: id, state, number of tools, MCP revision, milliseconds until listed, why it is down.
    Exit codes: 0 all are ready or disabled, 2 no such server, 8 one is down.
    """
    settings = load(config)
    servers = [_named(settings, one) for one in ids] if ids else list(settings.servers)
    tried = _try(settings, servers, timeout)
    if json:
        pairs = zip(tried, servers, strict=True)
        print_document([_document(found, server) for found, server in pairs])
    else:
        print_rows(_COLUMNS, [_row(found) for found in tried])
        for found in tried:
            if found.state == "down" and found.last_words:
                note(f"{found.id}: its last words: {found.last_words[-1]}")
    down = [found for found in tried if found.state == "down"]
    if down:
        names = ", ".join(one.id for one in down)
        raise CliError(
            f"{len(down)} of {len(tried)} servers are down: {names}",
            code="server_down",
            exit_code=Exit.PROBLEMS,
            hint=_hint(down, servers),
        )
    if not servers:
        note("no servers; add [[servers]] to mgp.toml")


def inspect(
    id: Annotated[
        str,
        typer.Argument(metavar="ID", help="As in mgp.toml.", autocompletion=server_names),
    ],
    timeout: Patience = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Show what a server offers, by starting it: everything, granted or not.

    Columns: kind, name, risk as the gateway sees it, first line of the description.
    """
    settings = load(config)
    server = _named(settings, id)
    (found,) = _try(settings, [server], timeout)
    if found.state != "ready":
        raise CliError(
            f"server {id} is {found.state}: {found.reason or 'enabled = false'}",
            code="server_down",
            exit_code=Exit.UNREACHABLE,
            hint=_hint([found], [server]),
        )
    if json:
        print_document(_offer(found))
        return
    hello = found.hello
    name = " ".join(str(hello.info.get(key, "")) for key in ("name", "version")).strip()
    note(f"{name or id}, MCP {hello.revision}, ready after {found.ready_ms or 0:.0f} ms")
    print_rows(("kind", "name", "risk", "description"), list(_rows(found)))
    for warning in found.shelf.warnings:
        note(f"warning: {warning}")
    if hello.instructions:
        note(f"what it tells models: {hello.instructions}")


def _try(settings: Settings, servers: Sequence[Server], timeout: float | None) -> list[Found]:
    # Starting servers takes the upstream half: no other command of the group pays for it.
    from gatewright.servers.preflight import preflight  # noqa: PLC0415

    silence_logs()
    names = ", ".join(one.id for one in servers)
    with Progress(f"starting {names}"):
        return asyncio.run(preflight(settings, servers, connect_s=timeout))


def _named(settings: Settings, name: str) -> Server:
    server = settings.server(name)
    if server is None:
        known = ", ".join(one.id for one in settings.servers) or "there are none"
        raise CliError(
            f"there is no server {name!r}",
            code="not_found",
            exit_code=Exit.USAGE,
            hint=f"servers in the configuration: {known}",
        )
    return server


def _hint(down: Sequence[Found], servers: Sequence[Server]) -> str:
    from gatewright.servers.doctor import fix_for  # noqa: PLC0415 - with the upstream half

    by_id = {one.id: one for one in servers}
    ways = (fix_for(one, by_id[one.id]) for one in down)
    return next((way for way in ways if way), "the reason of each says what to do")


def _row(found: Found) -> tuple[object, ...]:
    ready = found.state == "ready"
    return (
        found.id,
        found.state,
        len(found.shelf.tools) if ready else "",
        found.hello.revision,
        f"{found.ready_ms:.0f}" if found.ready_ms is not None else "",
        found.reason,
    )


def _document(found: Found, server: Server) -> dict[str, Any]:
    from gatewright.servers.doctor import fix_for  # noqa: PLC0415 - with the upstream half

    shelf = found.shelf
    return {
        "id": found.id,
        "transport": found.transport,
        "state": found.state,
        "reason": found.reason,
        "hint": fix_for(found, server) if found.state == "down" else "",
        "revision": found.hello.revision or None,
        "tools": len(shelf.tools),
        "prompts": len(shelf.prompts),
        "resources": len(shelf.resources),
        "templates": len(shelf.templates),
        "hello_ms": found.hello_ms,
        "ready_ms": found.ready_ms,
        "warnings": list(shelf.warnings),
        "last_words": list(found.last_words),
    }


def _offer(found: Found) -> dict[str, Any]:
    hello, shelf = found.hello, found.shelf
    mgp = hello.mgp
    return {
        "id": found.id,
        "revision": hello.revision,
        "info": hello.info,
        "capabilities": hello.capabilities,
        "instructions": hello.instructions,
        "mgp": None
        if mgp is None
        else {"version": mgp.version, "extensions": list(mgp.extensions)},
        "tools": [
            {"risk_level": tool.security.risk_level, "definition": tool.definition}
            for tool in shelf.tools
        ],
        "prompts": [one.definition for one in shelf.prompts],
        "resources": [one.definition for one in shelf.resources],
        "templates": [entry.definition for entry, _ in shelf.templates],
        "warnings": list(shelf.warnings),
    }


def _rows(found: Found) -> list[tuple[object, ...]]:
    shelf = found.shelf
    rows: list[tuple[object, ...]] = [
        ("tool", one.target.name, one.security.risk_level, _first_line(one.definition))
        for one in shelf.tools
    ]
    entries = [("prompt", one) for one in shelf.prompts]
    entries += [("resource", one) for one in shelf.resources]
    entries += [("template", one) for one, _ in shelf.templates]
    return rows + [
        (kind, one.target.name, "", _first_line(one.definition)) for kind, one in entries
    ]


def _first_line(definition: Any) -> str:
    from gatewright.mcp.wire import jsonrpc  # noqa: PLC0415 - with the upstream half

    text = jsonrpc.decode(definition["description"]) if "description" in definition else ""
    lines = text.strip().splitlines() if isinstance(text, str) else []
    return lines[0] if lines else ""
