"""`connect --take-over`: a host's servers go behind the gateway, and come back with `disconnect`."""

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gatewright.cli.errors import CliError
from gatewright.hosts.commands import take_over
from gatewright.hosts.commands.import_sources import Found
from gatewright.hosts.commands.imports import bring_in
from gatewright.hosts.commands.take_over import TakeOver, read_originals
from gatewright.hosts.edit import add_entry, entries
from gatewright.hosts.entries import local_entry
from gatewright.hosts.host_table import HOSTS, user_files
from tests.cli.shell import Shell

TOKEN = "ghp_abcdefghij1234567890ABCDEFGHIJ123456"
TEXT = f"""{{
  // what I use
  "mcpServers": {{
    "files": {{ "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem@2.0.0", "."] }},
    "gh": {{
      "command": "npx",
      "args": ["-y", "gh@1.0.0"],
      "env": {{ "GITHUB_TOKEN": "{TOKEN}" }},
    }}, // mine
  }},
  "theme": "dark",
}}
"""


@pytest.fixture
def cursor(shell: Shell) -> Path:
    """A file of Cursor with two servers."""
    file = shell.folder / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_text(TEXT)
    shell.write("mgp.toml", '[gateway]\nport = 8420\n\n[secrets]\nstore = "file"\n')
    return file


def servers(shell: Shell) -> dict[str, dict[str, Any]]:
    data = tomllib.loads((shell.folder / "mgp.toml").read_text())
    return {one["id"]: one for one in data.get("servers", [])}


def test_the_servers_move_and_ours_alone_is_left(shell: Shell, cursor: Path) -> None:
    done = shell.run("connect", "cursor", "--take-over", "--yes", "--json")
    assert done.code == 0, done.err
    assert done.document[0]["taken"] == ["files", "gh"]
    assert list(entries(HOSTS["cursor"], cursor.read_text())) == ["gatewright"]
    assert '"theme": "dark"' in cursor.read_text()
    assert set(servers(shell)) == {"files", "gh"}
    assert servers(shell)["files"]["args"][1] == "@modelcontextprotocol/server-filesystem@2.0.0"
    assert TOKEN not in done.out + done.err + (shell.folder / "mgp.toml").read_text()
    assert shell.run("config", "check").code == 0


def test_they_come_back_byte_for_byte(shell: Shell, cursor: Path) -> None:
    assert shell.run("connect", "cursor", "--take-over", "--yes").code == 0
    again = shell.run("connect", "cursor", "--yes")
    assert again.rows == [["cursor", "unchanged", str(cursor)]]
    done = shell.run("disconnect", "cursor", "--yes")
    assert cursor.read_text() == TEXT
    assert "files, gh" in done.err
    assert set(servers(shell)) == {"files", "gh"}


def test_they_come_back_although_the_file_was_edited(shell: Shell, cursor: Path) -> None:
    assert shell.run("connect", "cursor", "--take-over", "--yes").code == 0
    cursor.write_text(cursor.read_text().replace("what I use", "what I used"))
    assert shell.run("disconnect", "cursor", "--yes").code == 0
    assert cursor.read_text() == TEXT.replace("what I use", "what I used")


def test_a_dry_run_says_what_would_go_where(shell: Shell, cursor: Path) -> None:
    before = (shell.folder / "mgp.toml").read_text()
    done = shell.run("connect", "cursor", "--take-over", "--dry-run")
    assert done.code == 0
    assert "mcpServers.gh goes into mgp.toml as gh" in done.err.replace(f"{shell.folder}/", "")
    assert TOKEN not in done.out + done.err
    assert (cursor.read_text(), (shell.folder / "mgp.toml").read_text()) == (TEXT, before)
    refused = shell.run("connect", "cursor", "--take-over")
    assert (refused.code, refused.error["code"]) == (2, "confirmation")
    assert TOKEN not in refused.err
    assert (cursor.read_text(), (shell.folder / "mgp.toml").read_text()) == (TEXT, before)


def test_what_cannot_be_said_in_our_file_stays_in_the_host(shell: Shell, cursor: Path) -> None:
    text = '{\n  "mcpServers": {\n    "odd": { "nothing": 3 },\n    "good": { "command": "x" }\n  }\n}\n'
    cursor.write_text(text)
    done = shell.run("connect", "cursor", "--take-over", "--yes", "--json")
    assert done.document[0]["taken"] == ["good"]
    assert "odd" in done.err
    assert set(entries(HOSTS["cursor"], cursor.read_text())) == {"odd", "gatewright"}


def test_a_server_that_is_in_our_file_already_leaves_as_well(shell: Shell, cursor: Path) -> None:
    assert shell.run("import", str(cursor)).code == 0
    done = shell.run("connect", "cursor", "--take-over", "--yes", "--json")
    assert done.document[0]["taken"] == ["files", "gh"]
    assert set(servers(shell)) == {"files", "gh"}


def test_a_server_that_came_later_follows(shell: Shell, cursor: Path) -> None:
    assert shell.run("connect", "cursor", "--take-over", "--yes").code == 0
    host = HOSTS["cursor"]
    cursor.write_text(add_entry(host, cursor.read_text(), "late", local_entry(host, "late", ["l"])))
    done = shell.run("connect", "cursor", "--take-over", "--yes", "--json")
    assert done.document[0]["taken"] == ["files", "gh", "late"]
    assert list(entries(host, cursor.read_text())) == ["gatewright"]
    assert shell.run("disconnect", "cursor", "--yes").code == 0
    assert set(entries(host, cursor.read_text())) == {"files", "gh", "late"}


