"""`gatewright server show`: one server's configuration, state, permissions and tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gatewright.cli.completion_names import server_names
from gatewright.cli.errors import CliError, Exit
from gatewright.cli.gateway_client import ask
from gatewright.cli.options import Config, Json, KeyText, Url
from gatewright.cli.output import note, print_document, print_rows
from gatewright.cli.running import endpoint
from gatewright.command_text import to_type
from gatewright.config import Server, load
from gatewright.schemas.nearest import closest
from gatewright.servers.commands.held_tools import accepting, unseen_rows
from gatewright.web.urls import bare

__all__ = ["show"]


def show(
    id: Annotated[
        str, typer.Argument(metavar="ID", help="As listed.", autocompletion=server_names)
    ],
    config: Config = None,
    url: Url = None,
    key: KeyText = None,
    json: Json = False,
) -> None:
    """Show one server: how it is configured, how it is, and which of its tools are offered.

    Columns: part, value. Without a running gateway the configuration alone is shown.
    """
    written = None if url is not None else load(config).server(id)
    running, why, near = _running(id, config, url, key)
    if written is None and running is None:
        raise CliError(
            f"there is no server {id!r}",
            code="not_found",
            exit_code=Exit.USAGE,
            hint=f"did you mean {' or '.join(near)}?"
            if near
            else f"`{to_type('server list')}` shows what there is{f'; {why}' if why else ''}",
        )
    configured = _written(written)
    if json:
        print_document({"id": id, "configured": configured, "running": running})
        return
    known = running or {}
    parts = {"id": id, **(configured or {}), **known, "held_back": None, "left_out": None}
    rows = [(name, _shown(value)) for name, value in parts.items() if value not in (None, "", [])]
    print_rows(("part", "value"), [*rows, *unseen_rows(known)])
    if known.get("held_back"):
        note(f"what is held back is seen by nobody: {accepting(id)}")
    if running is None:
        note(f"how it runs is not known: {why}")


def _shown(value: Any) -> Any:
    if isinstance(value, dict):  # permissions
        return ", ".join(f"{name} {standing}" for name, standing in value.items())
    return str(value).lower() if isinstance(value, bool) else value


def _running(
    name: str, config: Path | None, url: str | None, key: str | None
) -> tuple[dict[str, Any] | None, str, list[str]]:
    """What the running gateway says of it, or why nothing is known, and then the names that come close."""
    try:
        result = ask(endpoint(config, url=url, key=key, role="operator"), "mgp/discovery/list")
    except CliError as problem:
        if url is not None:
            raise
        return None, problem.message, []
    servers = result.get("servers")
    every = [one for one in servers if isinstance(one, dict)] if isinstance(servers, list) else []
    found = next((one for one in every if one.get("id") == name), None)
    if found is not None:
        return found, "", []
    near = closest(name, [str(one.get("id")) for one in every])
    return None, "the running gateway does not know it", near


def _written(server: Server | None) -> dict[str, Any] | None:
    """The configuration without what may be secret: arguments, environment, headers, the query."""
    if server is None:
        return None
    reached = {
        "stdio": ("command", server.command),
        "openapi": ("openapi", bare(server.openapi or "")),
    }.get(server.transport, ("url", bare(server.url)))
    return {
        "transport": server.transport,
        reached[0]: reached[1],
        "enabled": server.enabled,
        "default_policy": server.default_policy,
        "origin": str(server.origin),
        "problem": None if server.problem is None else str(server.problem),
    }
