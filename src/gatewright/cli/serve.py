"""`gatewright serve`: runs the gateway over HTTP, or standard streams (`--stdio`); prints its URLs, or entries for a host, once ready.

Standard output carries exactly one line, once everything that could start has started:
`ready http://127.0.0.1:8420/mcp name=url …`, so that scripts can wait for it (the entries for its hosts
instead, where the configuration came in the form of `config/gh_aw_form.py`). With `--stdio` standard
output belongs to MCP and carries nothing else.
"""

from __future__ import annotations

import errno
import signal
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Protocol
from urllib.parse import urlsplit

import typer

from gatewright.cli.errors import CliError, Exit
from gatewright.cli.finding import Finding
from gatewright.cli.options import AsHost, Config, ProfileName, group
from gatewright.cli.output import is_terminal, note, print_document
from gatewright.command_text import to_type
from gatewright.config import FileSource, Settings
from gatewright.config.lookup import STDIN
from gatewright.config.model import Form

__all__ = ["Ready", "announce", "app", "serve"]

app = group("Run the gateway.")


class Ready(Protocol):
    """What the gateway says when it is ready. `urls` are further ways in, by name."""

    @property
    def url(self) -> str:
        """The MCP endpoint."""

    @property
    def urls(self) -> Mapping[str, str]:
        """Name → URL of everything else that listens."""

    @property
    def servers(self) -> Mapping[str, str]:
        """The tool servers: id → state."""

    @property
    def reasons(self) -> Mapping[str, str]:
        """Why a server is not connected, by id."""


@app.command()
def serve(
    config: Config = None,
    host: Annotated[
        str | None, typer.Option("--host", help="The address to listen on [127.0.0.1].")
    ] = None,
    port: Annotated[
        int | None, typer.Option("--port", min=0, max=65535, help="0 takes a free one [8420].")
    ] = None,
    stdio: Annotated[
        bool, typer.Option("--stdio", help="Speak MCP on standard input and output instead.")
    ] = False,
    profile: ProfileName = None,
    as_host: AsHost = None,
) -> None:
    """Run the gateway.

    Prints one line when ready: `ready URL name=url …`. Stop it with Ctrl-C or SIGTERM. A changed
    configuration is taken over while it runs, at once on SIGHUP.
    """
    if stdio and config == STDIN:
        raise CliError(
            "standard input cannot carry both the configuration and MCP",
            code="usage",
            exit_code=Exit.USAGE,
            hint="name a file: --config FILE",
        )
    if as_host and not stdio:
        raise typer.BadParameter("--as says which host speaks on standard input: add --stdio")
    source = FileSource(config, host=host, port=port)
    settings = source.load()
    if profile is not None and profile not in settings.profiles:
        known = ", ".join(sorted(settings.profiles)) or "there are none"
        raise CliError(
            f"no profile {profile!r} in the configuration",
            code="usage",
            exit_code=Exit.USAGE,
            hint=f"profiles: {known}",
        )
    for problem in settings.warnings:
        note(f"warning: {problem}")
    for server in settings.servers:
        if server.problem is not None:
            note(f"{server.id} stays down: {server.problem}")
    _run(settings, source, stdio=stdio, profile=profile or "", as_host=as_host or "", config=config)


def announce(settings: Settings, ready: Ready, *, stdio: bool, config: Path | None = None) -> None:
    """The ready line for programs, and a few words for a person."""
    if settings.form is not None:
        print_document(_host_entries(settings.form, ready))
    elif not stdio:
        pairs = [f"{name}={url}" for name, url in ready.urls.items()]
        print(" ".join(["ready", ready.url, *pairs]), flush=True)
    if is_terminal(2):
        for line in _welcome(settings, ready, config):
            note(line)


def _host_entries(form: Form, ready: Ready) -> dict[str, Any]:
    """What a host has to be told, one server an endpoint; whoever gave us the key gets it back."""
    port = urlsplit(ready.url).port
    headers = {"Authorization": f"Bearer {form.key}"}
    return {
        "mcpServers": {
            name: {
                "type": "http",
                "url": f"http://{form.domain}:{port}/mcp/{name}",
                "headers": headers,
            }
            for name in ready.servers
        }
    }


