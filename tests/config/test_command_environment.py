"""How a command is typed so that it reaches the state folder of these settings."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from gatewright.config import load, state_directory
from gatewright.config.command_environment import typed_for
from tests.accepting import accept_file

OWN = f"{Path(sys.executable).absolute().parent}{os.pathsep}{os.environ['PATH']}"


@pytest.fixture(autouse=True)
def _found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", OWN)


def test_the_usual_state_folder_takes_the_plain_command() -> None:
    environ = {"HOME": "/home/ann"}
    typed = typed_for(load(environ=environ, cwd=Path("/")), environ)
    assert typed.shown("approve") == "gatewright approve"
    assert typed.shown("secret set a") == "gatewright secret set a"


def test_the_file_of_the_user_is_found_everywhere_and_not_named(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    file = tmp_path / ".config" / "mgp" / "servers.toml"
    file.parent.mkdir(parents=True)
    file.write_text("")
    typed = typed_for(load(environ=environ, cwd=Path("/")), environ)
    assert typed.shown("secret set a") == "gatewright secret set a"


@pytest.mark.parametrize("said", ["file", "variable", "both", "spaces"])
def test_what_is_typed_finds_the_same_folder_and_file_from_anywhere(
    tmp_path: Path, said: str
) -> None:
    file, elsewhere = tmp_path / "own" / "mgp.toml", tmp_path / "elsewhere"
    file.parent.mkdir()
    elsewhere.mkdir()
    folder = tmp_path / ("a state; folder" if said == "spaces" else "state")
    environ = {"HOME": str(tmp_path), "PATH": OWN}
    told = environ | ({} if said == "file" else {"GATEWRIGHT_STATE": str(folder)})
    other = tmp_path / "other" if said == "both" else folder
    file.write_text("" if said == "variable" else f"[storage]\npath = '{other}'\n")
    (elsewhere / "mgp.toml").write_text(f"[storage]\npath = '{tmp_path / 'wrong'}'\n")
    accept_file(elsewhere / "mgp.toml", environ)
    settings = load(file, environ=told)
    assert settings.storage.path != state_directory(environ)
    typed = typed_for(settings, told)
    assert "--config" not in typed.shown("approve")
    found = json.loads(at(typed.shown("config show --json"), elsewhere, environ))
    assert Path(found["storage.path"]["value"]) == settings.storage.path
    paths = at(typed.shown("config path"), elsewhere, environ)
    assert shlex.quote(str(file)) in paths


def at(command: str, folder: Path, environ: dict[str, str]) -> str:
    """What a command prints, typed as it stands in another folder."""
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=folder,
        env=environ,
        capture_output=True,
        check=True,
        timeout=60,
    )
    return done.stdout.decode()


@pytest.mark.parametrize(("host", "local"), [("127.0.0.1", True), ("0.0.0.0", False)])
def test_a_gateway_that_others_can_reach_does_not_speak_to_this_machine_alone(
    tmp_path: Path, host: str, local: bool
) -> None:
    file = tmp_path / "mgp.toml"
    file.write_text(f'[gateway]\nhost = "{host}"\nanonymous = "deny"\n')
    environ = {"HOME": str(tmp_path)}
    assert typed_for(load(file, environ=environ), environ).local is local
