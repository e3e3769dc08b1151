"""Root command `gatewright`: lazy command table, errors as messages and exit codes, a prompt to accept a configuration not yet accepted.

`--help` knows names and one-line texts from the table below; the module of a command is imported
when that command is named, so that `gatewright --help` and `bridge` pay for nothing else.
"""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption
from typer.main import get_command

from gatewright.cli.errors import CliError, Exit
from gatewright.cli.global_options import OUTPUT_OPTIONS, NoColor, Quiet, Verbose, passed_on, taught
from gatewright.cli.log_lines import watch_last_resort
from gatewright.cli.options import MARKUP, Config, Json
from gatewright.cli.output import report
from gatewright.command_text import STATE, to_type, typed_as, typed_here

__all__ = ["COMMANDS", "run", "tree"]

COMMANDS = {
    "init": "Write a first mgp.toml that works at once.",
    "serve": "Run the gateway.",
    "demo": "See in a minute what the gateway does.",
    "console": "Open the web console of the running gateway.",
    "run": "Run one server behind policy, ad hoc.",
    "bridge": "Connect a stdio-only host to the running gateway.",
    "import": "Read servers from any host, file, bundle or registry entry.",
    "connect": "Point hosts at the gateway: one entry in the file of each.",
    "disconnect": "Take the gateway out of hosts again, byte for byte.",
    "server": "The tool servers behind the gateway.",
    "tool": "List, show and call tools; calls go through policy like any other.",
    "grant": "Who may use what, until when and why.",
    "room": "Rooms: agents and people at one table.",
    "approve": "Say yes to what waits for a person.",
    "deny": "Say no to what waits for a person.",
    "policy": "Ask what the rules would say, without calling anything.",
    "audit": "Follow, search and verify the record.",
    "key": "API keys: create, list, rotate, revoke.",
    "session": "Who has a session at the running gateway.",
    "secret": "Secrets by name, for ${secret:NAME} in the configuration.",
    "doctor": "Look for everything that can be wrong, and say what to do.",
    "top": "Calls, latency, denials, what waits and servers of the running gateway, live.",
    "completion": "Completion for a shell, of commands and of live names.",
    "config": "Check and show the configuration.",
    "version": "Versions of the gateway and of the protocols it speaks.",
}
"""Command → its line in the help. Its module has it as `app`."""

_MODULES = {
    "import": "hosts.commands.imports",
    "connect": "hosts.commands.connect",
    "disconnect": "hosts.commands.disconnect",
    "server": "servers.commands.server",
    "tool": "servers.commands.tool",
    "grant": "access.commands.grant",
    "room": "rooms.commands.room",
    "approve": "approvals.commands.approve",
    "deny": "approvals.commands.deny",
    "audit": "audit.commands.audit",
    "key": "identity.commands.key",
    "session": "identity.commands.session",
    "top": "telemetry.commands",
    "console": "console.commands",
}
"""Command → its module below `gatewright`, where that is a feature's; the others are `cli.NAME`."""

_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
_STORE = "the state folder is [storage] path of mgp.toml, or GATEWRIGHT_STATE"


def _module(command: str) -> Any:
    return import_module(f"gatewright.{_MODULES.get(command, f'cli.{command}')}")


@cache
def _built(name: str) -> Any:
    """A command with everything below it."""
    command = taught(get_command(_module(name).app))
    command.name = name
    return command


class _Lazy(TyperGroup):
    """A group whose commands are placeholders until one of them is named."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Replace the placeholder by the command itself, then go on as ever."""
        if args and args[0] in COMMANDS:
            self.commands[args[0]] = _built(args[0])
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
def _options(  # noqa: PLR0913, PLR0917 - one argument for each option
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    json: Json = False,
    config: Config = None,
    timeout: Annotated[
        float | None,
        typer.Option("--timeout", metavar="SECONDS", min=0.1, help="Longest silence."),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do not ask before changing something.")
    ] = False,
    quiet: Quiet = False,
    verbose: Verbose = 0,
    no_color: NoColor = False,
) -> None:
    """What stands in front of a command holds for the command."""
    given = {"json": json, "config": config, "timeout": timeout, "yes": yes}
    context.default_map = passed_on(context.command, given)


