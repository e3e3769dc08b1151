"""`server isolate`: what it writes, and that it writes nothing where the level cannot be given."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from gatewright.cli.errors import CliError
from gatewright.config import SettingsError
from gatewright.servers.commands import isolate as command

FILE = '# ours\n[[servers]]\nid = "a"\ncommand = "x" # why\n'


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration, on a machine that gives every level."""
    give(monkeypatch, "")
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "mgp.toml"
    path.write_text(FILE)
    return path


def give(monkeypatch: pytest.MonkeyPatch, why: str) -> None:
    async def flaw(_: str) -> str:
        return why

    monkeypatch.setattr(command, "flaw", flaw)


def test_level_folders_and_network_are_written(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places: dict[str, Any] = {"write": [Path("work")], "read": [Path("/opt")]}
    command.isolate("a", "confined", **places, network="none", config=file, json=True)
    said = json.loads(capsys.readouterr().out)
    assert said == {"name": "a", "isolation": "confined", "file": str(file)}
    assert file.read_text().startswith(FILE)
    (server,) = tomllib.loads(file.read_text())["servers"]
    assert server["isolation"] == "confined"
    assert server["sandbox"] == {
        "read": ["/opt"],
        "write": [str(file.parent / "work")],
        "network": "none",
    }


def test_what_was_written_is_changed_and_taken_back(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command.isolate("a", config=file)
    assert "a is isolated (confined)" in capsys.readouterr().err
    command.isolate("a", "strict", config=file)
    assert file.read_text().count("isolation") == 1
    command.isolate("a", "none", config=file)
    assert "a is not isolated" in capsys.readouterr().err


def test_what_a_level_does_not_give_is_not_written(file: Path) -> None:
    with pytest.raises(SettingsError, match="a strict server changes nothing"):
        command.isolate("a", "strict", write=[Path("/opt")], config=file)
    assert file.read_text() == FILE


def test_a_server_that_is_not_there_is_told(file: Path) -> None:
    with pytest.raises(CliError, match="no server 'b'"):
        command.isolate("b", config=file)


def test_where_it_cannot_be_given_nothing_is_changed(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    give(monkeypatch, "bwrap is not installed")
    with pytest.raises(CliError, match="strict cannot be given here: bwrap is not installed"):
        command.isolate("a", "strict", config=file)
    assert file.read_text() == FILE
    command.isolate("a", "none", config=file)
