"""`connect`: our entry alone, shown first and agreed to; what cannot be done changes nothing."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gatewright.hosts.edit import entries
from gatewright.hosts.host_table import HOSTS
from tests.cli.gateways import serving
from tests.cli.shell import DEADLINE_S, Shell

TWO = '{\n  "mcpServers": {\n    "gh": {\n      "command": "npx",\n      "env": { "GITHUB_TOKEN": "ghp_abcdefghij1234567890" }\n    }\n  }\n}\n'


@pytest.fixture
def cursor(shell: Shell) -> Path:
    """A file of Cursor with one server of somebody else."""
    file = shell.folder / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_text(TWO)
    return file


def ours(file: Path, host: str = "cursor", name: str = "gatewright") -> dict[str, Any]:
    found: dict[str, Any] = entries(HOSTS[host], file.read_text())[name]
    return found


def test_the_entry_starts_a_bridge_that_finds_this_gateway(shell: Shell, cursor: Path) -> None:
    done = shell.run("connect", "cursor", "--yes", "--json")
    assert done.code == 0
    script = Path(sys.executable).with_name("gatewright")
    assert ours(cursor) == {
        "command": str(script),
        "args": ["bridge", "--as", "cursor"],
        "env": {"GATEWRIGHT_STATE": str(shell.state)},
    }
    assert script.is_absolute()
    [one] = done.document
    assert (one["host"], one["file"], one["way"]) == ("cursor", str(cursor), "bridge")
    assert (one["action"], one["written"]) == ("changed", True)
    assert "needs none" in one["remarks"][0]
    backup = Path(one["backup"])
    assert backup.read_text() == TWO
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600


def test_nothing_else_of_the_file_differs(shell: Shell, cursor: Path) -> None:
    cursor.chmod(0o640)
    done = shell.run("connect", "cursor", "--yes")
    assert done.rows == [["cursor", "changed", str(cursor)]]
    left = json.loads(cursor.read_text())
    del left["mcpServers"]["gatewright"]
    assert left == json.loads(TWO)
    assert cursor.read_text().startswith(TWO.removesuffix("\n  }\n}\n"))
    assert stat.S_IMODE(cursor.stat().st_mode) == 0o640
    assert [one.name for one in cursor.parent.iterdir()] == ["mcp.json"]


def test_a_dry_run_shows_the_change_without_secrets_and_makes_none(
    shell: Shell, cursor: Path
) -> None:
    done = shell.run("connect", "cursor", "claude-desktop", "--dry-run")
    assert done.code == 0
    assert '+    "gatewright": {' in done.out
    assert '"GITHUB_TOKEN": "***"' in done.out
    assert "ghp_" not in done.out + done.err
    assert cursor.read_text() == TWO
    assert not shell.state.exists()
    assert not (shell.folder / ".config").exists()


def test_without_a_terminal_and_without_yes_nothing_is_written(shell: Shell, cursor: Path) -> None:
    done = shell.run("connect", "cursor")
    assert (done.code, done.error["code"]) == (2, "confirmation")
    assert "--yes" in done.error["hint"]
    assert '+    "gatewright": {' in done.err
    assert cursor.read_text() == TWO


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 130), ("\n", 130)])
def test_a_person_is_shown_the_change_and_asked(
    shell: Shell, cursor: Path, answer: str, code: int
) -> None:
    done = shell.run_at_terminal("connect", "cursor", answers=answer, after="[y/N]")
    assert done.code == code
    assert '+    "gatewright": {' in done.out
    assert ("gatewright" in cursor.read_text()) == (code == 0)


def test_the_same_again_changes_nothing(shell: Shell, cursor: Path) -> None:
    assert shell.run("connect", "cursor", "--yes").code == 0
    text = cursor.read_text()
    done = shell.run("connect", "cursor")
    assert (done.code, done.rows) == (0, [["cursor", "unchanged", str(cursor)]])
    assert cursor.read_text() == text


def test_another_address_takes_the_place_of_ours(shell: Shell, cursor: Path) -> None:
    assert shell.run("connect", "cursor", "--yes").code == 0
    url = "http://10.0.0.1:8420/mcp"
    assert shell.run("connect", "cursor", "--yes", "--url", url).code == 0
    assert ours(cursor) == {"url": url}
    assert shell.run("disconnect", "cursor", "--yes").code == 0
    assert cursor.read_text() == TWO


def test_an_entry_of_somebody_else_is_not_replaced(shell: Shell, cursor: Path) -> None:
    done = shell.run("connect", "cursor", "--yes", "--name", "gh")
    assert (done.code, done.error["code"]) == (8, "host_file")
    assert "`mcpServers.gh` is already there" in done.error["message"]
    assert cursor.read_text() == TWO


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (b'{\n  "mcpServers": {\n    "a": 1\n    "b": 2\n  }\n}\n', "line 4: expected `,` or `}`"),
        (b"[]", "the file is not an object"),
        (b'{"mcpServers": 3}', "`mcpServers` is not an object"),
        (b"{\n\xff}", "line 2: not UTF-8"),
    ],
)
def test_a_file_that_cannot_be_edited_is_named_and_left(
    shell: Shell, cursor: Path, text: bytes, what: str
) -> None:
    cursor.write_bytes(text)
    done = shell.run("connect", "claude-desktop", "cursor", "--yes")
    assert (done.code, done.error["code"]) == (8, "host_file")
    assert what in done.error["message"]
    assert str(cursor) in done.error["message"]
    assert cursor.read_bytes() == text
    assert not (shell.folder / ".config").exists(), "no host is connected where one cannot be"


@pytest.mark.parametrize(
    ("host", "name", "text", "what"),
    [
        (
            "goose",
            ".config/goose/config.yaml",
            "a0: &a0 [x, x]\n"
            + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 60)),
            "write out its aliases",
        ),
        ("codex", ".codex/config.toml", ".".join(["a"] * 2000) + " = 1\n", "more than a hundred"),
    ],
)
def test_a_short_file_that_stands_for_very_much_is_named_and_left(
    shell: Shell, host: str, name: str, text: str, what: str
) -> None:
    file = shell.folder / name
    file.parent.mkdir(parents=True)
    file.write_text(text)
    done = shell.run("connect", host, "--yes")
    assert (done.code, file.read_text()) == (8, text)
    assert what in done.error["message"]


def test_comments_in_a_row_after_the_last_entry_stay(shell: Shell, cursor: Path) -> None:
    commented = TWO.replace("\n    }\n  }\n", "\n    }\n    " + "/* off */ " * 60 + "\n  }\n")
    cursor.write_text(commented)
    assert shell.run("connect", "cursor", "--yes").code == 0
    assert set(entries(HOSTS["cursor"], cursor.read_text())) == {"gh", "gatewright"}
    assert cursor.read_text().count("/* off */") == 60


def test_a_folder_in_the_place_of_a_file_is_refused(shell: Shell) -> None:
    (shell.folder / ".cursor" / "mcp.json").mkdir(parents=True)
    done = shell.run("connect", "cursor", "--yes")
    assert (done.code, done.error["code"]) == (8, "host_file")
    assert "not a regular file" in done.error["message"]


def test_a_project_has_a_file_of_its_own(shell: Shell) -> None:
    done = shell.run("connect", "claude-code", "vscode", "--project", "--yes")
    assert [row[2] for row in done.rows] == [
        str(shell.folder / ".mcp.json"),
        str(shell.folder / ".vscode" / "mcp.json"),
    ]
    assert stat.S_IMODE((shell.folder / ".mcp.json").stat().st_mode) == 0o644
    refused = shell.run("connect", "windsurf", "--project", "--yes")
    assert (refused.code, refused.error["code"]) == (2, "usage")


PROJECT_FILES = {host.id: host.project for host in HOSTS.values() if host.project}


@pytest.mark.parametrize("command", ["connect", "disconnect"])
@pytest.mark.parametrize("kind", ["file", "dangling", "folder", "hard"])
@pytest.mark.parametrize("host", sorted(PROJECT_FILES))
def test_a_projects_file_that_leads_elsewhere_is_neither_read_nor_written(
    host: str, kind: str, command: str, shell: Shell, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    file, target = shell.folder / PROJECT_FILES[host], outside / "mine.json"
    in_folder = kind == "folder" and file.parent != shell.folder
    if kind != "dangling":
        target.write_text(TWO)
    if in_folder:
        (outside / file.name).write_text(TWO)
        file.parent.parent.mkdir(parents=True, exist_ok=True)
        file.parent.symlink_to(outside)
    else:
        file.parent.mkdir(parents=True, exist_ok=True)
        (os.link if kind == "hard" else os.symlink)(target, file)
    before = {one.name: one.read_text() for one in outside.iterdir()}
    done = shell.run(command, host, "--project", "--yes")
    assert (done.code, done.error["code"]) == (8, "host_file"), done.err
    assert "link" in done.error["message"]
    assert "ghp_" not in done.err + done.out
    assert {one.name: one.read_text() for one in outside.iterdir()} == before


def test_a_link_to_a_file_elsewhere_stays_a_link(shell: Shell) -> None:
    target, link = shell.write("dotfile.json", TWO), shell.folder / ".lmstudio" / "mcp.json"
    link.parent.mkdir()
    link.symlink_to(target)
    assert shell.run("connect", "lm-studio", "--yes").code == 0
    assert link.is_symlink()
    assert "gatewright" in target.read_text()
    assert shell.run("disconnect", "lm-studio", "--yes").code == 0
    assert (link.is_symlink(), target.read_text()) == (True, TWO)


def test_a_snippet_is_printed_and_nothing_written(shell: Shell, cursor: Path) -> None:
    done = shell.run("connect", "cursor", "--print", "--url", "http://h:1/mcp", "--profile", "dev")
    assert json.loads(done.out) == {"mcpServers": {"gatewright": {"url": "http://h:1/mcp/dev"}}}
    assert str(cursor) in done.err
    assert cursor.read_text() == TWO
    [one] = shell.run("connect", "codex", "--print", "--json", "--url", "http://h:1/mcp").document
    assert one["snippet"] == '[mcp_servers.gatewright]\nurl = "http://h:1/mcp"\n'
    assert one["action"] == "printed"


def test_a_key_is_written_and_never_shown(shell: Shell, cursor: Path) -> None:
    key = "gw_0123456789abcdefghij"
    done = shell.run("connect", "cursor", "--yes", "--json", "--key", key)
    assert ours(cursor)["headers"] == {"Authorization": f"Bearer {key}"}
    shown = shell.run("connect", "cursor", "--print", "--key", key)
    assert key not in done.out + done.err + shown.out + shown.err
    terminal = shell.run_at_terminal("connect", "kiro", "--key", key, answers="y\n", after="[y/N]")
    assert (terminal.code, key in terminal.out) == (0, False)


def test_unknown_hosts_are_answered_with_those_there_are(shell: Shell) -> None:
    done = shell.run("connect", "emacs", "--yes")
    assert (done.code, done.error["code"]) == (2, "usage")
    assert "claude-code" in done.error["hint"]


def test_an_entry_with_a_url_names_the_gateway_that_runs(shell: Shell) -> None:
    config = shell.write("mgp.toml", '[gateway]\nanonymous = "allow"\n')
    with serving(shell) as gateway:
        assert shell.run("connect", "cursor", "--yes", "--config", str(config)).code == 0
    file = shell.folder / ".cursor" / "mcp.json"
    assert ours(file) == {"url": gateway.url}, "a free port is that of the gateway that runs"


def test_the_bridge_that_was_written_reaches_the_gateway(shell: Shell, tmp_path: Path) -> None:
    shell.write("mgp.toml", '[storage]\npath = "kept"\n')
    del shell.environment["GATEWRIGHT_STATE"]
    with serving(shell):
        assert shell.run("connect", "claude-desktop", "--yes").code == 0
        file = shell.folder / ".config" / "Claude" / "claude_desktop_config.json"
        entry = ours(file, "claude-desktop")
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        hello = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "host", "version": "1"},
            },
        }
        ended = subprocess.run(
            [entry["command"], *entry["args"]],
            input=json.dumps(hello) + "\n",
            capture_output=True,
            text=True,
            cwd=elsewhere,
            env={"HOME": str(tmp_path), "PATH": os.defpath, **entry.get("env", {})},
            timeout=DEADLINE_S,
            check=False,
        )
    answer = json.loads(ended.stdout.splitlines()[0])
    assert answer["result"]["serverInfo"]["name"] == "gatewright"
