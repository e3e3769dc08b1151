"""`gatewright run SPEC`: a gateway for one URL, Python file or command, no configuration file, open to this machine; `--state`.

What is written on the command line is meant as it stands: nothing in it is substituted. The state is
a temporary folder, so that nothing is left behind, unless `--state` names one to keep.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from gatewright.cli.errors import CliError, Exit
from gatewright.cli.options import group
from gatewright.cli.output import is_terminal, note, silence_logs
from gatewright.cli.serve import Ready
from gatewright.command_text import to_type
from gatewright.config import Grant, Origin, Server, Settings
from gatewright.config.command_environment import typed_for
from gatewright.config.file_tables import SERVER_ID
from gatewright.config.model import Gateway, Storage
from gatewright.config.reserved_server_ids import taken_for

__all__ = ["app", "run", "server_of"]

app = group("Run one server behind policy, ad hoc.")

_ORIGIN = Origin(Path("the command line"))
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SERVER_ID = re.compile(SERVER_ID)
_UNFIT = re.compile(r"[^A-Za-z0-9_-]+")
_RUNNERS = frozenset(
    {"npx", "uvx", "bunx", "python", "python3", "node", "docker", "uv", "deno", "run"}
)


@app.command()
def run(
    spec: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SPEC [-- ARGS]...",
            help="A URL, a FILE.py that is an MCP server, or -- and a command.",
        ),
    ] = None,
    stdio: Annotated[
        bool, typer.Option("--stdio", help="Speak MCP on standard input and output, not HTTP.")
    ] = False,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0 takes a free one.")] = 0,
    name: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="What the server is called here.")
    ] = None,
    env: Annotated[
        list[str] | None,
        typer.Option("--env", "-e", metavar="KEY[=VALUE]", help="For the server; KEY takes ours."),
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option(
            "--state", metavar="FOLDER", help="Keep the record here; else it goes with us."
        ),
    ] = None,
) -> None:
    """Run one server behind policy, ad hoc.

    Everybody on this machine may call its tools; what is dangerous is confirmed call by call, and every
    call is recorded. Prints `ready URL` as serve does. Stop it with Ctrl-C.
    """
    server = server_of(spec or [], name=name, env=env or [])
    with ExitStack() as stack:
        folder = state
        if folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gatewright-")))
        settings = Settings(
            storage=Storage(path=folder.absolute()),
            gateway=Gateway(port=port, anonymous="allow"),
            servers=(server,),
            grants=(Grant(agent="*", server=server.id, origin=_ORIGIN),),
        )
        # The whole gateway: only here, so that the help stays quick.
        from gatewright.app.run import run as run_gateway  # noqa: PLC0415

        heard = (lambda: None) if stdio else silence_logs()
        ready = partial(_announce, settings, spec or [], heard)
        run_gateway(settings, stdio=stdio, on_ready=ready)


def server_of(spec: list[str], *, name: str | None = None, env: list[str] | None = None) -> Server:
    """The server that a command line means. Raises `CliError` (exit code 2)."""
    if not spec:
        raise _usage(
            "there is nothing to run",
            f"`{to_type('run -- npx -y PACKAGE')}`, or a URL in its place",
        )
    if name is not None:
        _check_id(name)
    first, *rest = spec
    given = dict(_variable(one) for one in env or [])
    if first.startswith(("http://", "https://")):
        if rest or given:
            raise _usage("a URL takes neither arguments nor --env", to_type("run --help"))
        host = re.split(r"[/:?]", first.partition("://")[2])[0]
        return Server(id=name or _id(host), transport="http", url=first, origin=_ORIGIN)
    command, args = first, tuple(rest)
    if first.endswith(".py"):
        command, args = sys.executable, (str(_script(first)), *rest)
    return Server(
        id=name or _id(_word(spec)),
        transport="stdio",
        command=command,
        args=args,
        env=given,
        cwd=Path.cwd(),
        origin=_ORIGIN,
    )


def _script(name: str) -> Path:
    path = Path(name).absolute()
    if not path.is_file():
        raise _usage(f"there is no file {name}", "check the path, or write -- and a command")
    return path


def _word(spec: list[str]) -> str:
    """The word of a command line that tells best what runs: the package, not its runner."""
    plain = [one for one in spec if not one.startswith("-")]
    named = [one for one in plain if Path(one).name not in _RUNNERS] or plain or spec
    word = named[0].rstrip("/")
    return Path(word).stem if word.endswith(".py") else word.rpartition("/")[2].partition("@")[0]


def _id(word: str) -> str:
    """A word as an id of a server."""
    found = _UNFIT.sub("-", word).strip("-_")[:64]
    return found if _SERVER_ID.fullmatch(found) and not taken_for(found) else "server"


def _check_id(name: str) -> None:
    """As in a configuration. Raises `CliError`."""
    if own := taken_for(name):
        raise _usage(
            f"--id {name!r} reads as {own!r}, which is the gateway's own", "choose another"
        )
    if not _SERVER_ID.fullmatch(name):
        raise _usage(
            f"--id {name!r} is no id", "use letters, digits, '.', '_' and '-', at most 64 of them"
        )


def _variable(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not _VARIABLE.fullmatch(name):
        raise _usage(f"--env {name!r} is not a variable", "write --env KEY=VALUE, or --env KEY")
    if not sign:
        known = os.environ.get(name)
        if known is None:
            raise _usage(
                f"the environment variable {name} is not set", f"set it, or: --env {name}=…"
            )
        value = known
    return name, value


def _announce(settings: Settings, spec: list[str], heard: Callable[[], None], ready: Ready) -> None:
    """The ready line, or why there is nothing to be ready with. `heard` ends the silence of the log."""
    (server,) = settings.servers
    if ready.servers.get(server.id) != "connected":
        raise CliError(
            f"server {server.id}: {ready.reasons.get(server.id) or 'it does not answer'}",
            code="server_down",
            exit_code=Exit.UNREACHABLE,
            hint=_hint(spec[0], server),
        )
    heard()
    pairs = [f"{name}={url}" for name, url in ready.urls.items()]
    print(" ".join(["ready", ready.url, *pairs]), flush=True)
    if is_terminal(2):
        note("")
        note(f"  {server.id} is behind {ready.url}; every call is checked and recorded")
        note(f"  the record   {typed_for(settings, os.environ).shown('audit tail -f')}")
        note("  stop         Ctrl-C")
        note("")


def _hint(first: str, server: Server) -> str:
    if first.endswith(".py"):
        return (
            f"{first} must be a program that speaks MCP on standard input and output when Python "
            "runs it; where it has functions alone, `from gatewright.sdk import mcp_tool, serve` makes "
            'them tools, and `serve("NAME")` in its last line serves them'
        )
    if server.transport == "http":
        return "is the URL right, and does that server run?"
    return "run the command by hand and read what it prints"


def _usage(message: str, hint: str) -> CliError:
    return CliError(message, code="usage", exit_code=Exit.USAGE, hint=hint)