def tree() -> TyperGroup:
    """The whole command tree, every module imported: for documentation and tests, not for running."""
    return TyperGroup(name="gatewright", commands={name: _built(name) for name in COMMANDS})


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; errors are on standard error by then."""
    watch_last_resort()
    typed_as(typed_here("", os.environ))
    try:
        return _done(arguments)
    except typer.TyperException as problem:
        # By the words themselves: these could not be parsed.
        return _misused(problem, json="--json" in arguments)
    except CliError as problem:
        report(problem, json="--json" in arguments)
        return problem.exit_code
    except (typer.Abort, KeyboardInterrupt):
        return Exit.INTERRUPTED
    except BrokenPipeError:  # whoever read it has enough
        _drop_output()
        return Exit.UNEXPECTED
    except Exception as problem:  # noqa: BLE001 - nobody is left above to say it in one line
        known = _known(problem)
        if known.code == "internal" and (
            os.environ.get("GATEWRIGHT_DEBUG") or OUTPUT_OPTIONS.verbose
        ):
            traceback.print_exc(file=sys.stderr)
        report(known, json="--json" in arguments)
        if known.code == "not_written":
            _drop_output()
        return known.exit_code


def _done(arguments: Sequence[str]) -> int:
    """The exit code of a command, once everything that it said is written: Python would fail as it ends, with a code of
    its own."""
    code = _asked(arguments)
    if sys.stdout is not None:
        sys.stdout.flush()
    return int(code or Exit.OK)


def _asked(arguments: Sequence[str]) -> Any:
    """Run the command; where it found a configuration that the user has not accepted, ask once and run it again."""
    from gatewright.config.problems import SettingsError  # noqa: PLC0415 - cheap, and not before `--help`

    try:
        return _command().main(list(arguments), "gatewright", standalone_mode=False)
    except SettingsError as problem:
        from gatewright.cli.config_trust import refused, review  # noqa: PLC0415 - only then
        from gatewright.config.trust import NotAccepted  # noqa: PLC0415

        if not isinstance(problem, NotAccepted):
            raise
        if "--json" in arguments or not review(problem):
            raise refused(problem) from None
    # Made anew: options and the commands that were loaded keep what the first run said.
    return _command().main(list(arguments), "gatewright", standalone_mode=False)


def _drop_output() -> None:
    """Let go of what could not be written, or Python would try once more as it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


def _command() -> Any:
    """The root with a placeholder for each command."""
    command = get_command(_root)
    if isinstance(command, TyperGroup):
        command.commands.update(
            {name: TyperCommand(name=name, help=text) for name, text in COMMANDS.items()}
        )
    for option in command.params:  # `completion` is the way that people find
        if isinstance(option, TyperOption) and "completion" in str(option.name):
            option.hidden = True
    return command


def _misused(problem: typer.TyperException, *, json: bool) -> int:
    """The command line itself is wrong. A group without a command has shown its help instead."""
    text = problem.format_message()
    if type(problem).__name__ == "NoArgsIsHelpError":
        sys.stderr.write(text + "\n" if text else "")
        return Exit.USAGE
    context = getattr(problem, "ctx", None)
    path = context.command_path if context is not None else ""
    words = " ".join([*path.split()[1:], "--help"])
    report(CliError(text, code="usage", exit_code=Exit.USAGE, hint=to_type(words)), json=json)
    return Exit.USAGE


def _known(problem: Exception) -> CliError:
    """What an exception of a lower layer means to whoever typed the command."""
    # Imported here: nobody pays for them but who has just seen one of them fail.
    from gatewright.config import SettingsError  # noqa: PLC0415
    from gatewright.config.problems import NotOfFile  # noqa: PLC0415
    from gatewright.storage.errors import StoreBusyError, StoreError  # noqa: PLC0415

    if isinstance(problem, SettingsError):
        hint = f"correct the file; `{to_type('config check')}` reads it again"
        if isinstance(problem, NotOfFile):
            hint = ""  # each problem says itself what to do
        return CliError(str(problem), code="configuration", exit_code=Exit.USAGE, hint=hint)
    if isinstance(problem, StoreBusyError):
        return CliError(
            str(problem),
            code="busy",
            exit_code=Exit.UNEXPECTED,
            hint=f"the one that runs answers `{to_type('server list')}`; one beside it has a folder and a port of its own: "
            f"{STATE}=FOLDER, and --port 0",
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
    if isinstance(problem, OSError) and problem.errno in _NO_ROOM:
        return CliError(
            f"the output cannot be written: {problem.strerror}",
            code="not_written",
            exit_code=Exit.UNEXPECTED,
            hint="make room on the disk, or send the output elsewhere",
        )
    return CliError(
        f"{type(problem).__name__}: {problem}",
        code="internal",
        exit_code=Exit.UNEXPECTED,
        hint="this is a bug; GATEWRIGHT_DEBUG=1 shows where it happened",
    )
