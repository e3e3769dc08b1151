"""Typer options shared by several commands (`--config` also goes into the commands shown in hints), and `group` for command groups."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

import typer

from gatewright.cli.key_input import key_given
from gatewright.cli.output import is_terminal
from gatewright.command_text import typed_as, typed_here

__all__ = [
    "MARKUP",
    "AsHost",
    "Config",
    "Json",
    "KeyText",
    "ProfileName",
    "Timeout",
    "Url",
    "group",
]

MARKUP: Literal["rich"] | None = "rich" if is_terminal(1) else None
"""Panels in the help are for terminals."""


def _named(file: Path | None) -> Path | None:
    """Commands that are shown from now on are for this configuration."""
    if file is not None and str(file) != "-":
        typed_as(typed_here(str(file.absolute()), os.environ))
    return file


Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        "-c",
        metavar="FILE",
        help="Use this mgp.toml and no other.",
        callback=_named,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="One JSON document instead of rows.")]
Url = Annotated[
    str | None,
    typer.Option("--url", metavar="URL", help="A gateway elsewhere, e.g. http://host:8420/mcp."),
]
KeyText = Annotated[
    str | None,
    typer.Option(
        "--key",
        metavar="KEY",
        envvar="GATEWRIGHT_KEY",
        show_envvar=True,
        help="Act with this API key instead of as the local user; - reads it from standard input.",
        callback=key_given,
    ),
]


def _profiles(incomplete: str) -> list[str]:
    # Only who presses Tab asks a gateway.
    from gatewright.cli.completion_names import profile_names  # noqa: PLC0415

    return profile_names(incomplete)


ProfileName = Annotated[
    str | None,
    typer.Option(
        "--profile", metavar="NAME", help="The view of this profile.", autocompletion=_profiles
    ),
]


def _host(id: str | None) -> str | None:
    from gatewright.hosts.local_agents import check  # noqa: PLC0415 - for two commands

    try:
        return None if id is None else check(id)
    except ValueError as problem:
        raise typer.BadParameter(str(problem)) from None


AsHost = Annotated[
    str | None,
    typer.Option(
        "--as",
        metavar="HOST",
        callback=_host,
        help="Which host it serves, where none shows a key: an agent of that name, e.g. cursor.",
    ),
]
Timeout = Annotated[
    float, typer.Option("--timeout", metavar="SECONDS", min=0.1, help="Longest silence.")
]


def group(text: str) -> typer.Typer:
    """An empty group of commands; `text` is its help."""
    return typer.Typer(
        help=text,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=MARKUP,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
