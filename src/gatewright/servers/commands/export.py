"""`gatewright server export`: prints a server, or the gateway itself, as an entry for another mgp.toml (MGP §15.2)."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from gatewright.call import SHIPPED
from gatewright.cli.completion_names import server_names
from gatewright.cli.options import Config, Json
from gatewright.cli.output import print_document, print_text
from gatewright.cli.tool_names import no_server
from gatewright.config import Server, Settings, load
from gatewright.config.api import is_url
from gatewright.config.documents import read
from gatewright.config.draft import Draft
from gatewright.config.reserved_server_ids import taken_for

__all__ = ["export"]


def export(
    id: Annotated[
        str | None,
        typer.Argument(
            metavar="[ID]",
            help="A server; the gateway itself unless given.",
            autocompletion=server_names,
        ),
    ] = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Print a server, or the gateway itself, as an entry for another mgp.toml.

    It is as the file writes it, so variables and secrets are named and not filled in.
    """
    settings = load(config)
    if id is None:
        table = _ourselves(settings, config)
    elif (server := settings.server(id)) is not None:
        table = _written(server)
    else:
        raise no_server(settings, id)
    if json:
        print_document(table)
        return
    draft = Draft("", Path("mgp.toml"))
    draft.append("servers", table)
    print_text(draft.text)


def _written(server: Server) -> dict[str, Any]:
    """The words of the file, with the folder that they were meant from."""
    file = server.origin.file
    listed = read(file).data["servers"]
    table: dict[str, Any] = next(one for one in listed if one.get("id") == server.id)
    if server.transport == "openapi" and not is_url(table["openapi"]):
        return {**table, "openapi": server.openapi}
    if server.transport not in {"stdio", "python"}:
        return table
    # Relative paths are meant from the folder of this file, and the other file lies elsewhere.
    return {**table, "cwd": str(file.absolute().parent / Path(table.get("cwd", ".")).expanduser())}


def _ourselves(settings: Settings, config: Path | None) -> dict[str, Any]:
    """How another kernel reaches this gateway: through a bridge to the one that runs."""
    # What the gateway offers is written where it is put together; only this command pays for it.
    from gatewright.app.features import FEATURES  # noqa: PLC0415
    from gatewright.feature import extensions_of  # noqa: PLC0415

    name = re.sub(r"[^A-Za-z0-9._-]", "-", settings.gateway.name).lstrip("._-")
    if not name or taken_for(name):  # what no server may be called, there as here
        name = f"{SHIPPED}-upstream"
    files = [config] if config is not None else settings.files[:1]
    where = [word for file in files for word in ("--config", str(file.absolute()))]
    return {
        "id": name,
        "command": sys.executable,
        "args": ["-P", "-m", "gatewright", "bridge", *where],
        "transport": "stdio",
        "mgp": {"extensions": list(extensions_of(FEATURES)), "trust_level": "standard"},
    }
