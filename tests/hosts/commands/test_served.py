"""Hosts as the console changes them: what was shown is what is done, and undone byte for byte; secrets are neither shown nor left."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gatewright.hosts.commands.served import ServedHosts
from gatewright.hosts.offered import CannotChange, ImportSource

TOKEN = "ghp_0123456789abcdef0123456789abcdef0123"
FILE = json.dumps(
    {"mcpServers": {"files": {"command": "npx", "args": ["x@1.0"], "env": {"API_TOKEN": TOKEN}}}},
    indent=3,
)

CURSOR = ImportSource(host="cursor")


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
    plan = hosts.importing(CURSOR)
    assert [(one.id, one.secrets) for one in plan.servers] == [("files", ["files.API_TOKEN"])]
    assert TOKEN not in repr(plan)
    before = (home / "mgp.toml").read_text()
    with pytest.raises(CannotChange):
        hosts.bring_in(CURSOR, "0" * 64)
    assert (home / "mgp.toml").read_text() == before
    hosts.bring_in(CURSOR, plan.digest, ["files"])
    written = (home / "mgp.toml").read_text()
    assert ('id = "files"' in written, TOKEN in written) == (True, False)


def test_a_server_that_chooses_what_is_loaded_is_not_imported_unasked(
    hosts: ServedHosts, home: Path
) -> None:
    """Nobody is asked here; what the command needs to hear is said."""
    servers = {"evil": {"command": "npx", "args": ["x"], "env": {"LD_PRELOAD": "/x.so"}}}
    (home / ".cursor/mcp.json").write_text(json.dumps({"mcpServers": servers}))
    plan = hosts.importing(CURSOR)
    assert plan.servers == []
    assert any("LD_PRELOAD" in one for one in plan.remarks)


@pytest.mark.parametrize("name", ["nothing", "../cursor", ""])
def test_a_host_that_there_is_not_is_named(hosts: ServedHosts, name: str) -> None:
    importing = lambda name: hosts.importing(ImportSource(host=name))  # noqa: E731
    for ask in (hosts.connecting, hosts.disconnecting, importing):
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


def test_servers_of_a_host_move_behind_the_gateway_and_the_host_has_them_back(
    hosts: ServedHosts, home: Path
) -> None:
    """As `connect --take-over` does it: what is not in our file does not leave the host's."""
    file, ours = home / ".cursor/mcp.json", home / "mgp.toml"
    before = ours.read_text()
    shown = hosts.connecting("cursor", take_over=True)
    assert ([one.id for one in shown.moves], shown.moves_to) == (["files"], str(ours))
    assert "files" in shown.diff
    assert TOKEN not in repr(shown)
    with pytest.raises(CannotChange):
        hosts.connect("cursor", hosts.connecting("cursor").digest, take_over=True)
    assert (file.read_text(), ours.read_text()) == (FILE, before)
    hosts.connect("cursor", shown.digest, take_over=True)
    assert list(json.loads(file.read_text())["mcpServers"]) == ["gatewright"]
    assert 'id = "files"' in ours.read_text()
    assert TOKEN not in ours.read_text()
    hosts.disconnect("cursor", hosts.disconnecting("cursor").digest)
    assert file.read_text() == FILE
    assert 'id = "files"' in ours.read_text()


def test_what_the_gateway_would_ask_about_stays_with_its_host(
    hosts: ServedHosts, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the gateway itself runs at a terminal: nobody there was asked for anything."""
    monkeypatch.setattr("gatewright.hosts.commands.import_consent.is_terminal", lambda _: True)
    servers = {"evil": {"command": "npx", "args": ["x@1"], "env": {"LD_PRELOAD": "/x.so"}}}
    (home / ".cursor/mcp.json").write_text(json.dumps({"mcpServers": servers}))
    shown = hosts.connecting("cursor", take_over=True)
    assert shown.moves == []
    hosts.connect("cursor", shown.digest, take_over=True)
    assert set(json.loads((home / ".cursor/mcp.json").read_text())["mcpServers"]) == {
        "evil",
        "gatewright",
    }


@pytest.mark.parametrize("way", ["path", "text", "home"])
def test_servers_of_a_file_or_a_text_are_imported_as_shown(
    hosts: ServedHosts, home: Path, way: str
) -> None:
    """Through the same code as those of a host: secrets move, and none of them is shown."""
    elsewhere = home / "elsewhere.json"
    elsewhere.write_text(FILE)
    source = {
        "path": ImportSource(path=str(elsewhere)),
        "text": ImportSource(text=FILE),
        "home": ImportSource(path="~/elsewhere.json"),
    }[way]
    plan = hosts.importing(source)
    assert [(one.id, one.secrets) for one in plan.servers] == [("files", ["files.API_TOKEN"])]
    assert TOKEN not in repr(plan)
    with pytest.raises(CannotChange):
        hosts.bring_in(source, "0" * 64)
    assert "files" not in (home / "mgp.toml").read_text()
    hosts.bring_in(source, plan.digest)
    written = (home / "mgp.toml").read_text()
    assert ('id = "files"' in written, TOKEN in written) == (True, False)


@pytest.mark.parametrize(
    "source",
    [
        ImportSource(),
        ImportSource(host="cursor", text="{}"),
        ImportSource(path="mcp.json"),
        ImportSource(path="/nowhere/mcp.json"),
        ImportSource(path="/dev/zero"),
        ImportSource(path="/tmp\0"),
        ImportSource(path="~nobody-of-this-name/x"),
        ImportSource(path="https://example.com/mcp.json"),
        ImportSource(path="-"),
        ImportSource(text="{ no json"),
        ImportSource(text="  "),
    ],
)
def test_what_names_no_file_that_can_be_read_says_so(
    hosts: ServedHosts, source: ImportSource
) -> None:
    """No URL is fetched, and nothing is read from a terminal."""
    with pytest.raises(CannotChange) as found:
        hosts.importing(source)
    assert found.value.message


def test_a_file_that_takes_long_to_read_is_left_to_the_commands(
    hosts: ServedHosts, home: Path
) -> None:
    """The decoder holds the interpreter, in a thread as well: all calls would wait for a file that anybody may have written."""
    heavy = f'{{"mcpServers":{{"a":{{"command":"x","args":[{"[]," * 200_000}1]}}}}}}'
    (home / ".cursor/mcp.json").write_text(heavy)
    cursor = next(one for one in hosts.hosts() if one.id == "cursor")
    assert "has more in it" in cursor.problem
    for look in (
        lambda: hosts.importing(CURSOR),
        lambda: hosts.importing(ImportSource(text=heavy)),
        lambda: hosts.connecting("cursor"),
        lambda: hosts.disconnecting("cursor"),
    ):
        with pytest.raises(CannotChange) as found:
            look()
        assert "has more in it" in found.value.message
        assert "in a terminal" in found.value.message
