"""Shared options of the audit commands: record selection (time, agent, tool, …), and opening the trail to read it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from gatewright.audit.reader import AuditReader
from gatewright.audit.rows import DATABASE, Query
from gatewright.cli.completion_names import key_names, server_names
from gatewright.cli.errors import CliError, Exit
from gatewright.cli.timestamps import ago
from gatewright.cli.tool_names import seen_subject
from gatewright.command_text import to_type
from gatewright.config import load
from gatewright.timestamps import as_recorded

__all__ = [
    "Agent",
    "Event",
    "Outcome",
    "Server",
    "Since",
    "Tool",
    "Trace",
    "Until",
    "asked_of",
    "reader_of",
]

Agent = Annotated[str | None, typer.Option("--agent", help="Who called.", autocompletion=key_names)]
Server = Annotated[
    str | None, typer.Option("--server", help="Whose tool.", autocompletion=server_names)
]
Tool = Annotated[
    str | None, typer.Option("--tool", help="A tool, as lists show it or by its own name.")
]
Event = Annotated[str | None, typer.Option("--event", help="E.g. TOOL_EXECUTED, TOOL_BLOCKED.")]
Outcome = Annotated[
    str | None,
    typer.Option("--outcome", help="success, denied, failure, error, cancelled, pending."),
]
Trace = Annotated[str | None, typer.Option("--trace", help="One trace id.")]
Since = Annotated[
    str | None, typer.Option("--since", help="Not before: 10m, 2h, 7d ago, or a date.")
]
Until = Annotated[str | None, typer.Option("--until", help="Before this moment.")]


def asked_of(
    config: Path | None = None,
    *,
    since: str | None,
    until: str | None,
    tool: str | None = None,
    server: str | None = None,
    **members: str | None,
) -> Query:
    """The question of these options; `members` are the others of `Query` by name. Raises `CliError`.

    A tool is meant by any of its names; one that no server has before it is every server's tool of that own name."""
    now = time.time()
    found = None if tool is None else seen_subject(load(config), tool)
    if found is not None and found.tool is not None and server in {None, found.server}:
        server, tool = found
    return Query(
        **members,  # type: ignore[arg-type]  # each is a text of `Query`
        server=server,
        tool=tool,
        since=None if since is None else as_recorded(ago(since, now)),
        until=None if until is None else as_recorded(ago(until, now)),
    )


def reader_of(config: Path | None) -> AuditReader:
    """The trail of the configured state folder. Raises `CliError` where there is none."""
    folder = load(config).storage.path
    if not (folder / DATABASE).exists():
        raise CliError(
            f"there is no record in {folder} yet",
            code="not_found",
            exit_code=Exit.UNREACHABLE,
            hint=f"the gateway begins one when it first runs: {to_type('serve')}",
        )
    return AuditReader(folder)
