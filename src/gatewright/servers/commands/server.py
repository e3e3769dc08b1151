"""`gatewright server list`: lists servers with their state. Also the command group `gatewright server` and its subcommands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from gatewright.access.commands.permit import permit
from gatewright.cli.errors import CliError
from gatewright.cli.gateway_client import ask
from gatewright.cli.options import Config, Json, KeyText, Url, group
from gatewright.cli.output import note, print_document, print_rows
from gatewright.cli.running import Endpoint, endpoint
from gatewright.discovery.commands import would_pay
from gatewright.discovery.method_names import TOKENS
from gatewright.pins.commands import pin
from gatewright.registration.commands import deregister, register
from gatewright.servers.commands.check import check, inspect
from gatewright.servers.commands.control import drain, logs, restart, start, stop
from gatewright.servers.commands.edit import add, disable_server, enable_server, remove
from gatewright.servers.commands.export import export
from gatewright.servers.commands.held_tools import unseen_notes
from gatewright.servers.commands.isolate import isolate
from gatewright.servers.commands.login import login, logout
from gatewright.servers.commands.show import show

__all__ = ["app", "list_servers"]

app = group("The tool servers behind the gateway.")

_COLUMNS = ("id", "status", "tools", "tokens", "mgp_version", "trust_level", "extensions")


@app.callback()
def _group() -> None:
    """The tool servers behind the gateway."""


@app.command("list")
def list_servers(
    status: Annotated[
        str | None, typer.Option("--status", help="Only servers in this state, e.g. connected.")
    ] = None,
    config: Config = None,
    url: Url = None,
    key: KeyText = None,
    json: Json = False,
) -> None:
    """List the servers with their state.

    Columns: id, status, number of tools, tokens of their definitions, MGP version, trust level, MGP extensions.
    """
    where = endpoint(config, url=url, key=key, role="operator")
    params = {} if status is None else {"filter": {"status": status}}
    told = _costs(where)
    servers = _with_costs(ask(where, "mgp/discovery/list", params).get("servers"), told)
    if json:
        print_document(servers)
        return
    rows = []
    for server in servers:
        tools = server.get("tools")
        shown = {**server, "tools": len(tools) if isinstance(tools, list) else ""}
        rows.append([shown.get(column) for column in _COLUMNS])
    print_rows(_COLUMNS, rows)
    for server in servers:
        for line in _notes(server):
            note(line)
    if told.get("pays"):
        note(would_pay(told))
    if not servers:
        note("no servers; add [[servers]] to mgp.toml")


def _with_costs(found: Any, told: dict[str, Any]) -> list[dict[str, Any]]:
    cost = {one["server_id"]: one["tokens"] for one in told.get("servers", [])}
    return [
        {**one, "tokens": cost[one["id"]]} if one.get("id") in cost else one
        for one in (found if isinstance(found, list) else [])
        if isinstance(one, dict)
    ]


def _notes(server: dict[str, Any]) -> Iterator[str]:
    """What has to be said of a server beside its row."""
    if server.get("created_by"):
        yield f"{server.get('id')}: registered by {server['created_by']}"
    if server.get("reason"):
        yield f"{server.get('id')}: {server['reason']}"
    yield from unseen_notes(server)


def _costs(where: Endpoint) -> dict[str, Any]:
    """What tools cost in a context; nothing where the gateway does not count."""
    try:
        return ask(where, TOKENS)
    except CliError as problem:
        if problem.code != "method_not_found":
            raise
        return {}


app.command("show")(show)
app.command("restart")(restart)
app.command("drain")(drain)
app.command("start")(start)
app.command("stop")(stop)
app.command("logs")(logs)
app.command("check")(check)
app.command("inspect")(inspect)
app.command("export")(export)
app.command("pin")(pin)
app.command("permit")(permit)
app.command("add")(add)
app.command("rm")(remove)
app.command("register")(register)
app.command("deregister")(deregister)
app.command("enable")(enable_server)
app.command("disable")(disable_server)
app.command("isolate")(isolate)
app.command("login")(login)
app.command("logout")(logout)
