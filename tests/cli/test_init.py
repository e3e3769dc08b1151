"""The entry points: the command and the module are the same program."""

import subprocess
import sys
from pathlib import Path

import gatewright
from tests.cli.shell import DEADLINE_S, Shell


def test_the_command_and_the_module_are_the_same(shell: Shell) -> None:
    script = Path(sys.executable).with_name("gatewright")
    command = subprocess.run(
        [script, "--version"], capture_output=True, text=True, timeout=DEADLINE_S, check=True
    )
    module = shell.run("--version")
    assert command.stdout == module.out == f"gatewright {gatewright.__version__}\n"
