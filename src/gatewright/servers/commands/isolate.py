"""`gatewright server isolate`: writes the isolation level of a server, its folders and network to mgp.toml, if this machine can give it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Literal

import typer

from gatewright.cli.completion_names import server_names
from gatewright.cli.errors import CliError, Exit
from gatewright.cli.options import Config, Json
from gatewright.cli.output import note, print_document
from gatewright.cli.running import takes_over
from gatewright.cli.tool_names import no_server
from gatewright.config import load
from gatewright.config.edit import editing, set_sandbox_value, set_server_value
from gatewright.transport.isolation.start import flaw

__all__ = ["isolate"]


def isolate(
    id: Annotated[
        str, typer.Argument(metavar="ID", help="As in mgp.toml.", autocompletion=server_names)
    ],
    level: Annotated[
        Literal["none", "confined", "strict"],
        typer.Argument(help="What it is kept to; docs/isolation.md says what each level gives."),
    ] = "confined",
    *,
    read: Annotated[
        list[Path] | None,
        typer.Option("--read", metavar="PATH", help="A folder or file that it may read."),
    ] = None,
    write: Annotated[
        list[Path] | None,
        typer.Option("--write", metavar="PATH", help="A folder or file that it may change."),
    ] = None,
    network: Annotated[
        Literal["none", "open"] | None,
        typer.Option("--network", help="Whether it has the network of this machine."),
    ] = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Keep a server's program to its own files, or to itself.

    Folders that are named here take the place of those that mgp.toml names for it.
    """
    settings = load(config)
    server = settings.server(id)
    if server is None:
        raise no_server(settings, id)
    if level != "none" and (why := asyncio.run(flaw(level))):
        raise CliError(
            f"{level} cannot be given here: {why}",
            code="isolation",
            exit_code=Exit.PROBLEMS,
            hint="nothing was changed; docs/isolation.md says what it needs",
        )
    path = server.origin.file
    with editing(path) as draft:
        set_server_value(draft, id, "isolation", level)
        for name, places in (("read", read), ("write", write)):
            if places:
                found = [str(one.expanduser().absolute()) for one in places]
                set_sandbox_value(draft, id, name, found)
        if network is not None:
            set_sandbox_value(draft, id, "network", network)
    if json:
        print_document({"name": id, "isolation": level, "file": str(path.absolute())})
    else:
        note(f"{id} is {_done(level)} in {path}; {takes_over(path, settings.storage.path)}")


def _done(level: str) -> str:
    return "not isolated" if level == "none" else f"isolated ({level})"
