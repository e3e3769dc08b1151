"""`completion`: a script for each shell; bash really completes with it."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.endpoints import Endpoint
from tests.cli.shell import DEADLINE_S, Shell

ASK = {
    "bash": "_GATEWRIGHT_COMPLETE=complete_bash",
    "zsh": "_GATEWRIGHT_COMPLETE=complete_zsh",
    "fish": "_GATEWRIGHT_COMPLETE=complete_fish",
    "powershell": '$Env:_GATEWRIGHT_COMPLETE = "complete_powershell"',
}


@pytest.mark.parametrize("name", sorted(ASK))
def test_each_shell_has_a_script_that_asks_us_at_each_tab(shell: Shell, name: str) -> None:
    done = shell.run("completion", name)
    assert (done.code, done.err) == (0, "")
    assert ASK[name] in done.out


def test_another_shell_is_refused_with_those_that_there_are(shell: Shell) -> None:
    done = shell.run("completion", "tcsh")
    assert (done.code, done.error["code"]) == (2, "usage")
    assert "'powershell'" in done.error["message"]


def test_a_person_is_told_how_to_have_it_always(shell: Shell) -> None:
    assert "~/.bashrc" in shell.run_at_terminal("completion", "bash").out


def completed(shell: Shell, *words: str) -> list[str]:
    """What bash offers behind the words, with the script as it is printed."""
    line = " ".join(map(shlex.quote, words))
    text = (
        f"source <({shlex.join(shell.command('completion', 'bash'))})\n"
        f"COMP_WORDS=({line})\nCOMP_CWORD={len(words) - 1}\n"
        '_gatewright_completion gatewright\nprintf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    path = f"{Path(sys.executable).parent}:{shell.environment['PATH']}"
    done = subprocess.run(
        ["bash", "--norc", "-c", text],
        capture_output=True,
        text=True,
        cwd=shell.folder,
        env=shell.environ({"PATH": path}),
        timeout=DEADLINE_S,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.split()


def test_bash_completes_commands_options_and_live_names(shell: Shell, endpoint: Endpoint) -> None:
    endpoint.replies["tools/list"] = lambda _: {"tools": [{"name": "demo__echo"}]}
    assert completed(shell, "gatewright", "ser") == ["serve", "server"]
    assert completed(shell, "gatewright", "server", "in") == ["inspect"]
    assert completed(shell, "gatewright", "tool", "list", "--jso") == ["--json"]
    assert completed(shell, "gatewright", "tool", "call", "de") == ["demo__echo"]
