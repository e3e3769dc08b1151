"""Commands `register` and `deregister` of `gatewright server`: start and end a server of the running gateway, mgp.toml unchanged."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from gatewright.cli.completion_names import server_names
from gatewright.cli.errors import CliError, Exit
from gatewright.cli.gateway_client import ask
from gatewright.cli.options import Config, Json, KeyText, Url
from gatewright.cli.output import note, print_document, print_rows
from gatewright.cli.running import endpoint
from gatewright.command_text import to_type

__all__ = ["deregister", "register"]

_STARTING_S = 660.0
"""A gateway answers when the server is up or had its time (`startup_wait_s`, at most 600)."""
_COLUMNS = ("id", "status", "trust_level", "lifetime", "tools")


def register(  # noqa: PLR0913, PLR0917 - one argument for each option
    id: Annotated[str, typer.Argument(metavar="ID", help="An id of your choice.")],
    command: Annotated[
        list[str] | None, typer.Argument(metavar="-- COMMAND ARGS…", show_default=False)
    ] = None,
    why: Annotated[str, typer.Option("--why", help="For the record.")] = "",
    trust: Annotated[
        Literal["standard", "trusted", "sandboxed"],
        typer.Option("--trust", help="A sandboxed one is isolated."),
    ] = "standard",
    env: Annotated[
        list[str] | None, typer.Option("--env", metavar="K=V", help="A variable of the command.")
    ] = None,
    config: Config = None,
    url: Url = None,
    key: KeyText = None,
    json: Json = False,
) -> None:
    """Start a server at the running gateway, until it is deregistered, without a change of mgp.toml.

    Columns: id, status, trust level, lifetime, tools. It is there after a restart of the gateway as well.
    """
    if not command:
        usage = to_type("server register ID --why TEXT -- COMMAND ARGS")
        raise CliError("nothing is to be started", code="usage", exit_code=Exit.USAGE, hint=usage)
    pairs = dict(one.partition("=")[::2] for one in env or ())
    asked: dict[str, Any] = {
        "id": id,
        "command": command[0],
        "args": command[1:],
        "env": pairs,
        "justification": why,
        "lifetime": "persistent",
        "mgp": {"trust_level": trust},
    }
    where = endpoint(config, url=url, key=key, role="operator")
    found = ask(where, "mgp/discovery/register", asked, timeout_s=_STARTING_S)
    if json:
        print_document({name: found.get(name, "") for name in (*_COLUMNS, "created_by", "reason")})
        return
    tools = found.get("tools")
    shown = {**found, "tools": ", ".join(tools) if isinstance(tools, list) else ""}
    print_rows(_COLUMNS, [[shown.get(column, "") for column in _COLUMNS]])
    if found.get("reason"):
        note(f"{id}: {found['reason']}")


def deregister(
    id: Annotated[
        str, typer.Argument(metavar="ID", help="As listed.", autocompletion=server_names)
    ],
    reason: Annotated[str, typer.Option("--reason", help="For the record.")] = "",
    config: Config = None,
    url: Url = None,
    key: KeyText = None,
    json: Json = False,
) -> None:
    """End a server that was registered while the gateway runs. Calls that run come to their end.

    Columns: id, status.
    """
    where = endpoint(config, url=url, key=key, role="operator")
    found = ask(where, "mgp/discovery/deregister", {"id": id, "reason": reason})
    shown = {"id": id, "status": found.get("status", "")}
    if json:
        print_document(shown)
    else:
        print_rows(("id", "status"), [(shown["id"], shown["status"])])