def _run(
    settings: Settings,
    source: FileSource,
    *,
    stdio: bool,
    profile: str,
    as_host: str,
    config: Path | None,
) -> None:
    # The whole gateway: no other command pays for it.
    from gatewright.app.run import run as run_gateway  # noqa: PLC0415
    from gatewright.transport.http_server import CannotListen  # noqa: PLC0415

    on_ready: Callable[[Ready], None] = partial(
        announce, settings, stdio=stdio, config=None if config == STDIN else config
    )
    try:
        run_gateway(
            settings,
            stdio=stdio,
            profile=profile,
            host=as_host,
            on_ready=on_ready,
            source=source,
            tell=note,
            handed=() if config == STDIN else _handed(config),
        )
    except OSError as problem:
        if isinstance(problem, CannotListen) and "[mcp.protocol" in str(problem):
            raise CliError(
                str(problem),
                code="address",
                exit_code=Exit.UNEXPECTED,
                hint="correct it, or leave [mcp.protocol] out",
            ) from None
        if Path(problem.filename or "").is_relative_to(folder := settings.storage.path):
            raise CliError(
                f"the state folder {folder} cannot be used: {problem.strerror}",
                code="file",
                exit_code=Exit.UNEXPECTED,
                hint="it takes a folder that this user may write, on a disk with room: [storage] path of mgp.toml, "
                "or GATEWRIGHT_STATE",
            ) from None
        if problem.filename is not None or problem.errno not in {
            errno.EADDRINUSE,
            errno.EACCES,
            errno.EADDRNOTAVAIL,
        }:
            raise
        where = f"{settings.gateway.host}:{settings.gateway.port}"
        why = problem.strerror or ""
        raise CliError(
            why if isinstance(problem, CannotListen) else f"cannot listen on {where}: {why}",
            code="address",
            exit_code=Exit.UNEXPECTED,
            hint=f"choose another one: {to_type('serve --port 0')}",
        ) from None
    # All is done. Whoever says it once more, while Python ends, changes no exit code.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def _handed(config: Path | None) -> list[object]:
    """What of the command line the gateway's console offers as well."""
    from gatewright.feature import Examination  # noqa: PLC0415 - with the whole gateway
    from gatewright.hosts.commands.served import ServedHosts  # noqa: PLC0415
    from gatewright.hosts.offered import OfferedHosts  # noqa: PLC0415
    from gatewright.hosts.served_bounds import while_serving  # noqa: PLC0415

    def findings() -> Iterable[Finding]:
        from gatewright.cli.doctor import examined  # noqa: PLC0415 - for whoever asks for them

        with while_serving():  # calls wait for whatever is read here
            return list(examined(config))

    return [Examination(findings), OfferedHosts(ServedHosts(config))]


def _welcome(settings: Settings, ready: Ready, config: Path | None) -> list[str]:
    lines = ["", f"  endpoint   {ready.url}"]
    for name, url in ready.urls.items():
        if url != ready.url:
            lines.append(f"  {name:<10} {url}")
        if name == "console":
            again = to_type("console", file=config)
            lines.append("             in a browser: what agents do, and what waits for a person")
            lines.append(f"             (it opens once; another: `{again}`)")
    for name, state in ready.servers.items():
        why = ready.reasons.get(name, "")
        lines.append(f"  server     {name}: {state}{f', {why}' if why else ''}")
    if not ready.servers:
        lines.append("  no servers yet: add [[servers]] to mgp.toml")
    lines += [
        "",
        f"  connect    {to_type('connect claude-code', file=config)}",
        "             (or cursor, vscode, claude-desktop, …)",
        f"             any other MCP host: {ready.url}, or the program `{to_type('bridge', file=config)}`",
    ]
    if settings.gateway.anonymous == "deny":
        made = to_type("key create NAME", file=config)
        lines.append(f"  keys       {made}, then Authorization: Bearer KEY")
    lines += [
        "  stop       Ctrl-C",
        f"  try        {to_type('audit tail -f', file=config)}",
        f"             {to_type('tool list', file=config)}",
        "",
    ]
    return lines
