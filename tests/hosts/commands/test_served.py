"""Hosts as the console changes them: what was shown is what is done, and undone byte for byte; secrets are neither shown nor left."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gatewright.hosts.commands.served import ServedHosts
from gatewright.hosts.offered import CannotChange

TOKEN = "ghp_0123456789abcdef0123456789abcdef0123"
FILE = json.dumps(
    {"mcpServers": {"files": {"command": "npx", "args": ["x@1.0"], "env": {"API_TOKEN": TOKEN}}}},
    indent=3,
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with one host, and a configuration."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME", "COPILOT_HOME", "GATEWRIGHT_STATE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".cursor/mcp.json").write_text(FILE)
    (tmp_path / "mgp.toml").write_text('[secrets]\nstore = "file"\n')
    return tmp_path


@pytest.fixture
def hosts(home: Path) -> ServedHosts:
    return ServedHosts(home / "mgp.toml")


def test_hosts_that_have_a_place_are_found_with_what_is_beside(hosts: ServedHosts) -> None:
    found = {one.id: one for one in hosts.hosts()}
    cursor = found["cursor"]
    assert (cursor.there, cursor.connected, cursor.others) == (True, False, ["files"])


def test_what_was_shown_is_done_and_undone_byte_for_byte(hosts: ServedHosts, home: Path) -> None:
    file = home / ".cursor/mcp.json"
    shown = hosts.connecting("cursor")
    assert (shown.action, TOKEN in shown.diff, file.read_text()) == ("changed", False, FILE)
    assert hosts.connect("cursor", shown.digest).diff == shown.diff
    assert next(one for one in hosts.hosts() if one.id == "cursor").connected
    back = hosts.disconnecting("cursor")
    hosts.disconnect("cursor", back.digest)
    assert file.read_text() == FILE


def test_a_file_that_changed_since_is_left_alone(hosts: ServedHosts, home: Path) -> None:
    file = home / ".cursor/mcp.json"
    shown = hosts.connecting("cursor")
    file.write_text(FILE + "\n")
    with pytest.raises(CannotChange, match="changed since"):
        hosts.connect("cursor", shown.digest)
    assert file.read_text() == FILE + "\n"


def test_servers_are_imported_as_shown_and_their_secrets_move(
    hosts: ServedHosts, home: Path
) -> None:
    plan = hosts.importing("cursor")
    assert [(one.id, one.secrets) for one in plan.servers] == [("files", ["files.API_TOKEN"])]
    assert TOKEN not in repr(plan)
    before = (home / "mgp.toml").read_text()
    with pytest.raises(CannotChange):
        hosts.bring_in("cursor", "0" * 64)
    assert (home / "mgp.toml").read_text() == before
    hosts.bring_in("cursor", plan.digest, ["files"])
    written = (home / "mgp.toml").read_text()
    assert ('id = "files"' in written, TOKEN in written) == (True, False)


def test_a_server_that_chooses_what_is_loaded_is_not_imported_unasked(
    hosts: ServedHosts, home: Path
) -> None:
    """Nobody is asked here; what the command needs to hear is said."""
    servers = {"evil": {"command": "npx", "args": ["x"], "env": {"LD_PRELOAD": "/x.so"}}}
    (home / ".cursor/mcp.json").write_text(json.dumps({"mcpServers": servers}))
    plan = hosts.importing("cursor")
    assert plan.servers == []
    assert any("LD_PRELOAD" in one for one in plan.remarks)


@pytest.mark.parametrize("name", ["nothing", "../cursor", ""])
def test_a_host_that_there_is_not_is_named(hosts: ServedHosts, name: str) -> None:
    for ask in (hosts.connecting, hosts.disconnecting, hosts.importing):
        with pytest.raises(CannotChange) as found:
            ask(name)
        assert found.value.hint


def test_a_file_that_cannot_be_read_is_a_problem_of_its_host(
    hosts: ServedHosts, home: Path
) -> None:
    (home / ".cursor/mcp.json").write_text("{ no json")
    (cursor,) = [one for one in hosts.hosts() if one.id == "cursor"]
    assert cursor.problem
    with pytest.raises(CannotChange, match=r"mcp\.json"):
        hosts.connecting("cursor")
