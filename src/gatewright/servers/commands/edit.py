"""Commands `server add|rm|enable|disable`, `tool enable|disable`: edit mgp.toml; `add` moves literal secrets to the secret store.

What a hand wrote in the file stays as it was written.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from gatewright.cli.completion_names import server_names, tool_names
from gatewright.cli.errors import CliError, Exit
from gatewright.cli.key_input import in_view
from gatewright.cli.options import Config, Json
from gatewright.cli.output import note, print_document
from gatewright.cli.running import takes_over
from gatewright.cli.tool_names import Subject, no_server, own_name, seen_subject, spelled
from gatewright.command_text import to_type
from gatewright.config import Settings, find, load
from gatewright.config.build import build
from gatewright.config.edit import (
    add_servers,
    editing,
    remove_server,
    set_server_value,
    set_tool_value,
)
from gatewright.config.lookup import STDIN, state_directory
from gatewright.config.secret_users import allow
from gatewright.patterns import DOTALL, Pattern

__all__ = [
    "add",
    "disable_server",
    "disable_tool",
    "enable_server",
    "enable_tool",
    "file_to_edit",
    "remove",
]

Server = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="Its id in the configuration.", autocompletion=server_names
    ),
]
ToolName = Annotated[
    str,
    typer.Argument(
        metavar="TOOL",
        help="As `tool list` shows it, or SERVER/TOOL.",
        autocompletion=tool_names,
    ),
]
_SECRET = Pattern(r"\$\{secret:([A-Za-z0-9._-]+)\}")
_IN_ARGS = "a secret in the arguments of a command can be read in the process list while the server runs; pass it with --env"
_PAIR = Pattern(r"([^=]+)(?:=(.*))?", DOTALL)


def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="An id of your choice.")],
    command: Annotated[
        list[str] | None, typer.Argument(metavar="-- COMMAND ARGS…", show_default=False)
    ] = None,
    *,
    url: Annotated[
        str | None,
        typer.Option("--url", metavar="URL", help="An HTTP server instead of a command."),
    ] = None,
    env: Annotated[
        list[str] | None,
        typer.Option(
            "--env", metavar="K=V", help="A variable of the command; K alone passes ours on."
        ),
    ] = None,
    header: Annotated[
        list[str] | None, typer.Option("--header", metavar="K=V", help="An HTTP header.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Over a server of this name.")] = False,
    config: Config = None,
    json: Json = False,
) -> None:
    """Add a tool server to mgp.toml: a command behind `--`, or a --url.

    Secrets in it move to the secret store, and the file names them. Better, because it leaves none in the
    shell's history: write ${secret:NAME}, and keep it with `gatewright secret set NAME`.
    """
    if bool(command) == bool(url):
        raise CliError(
            "a server is a command or a URL",
            code="usage",
            exit_code=Exit.USAGE,
            hint=f"`{to_type('server add NAME -- COMMAND ARGS')}`, or `{to_type('server add NAME --url URL')}`",
        )
    table: dict[str, Any] = {"id": name}
    if command:
        table |= {"command": command[0], "args": command[1:]}
    else:
        table["url"] = url
    table |= {"env": _pairs(env, "--env")} if env else {}
    table |= {"headers": _pairs(header, "--header")} if header else {}
    path = file_to_edit(config)
    # Only who adds pays for knowing secrets when it sees them.
    from gatewright.config.secrets import open_secrets  # noqa: PLC0415
    from gatewright.hosts.literals import keeping, secured  # noqa: PLC0415

    settings = _settings(config)
    place = settings.secrets
    secrets = open_secrets(settings.storage.path, place.store, key_file=place.key_file)
    clean, values = secured(table, secrets)
    store = settings.storage.path
    with (
        keeping(secrets, values, lambda one: allow(os.environ, store, one, [path])),
        editing(path, new="") as draft,
    ):
        add_servers(draft, [clean], replace=replace)
    # Those that were moved to the store are allowed by `keeping`.
    for used in _typed(clean) - values.keys():
        allow(os.environ, store, used, [path])
    if values:
        kept_by = to_type("secret set NAME")
        note(
            in_view(
                "a secret", f"write ${{secret:NAME}} in its place, and keep it with `{kept_by}`"
            )
        )
    if any(_SECRET.search(one) for one in clean.get("args", ())):
        note(_IN_ARGS)
    for kept in values:
        note(f"a secret was moved to the secret store: ${{secret:{kept}}}")
    _told(settings, path, name, "added to", json=json)
    if command and not _is_program(command[0], path):
        note(
            f"{command[0]} is no program that is found here: install it, or `{to_type('server rm {}', name, file=path)}`"
        )


def _is_program(command: str, path: Path) -> bool:
    """Whether the gateway would find it, which looks from the folder of the file. What has variables in it is not known yet."""
    if "${" in command:
        return True
    return shutil.which(path.absolute().parent / command if "/" in command else command) is not None


def remove(name: Server, config: Config = None, json: Json = False) -> None:
    """Take a server out of mgp.toml, with the grants that name it."""
    settings = load(config)
    path = _file_of(settings, name)
    with editing(path) as draft:
        remove_server(draft, name)
    _told(settings, path, name, "removed from", json=json)


def enable_server(name: Server, config: Config = None, json: Json = False) -> None:
    """Let a server run again."""
    _switch_server(name, config, json=json, enabled=True)


def disable_server(name: Server, config: Config = None, json: Json = False) -> None:
    """Keep a server down without taking it out of the file."""
    _switch_server(name, config, json=json, enabled=False)


def enable_tool(tool: ToolName, config: Config = None, json: Json = False) -> None:
    """Show a tool again that was disabled."""
    _switch_tool(tool, config, json=json, enabled=True)


def disable_tool(tool: ToolName, config: Config = None, json: Json = False) -> None:
    """Hide a tool from everybody and refuse its calls."""
    _switch_tool(tool, config, json=json, enabled=False)


def file_to_edit(config: Path | None) -> Path:
    """The file that decides, `./mgp.toml` where there is none yet."""
    if config == STDIN:
        raise CliError(
            "standard input cannot be edited",
            code="usage",
            exit_code=Exit.USAGE,
            hint="name a file: --config FILE",
        )
    found = find(config)
    return found[0] if found else Path("mgp.toml")


def _settings(config: Path | None) -> Settings:
    """What is in force; defaults alone where the file that was named is still to be made."""
    if config is None or config.exists():
        return load(config)
    return build([], os.environ, state_directory(os.environ))


def _switch_server(name: str, config: Path | None, *, json: bool, enabled: bool) -> None:
    settings = load(config)
    path = _file_of(settings, name)
    with editing(path) as draft:
        set_server_value(draft, name, "enabled", enabled)
    _told(settings, path, name, "enabled in" if enabled else "disabled in", json=json)


def _switch_tool(tool: str, config: Path | None, *, json: bool, enabled: bool) -> None:
    settings = load(config)
    server, name = _tool(settings, tool)
    path = _file_of(settings, server)
    if not enabled and not _is_hidden(settings, server, name):
        name = own_name(settings, Subject(server, name), path)
    with editing(path) as draft:
        set_tool_value(draft, server, name, "enabled", enabled)
    done = "enabled in" if enabled else "disabled in"
    _told(settings, path, spelled(server, name, settings), done, json=json)


def _tool(settings: Settings, tool: str) -> tuple[str, str]:
    """Server and tool of `files/read`, `files__read` or `files.read`."""
    found = seen_subject(settings, tool)
    if found is not None and found.tool is not None and settings.server(found.server) is not None:
        return found.server, found.tool
    if len(settings.servers) == 1 and "/" not in tool:
        return settings.servers[0].id, tool
    raise CliError(
        f"no server of the configuration has the tool {tool!r}",
        code="not_found",
        exit_code=Exit.USAGE,
        hint=f"write SERVER/TOOL; servers: {_ids(settings)}",
    )


def _is_hidden(settings: Settings, server: str, tool: str) -> bool:
    """Whether the file says so already: lists do not have the tool then."""
    found = settings.server(server)
    return found is not None and tool in found.tools and not found.tools[tool].enabled


def _file_of(settings: Settings, name: str) -> Path:
    server = settings.server(name)
    if server is None:
        raise no_server(settings, name)
    return server.origin.file


def _ids(settings: Settings) -> str:
    return ", ".join(sorted(server.id for server in settings.servers)) or "there are none"


def _typed(table: Mapping[str, Any]) -> set[str]:
    """Secrets that the command line named, or gave the value of: whoever typed it means it for this file."""
    texts = [*table.get("args", ()), table.get("url", "")]
    texts += [*table.get("env", {}).values(), *table.get("headers", {}).values()]
    return {found[1] for text in texts for found in _SECRET.finditer(text)}


def _pairs(given: list[str], option: str) -> dict[str, str]:
    found = {}
    for text in given:
        pair = _PAIR.fullmatch(text)
        if pair is None:
            raise CliError(
                f"{option} needs a name",
                code="usage",
                exit_code=Exit.USAGE,
                hint=f"{option} NAME=VALUE",
            )
        found[pair[1]] = f"${{{pair[1]}}}" if pair[2] is None else pair[2]
    return found


def _told(settings: Settings, path: Path, what: str, done: str, *, json: bool) -> None:
    if json:
        print_document(
            {"name": what, "change": done.split(maxsplit=1)[0], "file": str(path.absolute())}
        )
    else:
        note(f"{what} {done} {path}; {takes_over(path, settings.storage.path)}")
