"""The host that is meant, and which file is its own."""

from pathlib import Path

import pytest

from gatewright.cli.errors import CliError
from gatewright.hosts.commands.host_files import host_ids, known_host, places
from gatewright.hosts.host_table import HOSTS


def test_hosts_are_known_by_their_names() -> None:
    assert known_host("claude").id == "claude-desktop"
    assert host_ids("cl") == ["claude-desktop", "claude-code", "cline"]
    with pytest.raises(CliError, match="no host is called 'emacs'"):
        known_host("emacs")


def test_the_file_that_is_there_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    editions = [tmp_path / ".config" / one / "User" for one in ("Code", "VSCodium")]
    assert places(HOSTS["vscode"], project=False)[0] == editions[0] / "mcp.json"
    editions[1].mkdir(parents=True)
    assert places(HOSTS["vscode"], project=False)[0] == editions[1] / "mcp.json"
    editions[0].mkdir(parents=True)
    (editions[0] / "mcp.json").write_text("{}")
    assert places(HOSTS["vscode"], project=False)[0] == editions[0] / "mcp.json"


def test_a_project_has_its_file_in_this_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert places(HOSTS["cursor"], project=True) == [tmp_path / ".cursor" / "mcp.json"]
    with pytest.raises(CliError, match="LM Studio has no file for a project"):
        places(HOSTS["lm-studio"], project=True)
