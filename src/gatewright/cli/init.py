"""`gatewright init`: writes a first working mgp.toml (`--force` keeps the old one as a backup), imports from hosts, prints next steps."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from functools import partial
from itertools import count
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from gatewright.cli.errors import CliError, Exit
from gatewright.cli.options import MARKUP, Config, Json
from gatewright.cli.output import note, print_document, print_line
from gatewright.command_text import to_type
from gatewright.config import load
from gatewright.config.edit import editing
from gatewright.config.schema import comment
from gatewright.hosts.commands.import_sources import places_of
from gatewright.hosts.host_table import HOSTS

__all__ = ["app", "init"]

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=MARKUP,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_TEXT = """\
# The configuration of Gatewright. Every key is optional: `gatewright config show` prints them all,
# `gatewright config check` reads this file again and says what is wrong with it.

[gateway]
host = "127.0.0.1"    # this machine and nobody else
port = 8420

# Tool servers stand below, one [[servers]] table each. Write them here, or let a command do it:
#   gatewright server add NAME -- COMMAND ARGS    a program
#   gatewright server add NAME --url URL          an HTTP server
#   gatewright import                             what other hosts have
# You may call everything. An agent with a key of its own needs a [[grants]] table first:
#   [[grants]]
#   agent = "NAME"
#   server = "ID"
"""


@app.command()
def init(
    *,
    hosts: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="HOST,…", help="Take the servers of these hosts over; `all` of them."
        ),
    ] = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Over a file that is there; it is kept as FILE.bak or the next free name.",
        ),
    ] = False,
    config: Config = None,
    json: Json = False,
) -> None:
    """Write a first mgp.toml that works at once, and say what to do next."""
    path = config or Path("mgp.toml")
    kept = _make_room(path, force=force)
    with editing(path, new=comment() + _TEXT):
        pass
    imported, problem = _taken_over(hosts, path, json=json)
    servers = [server.id for server in load(path).servers]
    steps = _steps(servers, _detected(), config, imported=hosts is not None)
    if json:
        print_document(
            {
                "file": str(path.absolute()),
                "kept": None if kept is None else str(kept.absolute()),
                "servers": servers,
                "import": imported,
                "next": steps,
            }
        )
    else:
        _tell(path, kept, steps)
    if problem is not None:
        raise problem


def _tell(path: Path, kept: Path | None, steps: list[str]) -> None:
    note(f"{path} is written; nothing listens beyond this machine")
    if kept is not None:
        note(f"the file that was there is {kept} now")
    note("next:")
    for step in steps:
        print_line((step,))


def _taken_over(
    hosts: str | None, path: Path, *, json: bool
) -> tuple[dict[str, Any] | None, CliError | None]:
    """What `import` says of the hosts, and why it could not have all of them. The file stands anyway."""
    if hosts is None:
        return None, None
    # Only who takes something over pays for it.
    from gatewright.hosts.commands.imports import import_servers  # noqa: PLC0415

    words = [] if hosts == "all" else [word.strip() for word in hosts.split(",") if word.strip()]
    said = io.StringIO()
    problem = None
    try:
        # With --json there is one document, of which that of `import` is a part.
        with contextlib.redirect_stdout(said if json else sys.stdout):
            import_servers(words, config=path, json=json)
    except CliError as found:
        problem = found
    text = said.getvalue()
    return (msgspec.json.decode(text) if text else None), problem


def _detected() -> list[str]:
    """Hosts that keep servers on this machine."""
    return [host.id for host in HOSTS.values() if any(path.is_file() for path in places_of(host))]


def _make_room(path: Path, *, force: bool) -> Path | None:
    """Where the file went that was there. Raises `CliError` where it is to stay."""
    if not path.exists() and not path.is_symlink():
        return None
    if not force:
        raise CliError(
            f"{path} is there already",
            code="exists",
            exit_code=Exit.USAGE,
            hint=f"change it with `{to_type('server add NAME -- COMMAND ARGS')}`, or write a new one with --force",
        )
    names = (f"{path.name}.bak{number or ''}" for number in count())
    # A link that leads nowhere has the name, too.
    kept = next(one for one in map(path.with_name, names) if not os.path.lexists(one))
    return path.rename(kept)


def _steps(
    servers: list[str], hosts: list[str], config: Path | None, *, imported: bool
) -> list[str]:
    """The commands that lead to the first call, and to the first host, in order."""
    told = partial(to_type, file=config)
    steps = [told("import" + " {}" * len(hosts), *hosts)] if hosts and not imported else []
    if not servers and not steps:
        steps = [told("server add NAME -- COMMAND ARGS")]
    steps += [told("serve"), told("tool list")]
    return [*steps, told("connect {}", hosts[0] if hosts else "HOST")]
