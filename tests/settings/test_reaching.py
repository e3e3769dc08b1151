"""How a command is typed so that it reaches the state folder of these settings."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from gatewright.settings import load, state_directory
from gatewright.settings.reaching import command
from tests.accepting import accept_file

SHOW = "import os; from gatewright.settings import load; print(load().storage.path)"


def test_the_usual_state_folder_takes_the_plain_command() -> None:
    environ = {"HOME": "/home/ann"}
    assert command(load(environ=environ, cwd=Path("/")), environ) == "gatewright"


@pytest.mark.parametrize("said", ["file", "variable", "both", "spaces"])
def test_what_is_typed_finds_the_same_folder_from_anywhere(tmp_path: Path, said: str) -> None:
    file, elsewhere = tmp_path / "own" / "mgp.toml", tmp_path / "elsewhere"
    file.parent.mkdir()
    elsewhere.mkdir()
    folder = tmp_path / ("a state; folder" if said == "spaces" else "state")
    environ = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    told = environ | ({} if said == "file" else {"GATEWRIGHT_STATE": str(folder)})
    other = tmp_path / "other" if said == "both" else folder
    file.write_text("" if said == "variable" else f"[storage]\npath = '{other}'\n")
    (elsewhere / "mgp.toml").write_text(f"[storage]\npath = '{tmp_path / 'wrong'}'\n")
    accept_file(elsewhere / "mgp.toml", environ)
    settings = load(file, environ=told)
    assert settings.storage.path != state_directory(environ)
    typed = command(settings, told)
    assert typed.endswith(" gatewright")
    shell = (
        typed.removesuffix("gatewright") + f"{shlex.quote(sys.executable)} -c {shlex.quote(SHOW)}"
    )
    done = subprocess.run(
        ["/bin/sh", "-c", shell],
        cwd=elsewhere,
        env=environ,
        capture_output=True,
        check=True,
        timeout=30,
    )
    assert Path(done.stdout.decode().strip()) == settings.storage.path
