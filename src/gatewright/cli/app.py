"""The root command: which commands there are, and what an error of any of them looks like.

`--help` knows names and one-line texts from the table below; the module of a command is imported
when that command is named, so that `gatewright --help` and `bridge` pay for nothing else.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from gatewright.cli.options import MARKUP
from gatewright.cli.output import CliError, Exit, report

__all__ = ["COMMANDS", "run"]

COMMANDS = {
    "serve": "Run the gateway.",
    "bridge": "Connect a stdio-only host to the running gateway.",
    "server": "The tool servers behind the gateway.",
    "tool": "List, show and call tools; calls go through policy like any other.",
    "audit": "Follow, search and verify the record.",
    "key": "API keys: create, list, revoke.",
    "config": "Check and show the configuration.",
    "version": "Versions of the gateway and of the protocols it speaks.",
}
"""Command → its line in the help. `gatewright.cli.NAME` has it as `app`."""

_STORE = "the state folder is [storage] path of mgp.toml, or GATEWRIGHT_STATE"


class _Lazy(TyperGroup):
    """A group whose commands are placeholders until one of them is named."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Replace the placeholder by the command itself, then go on as ever."""
        if args and args[0] in COMMANDS:
            module = import_module(f"gatewright.cli.{args[0]}")
            command = get_command(module.app)
            command.name = args[0]
            self.commands[args[0]] = command
        return super().resolve_command(ctx, args)


_root = typer.Typer(
    cls=_Lazy,
    name="gatewright",
    help="A governed MCP gateway: one safe endpoint for all the tools of all agents.",
    no_args_is_help=True,
    rich_markup_mode=MARKUP,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        from gatewright import __version__  # noqa: PLC0415 - only who asks

        print(f"gatewright {__version__}")
        raise typer.Exit


@_root.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Without a command there is nothing to do."""


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; errors are on standard error by then."""
    command = get_command(_root)
    if isinstance(command, TyperGroup):
        command.commands.update(
            {name: TyperCommand(name=name, help=text) for name, text in COMMANDS.items()}
        )
    try:
        return int(command.main(list(arguments), "gatewright", standalone_mode=False) or Exit.OK)
    except typer.TyperException as problem:
        return _misused(problem, json="--json" in arguments)
    except CliError as problem:
        report(problem, json="--json" in arguments)
        return problem.exit_code
    except (typer.Abort, KeyboardInterrupt):
        return Exit.INTERRUPTED
    except Exception as problem:  # noqa: BLE001 - nobody is left above to say it in one line
        known = _known(problem)
        if known.code == "internal" and os.environ.get("GATEWRIGHT_DEBUG"):
            traceback.print_exc(file=sys.stderr)
        report(known, json="--json" in arguments)
        return known.exit_code


def _misused(problem: typer.TyperException, *, json: bool) -> int:
    """The command line itself is wrong. A group without a command has shown its help instead."""
    text = problem.format_message()
    if type(problem).__name__ == "NoArgsIsHelpError":
        sys.stderr.write(text + "\n" if text else "")
        return Exit.USAGE
    context = getattr(problem, "ctx", None)
    path = context.command_path if context is not None else "gatewright"
    report(
        CliError(text, code="usage", exit_code=Exit.USAGE, hint=f"{path} --help"),
        json=json,
    )
    return Exit.USAGE


def _known(problem: Exception) -> CliError:
    """What an exception of a lower layer means to whoever typed the command."""
    # Imported here: nobody pays for them but who has just seen one of them fail.
    from gatewright.settings import SettingsError  # noqa: PLC0415
    from gatewright.stores.errors import StoreError  # noqa: PLC0415

    if isinstance(problem, SettingsError):
        return CliError(
            str(problem),
            code="configuration",
            exit_code=Exit.USAGE,
            hint="correct the file; `gatewright config check` reads it again",
        )
    if isinstance(problem, StoreError):
        return CliError(str(problem), code="store", exit_code=Exit.UNEXPECTED, hint=_STORE)
    if isinstance(problem, OSError) and problem.filename is not None:
        return CliError(
            f"{problem.filename}: {problem.strerror}",
            code="file",
            exit_code=Exit.UNEXPECTED,
            hint="check the path, its owner and the disk",
        )
    return CliError(
        f"{type(problem).__name__}: {problem}",
        code="internal",
        exit_code=Exit.UNEXPECTED,
        hint="this is a bug; GATEWRIGHT_DEBUG=1 shows where it happened",
    )
