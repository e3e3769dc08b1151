"""`gatewright serve`: run the gateway until it is told to stop.

Standard output carries exactly one line, once everything that could start has started:
`ready http://127.0.0.1:8420/mcp name=url …`, so that scripts can wait for it. With `--stdio` standard
output belongs to MCP and carries nothing else.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Protocol

import typer

from gatewright.cli.options import Config, ProfileName, group
from gatewright.cli.output import CliError, Exit, is_terminal, note
from gatewright.settings import Settings, load, override

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
        bool, typer.Option("--stdio", help="Speak MCP on standard input and output as well.")
    ] = False,
    profile: ProfileName = None,
) -> None:
    """Run the gateway.

    Prints one line when ready: `ready URL name=url …`. Stop it with Ctrl-C or SIGTERM.
    """
    settings = override(load(config), host=host, port=port)
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
    _run(settings, stdio=stdio, profile=profile or "")


def announce(settings: Settings, ready: Ready, *, stdio: bool) -> None:
    """The ready line for programs, and a few words for a person."""
    if not stdio:
        pairs = [f"{name}={url}" for name, url in ready.urls.items()]
        print(" ".join(["ready", ready.url, *pairs]), flush=True)
    if is_terminal(2):
        for line in _welcome(settings, ready):
            note(line)


def _run(settings: Settings, *, stdio: bool, profile: str) -> None:
    # The whole gateway: no other command pays for it.
    from gatewright import compose  # noqa: PLC0415

    on_ready: Callable[[Ready], None] = partial(announce, settings, stdio=stdio)
    try:
        compose.run(settings, stdio=stdio, profile=profile, on_ready=on_ready)
    except OSError as problem:
        if problem.filename is not None or problem.errno not in {
            errno.EADDRINUSE,
            errno.EACCES,
            errno.EADDRNOTAVAIL,
        }:
            raise
        where = f"{settings.gateway.host}:{settings.gateway.port}"
        raise CliError(
            f"cannot listen on {where}: {problem.strerror}",
            code="address",
            exit_code=Exit.UNEXPECTED,
            hint="choose another one: gatewright serve --port 0",
        ) from None


def _welcome(settings: Settings, ready: Ready) -> list[str]:
    lines = ["", f"  endpoint   {ready.url}"]
    lines += [f"  {name:<10} {url}" for name, url in ready.urls.items()]
    lines += [f"  server     {name}: {state}" for name, state in ready.servers.items()]
    if not ready.servers:
        lines.append("  no servers yet: add [[servers]] to mgp.toml")
    lines += [
        "",
        "  connect    " + f"claude mcp add --transport http gatewright {ready.url}",
        "             any MCP host that speaks HTTP: this URL; stdio only: gatewright bridge",
    ]
    if settings.gateway.anonymous == "deny":
        lines.append("  keys       gatewright key create NAME, then Authorization: Bearer KEY")
    lines += [
        "  try        gatewright tool list",
        "             gatewright audit tail -f",
        "  stop       Ctrl-C",
        "",
    ]
    return lines