def test_without_a_file_of_ours_one_is_begun_and_named_to_the_bridge(shell: Shell) -> None:
    file = shell.folder / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_text('{"mcpServers": {"x": {"command": "x"}}}')
    assert shell.run("connect", "cursor", "--take-over", "--yes").code == 0
    entry = entries(HOSTS["cursor"], file.read_text())["gatewright"]
    assert entry["args"] == ["bridge", "--as", "cursor", "--config", str(shell.folder / "mgp.toml")]
    assert set(servers(shell)) == {"x"}


@pytest.mark.parametrize(
    "host", ["claude-code", "vscode", "codex", "opencode", "goose", "continue"]
)
def test_every_kind_of_file_can_be_taken_over(shell: Shell, host: str) -> None:
    known = HOSTS[host]
    file = Path(user_files(known, home=str(shell.folder), environ={}, platform="linux")[0])
    file.parent.mkdir(parents=True, exist_ok=True)
    text = ""
    for name in ("one", "two"):
        text = add_entry(known, text, name, local_entry(known, name, [f"/bin/{name}", "-x"]))
    file.write_text(text)
    done = shell.run("connect", host, "--take-over", "--yes")
    assert done.code == 0, done.err
    assert list(entries(known, file.read_text())) == ["gatewright"]
    assert {id: one["command"] for id, one in servers(shell).items()} == {
        "one": "/bin/one",
        "two": "/bin/two",
    }
    assert shell.run("disconnect", host, "--yes").code == 0
    assert file.read_text() == text


def test_a_host_without_servers_is_connected_all_the_same(shell: Shell) -> None:
    done = shell.run("connect", "kiro", "zed", "--take-over", "--yes")
    assert (done.code, len(done.rows)) == (0, 2)
    assert "no server to take over" in done.err
    assert not (shell.folder / "mgp.toml").exists()


def test_servers_of_other_projects_are_not_touched(shell: Shell) -> None:
    mine = {
        "mcpServers": {"a": {"command": "a"}},
        "projects": {"/p": {"mcpServers": {"b": {"command": "b"}}}},
    }
    file = shell.write(".claude.json", json.dumps(mine))
    assert shell.run("connect", "claude-code", "--take-over", "--yes").code == 0
    assert set(servers(shell)) == {"a"}
    assert json.loads(file.read_text())["projects"] == mine["projects"]


def test_a_snippet_takes_nothing_over(shell: Shell) -> None:
    done = shell.run("connect", "cursor", "--take-over", "--print")
    assert (done.code, done.error["code"]) == (2, "usage")


def test_a_server_leaves_no_host_because_another_host_has_one_of_its_name(
    shell: Shell, cursor: Path
) -> None:
    """What is in our file already is Cursor's; Windsurf's of the same name cannot be said there, and stays."""
    shell.write(
        "mgp.toml", '[secrets]\nstore = "file"\n\n[[servers]]\nid = "files"\ncommand = "x"\n'
    )
    cursor.write_text('{"mcpServers": {"files": {"command": "x"}}}')
    windsurf = shell.folder / ".codeium" / "windsurf" / "mcp_config.json"
    windsurf.parent.mkdir(parents=True)
    windsurf.write_text('{"mcpServers": {"files": {"serverUrl": "unix:///run/files.sock"}}}')
    done = shell.run("connect", "cursor", "windsurf", "--take-over", "--yes", "--json")
    assert done.code == 0, done.err
    assert [one["taken"] for one in done.document] == [["files"], []]
    assert set(entries(HOSTS["cursor"], cursor.read_text())) == {"gatewright"}
    assert set(entries(HOSTS["windsurf"], windsurf.read_text())) == {"files", "gatewright"}


def test_what_our_file_did_not_take_in_the_end_stays_with_the_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plan was made, shown and agreed to; then somebody wrote a server into our file that has another's place."""
    for name in ("HOME", "GATEWRIGHT_STATE"):
        monkeypatch.setenv(name, str(tmp_path))
    config = tmp_path / "mgp.toml"
    config.write_text('[secrets]\nstore = "file"\n')
    text = json.dumps({"mcpServers": {name: {"command": name} for name in ("one", "two")}})
    host = HOSTS["cursor"]
    found = read_originals(host, tmp_path / "mcp.json", text, ["gatewright"], workspace=None)
    moving = TakeOver([found], config, str(tmp_path / "bundles"))
    assert moving.taken(host) == ["one", "two"]
    monkeypatch.setattr(
        take_over,
        "bring_in",
        lambda sources, *args, **more: bring_in([fewer(sources)], *args, **more),
    )
    with pytest.raises(CliError, match=r"did not take mcpServers\.two"):
        moving.carry_out()


def fewer(sources: Sequence[Found]) -> Found:
    """The source without its second server, in place of one that is refused the second time."""
    whole = json.loads(sources[0].content)
    del whole["mcpServers"]["two"]
    return msgspec.structs.replace(sources[0], content=json.dumps(whole).encode())
