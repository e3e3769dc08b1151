"""Gives commands `-q`, `-v`, `--no-color`, `--timeout`, `--key-file`, also before their name; `OUTPUT_OPTIONS`: quiet, verbose, timeout.

`-q`, `-v` and `--no-color` are understood before and behind any command; `--json`, `--config`,
`--timeout` and `--yes` are options of the commands that have a use for them, and may be written in
front of the command as well. `OUTPUT_OPTIONS` is read by `output` and `gateway_client`; one process is one command line.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from gatewright.cli.log_lines import log_to_terminal

__all__ = [
    "KEY_FILE",
    "OUTPUT_OPTIONS",
    "Habits",
    "NoColor",
    "Quiet",
    "Verbose",
    "leaves",
    "passed_on",
    "taught",
]


@dataclass
class Habits:
    """How this command line is to behave."""

    quiet: bool = False
    """Say nothing beside the data but errors."""
    verbose: int = 0
    """1 shows what the parts log, 2 also their details."""
    timeout_s: float | None = None
    """Longest silence of a gateway, where the command has no option of its own for it."""

    def patience(self, usual_s: float) -> float:
        """Seconds to wait for an answer."""
        return usual_s if self.timeout_s is None else self.timeout_s


OUTPUT_OPTIONS = Habits()
KEY_FILE = "gatewright.key_file"
"""Where the context of a command says from which file its key is to be read."""


def taught(command: Any) -> Any:
    """The command, and every command below it, with the options that all have."""
    for _, leaf in leaves(command):
        taken = {name for one in leaf.params for name in one.opts}
        talks = {"--url", "--key"} <= taken  # to a gateway
        without = {*([] if talks else ["patience"]), *([] if "--key" in taken else ["key_file"])}
        leaf.params.extend(
            one for one in _everywhere() if not taken & {*one.opts} and one.name not in without
        )
    return command


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """(words, command) of everything that can be run below `command`, itself included."""
    if not isinstance(command, TyperGroup):
        yield path, command
        return
    for name, inner in command.commands.items():
        yield from leaves(inner, (*path, name))


def passed_on(command: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """What stood in front of a command as defaults for it and all below it, in Click's form."""
    OUTPUT_OPTIONS.timeout_s = given.get("timeout")
    if isinstance(command, TyperGroup):
        return {name: passed_on(inner, given) for name, inner in command.commands.items()}
    return {name: value for name, value in given.items() if value not in (None, False)}


def _be_quiet(value: bool) -> None:
    OUTPUT_OPTIONS.quiet = OUTPUT_OPTIONS.quiet or value


def _be_colourless(value: bool) -> None:
    if value:
        os.environ["NO_COLOR"] = "1"


def _be_patient(value: float | None) -> None:
    # Also called with None: what stood in front of the command stays.
    OUTPUT_OPTIONS.timeout_s = value or OUTPUT_OPTIONS.timeout_s


def _be_verbose(value: int) -> None:
    if value > OUTPUT_OPTIONS.verbose:
        OUTPUT_OPTIONS.verbose = value
        level = logging.INFO if value == 1 else logging.DEBUG
        log_to_terminal(level)


Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet",
        "-q",
        help="Nothing beside the data but errors.",
        callback=_be_quiet,
        expose_value=False,
        is_eager=True,
    ),
]
Verbose = Annotated[
    int,
    typer.Option(
        "--verbose",
        "-v",
        count=True,
        show_default=False,
        help="Also what the parts log; -vv with details.",
        callback=_be_verbose,
        expose_value=False,
        is_eager=True,
    ),
]
NoColor = Annotated[
    bool,
    typer.Option(
        "--no-color",
        help="No colours; NO_COLOR does the same.",
        callback=_be_colourless,
        expose_value=False,
        is_eager=True,
    ),
]
_Patience = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        min=0.1,
        help="Longest silence of the gateway.",
        callback=_be_patient,
        expose_value=False,
    ),
]


def _remember(context: typer.Context, value: Path | None) -> None:
    if value is not None:
        context.meta[KEY_FILE] = str(value)


_KeyFile = Annotated[
    Path | None,
    typer.Option(
        "--key-file",
        metavar="FILE",
        help="Read the API key from this file.",
        callback=_remember,
        expose_value=False,
        is_eager=True,
    ),
]


@cache
def _everywhere() -> list[Any]:
    """The options that every command has. A command of their own, because only Typer makes options."""
    one = typer.Typer(add_completion=False)

    @one.command()
    def _(
        key_file: _KeyFile = None,
        patience: _Patience = None,
        quiet: Quiet = False,
        verbose: Verbose = 0,
        no_color: NoColor = False,
    ) -> None:
        del key_file, patience, quiet, verbose, no_color

    return [option for option in get_command(one).params if option.name != "help"]
