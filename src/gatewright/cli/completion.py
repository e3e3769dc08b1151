"""`gatewright completion SHELL`: prints the shell completion script for commands, options and live names.

The script asks `gatewright` itself at each Tab, so it need not be renewed when commands change.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer
from typer.completion import get_completion_script  # type: ignore[attr-defined]  # not in its stubs

from gatewright.cli.options import group
from gatewright.cli.output import is_terminal, note
from gatewright.command_text import to_type

__all__ = ["Shell", "app", "completion"]

app = group("Completion for a shell, of commands and of live names.")


class Shell(StrEnum):
    """The shells that can be taught."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"
    POWERSHELL = "powershell"


def _way(shell: Shell) -> str:
    ours = to_type("completion {}", shell.value)
    return {
        Shell.BASH: f"add to ~/.bashrc:  source <({ours})",
        Shell.ZSH: f"add to ~/.zshrc, behind compinit:  source <({ours})",
        Shell.FISH: f"{ours} > ~/.config/fish/completions/gatewright.fish",
        Shell.POWERSHELL: f"add to $PROFILE:  {ours} | Out-String | iex",
    }[shell]


@app.command()
def completion(
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh, fish or powershell.")],
) -> None:
    """Print the script that makes SHELL complete commands, servers, tools, keys and profiles.

    For bash: source <(gatewright completion bash)
    """
    script = get_completion_script(
        prog_name="gatewright", complete_var="_GATEWRIGHT_COMPLETE", shell=shell.value
    )
    print(script)
    if is_terminal(1):
        note(f"to have it always, {_way(shell)}")
