"""After `connect` the host's other servers are named, with a command that moves them and runs as it is printed."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from gatewright.hosts.edit import add_entry
from gatewright.hosts.entries import local_entry
from gatewright.hosts.host_table import HOSTS, user_files
from tests.cli.shell import Done, Shell

_OFFER = "  behind the gateway: "
_PROJECTS = ["cursor", "claude-code", "codex", "zed"]


def user_file(shell: Shell, host: str) -> Path:
    return Path(user_files(HOSTS[host], home=str(shell.folder), environ={}, platform="linux")[0])


def written(file: Path, host: str, *names: str) -> Path:
    text = ""
    for name in names:
        text = add_entry(HOSTS[host], text, name, local_entry(HOSTS[host], name, [f"/bin/{name}"]))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def below(shell: Shell, *folders: str) -> Shell:
    """The same user in a folder that is not the home."""
    inner = Shell(shell.folder.joinpath(*folders))
    inner.folder.mkdir(parents=True, exist_ok=True)
    inner.environment, inner.state = shell.environment, shell.state
    return inner


def offers(done: Done) -> list[list[str]]:
    lines = [line.removeprefix(_OFFER) for line in done.err.splitlines() if line.startswith(_OFFER)]
    return [shlex.split(line)[2:] for line in lines]


def left(done: Done) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = done.document[0]["ungoverned"]
    return found


@pytest.mark.parametrize(
    "host", ["claude-desktop", "claude-code", "vscode", "codex", "goose", "continue", "opencode"]
)
def test_what_stays_in_the_file_of_a_host_is_named_and_the_offer_runs_as_printed(
    shell: Shell, host: str
) -> None:
    file = written(user_file(shell, host), host, "one", "two")
    done = shell.run("connect", host, "--yes")
    assert f"one, two ({file})" in done.err or f"two, one ({file})" in done.err
    [offer] = offers(done)
    assert offer == ["connect", host, "--yes", "--take-over"]
    assert left(shell.run(*offer, "--json")) == []
    assert offers(shell.run("connect", host, "--yes")) == []


@pytest.mark.parametrize("host", _PROJECTS)
def test_the_file_of_the_project_counts_and_so_does_the_user_s(shell: Shell, host: str) -> None:
    theirs = written(user_file(shell, host), host, "mine")
    inner = below(shell, "work")
    project = written(inner.folder / HOSTS[host].project, host, "team")
    done = inner.run("connect", host, "--yes", "--json")
    found = {one["name"]: (one["file"], one["move"]) for one in left(done)}
    assert found == {
        "mine": (
            str(theirs),
            shell.typed(f"connect {host} --yes --take-over"),
        ),
        "team": (str(project), shell.typed(f"connect {host} --project --take-over")),
    }
    assert inner.run(*shlex.split(found["team"][1])[2:], "--yes").code == 0
    assert inner.run(*shlex.split(found["mine"][1])[2:]).code == 0
    assert left(inner.run("connect", host, "--project", "--yes", "--json")) == []


def test_in_a_folder_below_the_project_its_file_counts_as_well(shell: Shell) -> None:
    (shell.folder / "repo" / ".git").mkdir(parents=True)
    written(shell.folder / "repo" / ".cursor" / "mcp.json", "cursor", "team")
    done = below(shell, "repo", "deep er").run("connect", "cursor", "--yes", "--json")
    assert [one["move"] for one in left(done)] == [
        f"cd {shlex.quote(str(shell.folder / 'repo'))} && "
        + shell.typed("connect cursor --project --take-over")
    ]


def test_the_offer_keeps_every_word_of_the_command_but_the_key(shell: Shell) -> None:
    written(user_file(shell, "cursor"), "cursor", "one")
    key = "gw_0123456789abcdefghijklmnopqrstuvwxyz"
    url = "http://127.0.0.1:9999/mcp"
    done = shell.run("connect", "cursor", "--yes", "--name", "gw", "--url", url, "--key", key)
    assert key not in done.out + done.err
    [offer] = offers(done)
    assert sorted(offer) == sorted(
        ["connect", "cursor", "--yes", "--name", "gw", "--url", url, "--key", "-", "--take-over"]
    )


def test_servers_are_not_offered_to_a_gateway_of_another_machine(shell: Shell) -> None:
    written(user_file(shell, "cursor"), "cursor", "one")
    done = shell.run("connect", "cursor", "--yes", "--url", "https://gate.example/mcp")
    assert "--take-over" not in done.err
    assert "whoever runs https://gate.example/mcp can add them there" in done.err


def test_what_cannot_be_taken_over_is_not_offered_again(shell: Shell) -> None:
    file = user_file(shell, "cursor")
    file.parent.mkdir()
    file.write_text('{"mcpServers": {"odd": {"nothing": 3}, "good": {"command": "x"}}}')
    done = shell.run("connect", "cursor", "--take-over", "--yes", "--json")
    assert [(one["name"], "--take-over" in one["move"]) for one in left(done)] == [("odd", False)]


def test_off_and_other_gateways_and_files_that_cannot_be_read_are_said_as_what_they_are(
    shell: Shell,
) -> None:
    file = user_file(shell, "windsurf")
    file.parent.mkdir(parents=True)
    gateway = {"command": "/opt/gatewright", "args": ["bridge", "--profile", "work"]}
    off = {"command": "x", "disabled": True}
    file.write_text(json.dumps({"mcpServers": {"work": gateway, "sleeping": off}}))
    done = shell.run("connect", "windsurf", "--yes")
    assert offers(done) == []
    assert f"once switched on: sleeping ({file})" in done.err
    assert f"whose rules hold for it: work ({file})" in done.err
    shell.write(".mcp.json", "{")
    done = shell.run("connect", "claude-code", "--yes")
    assert (
        f"nobody can say which servers in it go past the gateway ({shell.folder / '.mcp.json'})"
        in done.err
    )


def test_names_are_shown_on_one_line_short_and_without_secrets(shell: Shell) -> None:
    file = user_file(shell, "cursor")
    file.parent.mkdir()
    token = "ghp_abcdefghij1234567890ABCDEFGHIJ123456"
    names = ["a\n  behind the gateway: rm -rf x", "\u202eb\x1b[2J", token, "l" * 5000]
    file.write_text(json.dumps({"mcpServers": {name: {"command": "x"} for name in names}}))
    done = shell.run("connect", "cursor", "--yes")
    assert len(offers(done)) == 1
    assert "\x1b" not in done.err
    assert "\u202e" not in done.err
    assert token not in done.err
    assert "l" * 100 not in done.err


def test_the_doctor_warns_of_a_connected_host_until_they_are_moved(shell: Shell) -> None:
    written(user_file(shell, "cursor"), "cursor", "one", "two")
    assert shell.run("connect", "cursor", "--yes", "--name", "gw").code == 0

    def warned() -> list[dict[str, Any]]:
        found = shell.run("doctor", "--no-servers", "--json").document["findings"]
        return [one for one in found if "beside the gateway" in one["what"]]

    [one] = warned()
    assert (one["level"], one["subject"]) == ("warning", "Cursor")
    assert "one, two" in one["what"]
    assert shell.run(*shlex.split(one["fix"])[2:], "--yes").code == 0
    assert warned() == []


def test_servers_in_the_settings_of_an_editor_are_named_with_what_imports_them(
    shell: Shell,
) -> None:
    """VS Code starts them from there, and `connect` edits another file."""
    written(user_file(shell, "vscode"), "vscode", "mine")
    settings = user_file(shell, "vscode").parent / "settings.json"
    settings.write_text('{"mcp": {"servers": {"old": {"command": "/bin/old"}}}}')
    container = shell.folder / ".devcontainer" / "devcontainer.json"
    container.parent.mkdir()
    inside = {"customizations": {"vscode": {"mcp": {"servers": {"far": {"command": "/bin/far"}}}}}}
    container.write_text(json.dumps(inside))
    done = shell.run("connect", "vscode", "--yes", "--take-over", "--json")
    found = {one["name"]: (one["file"], one["move"]) for one in left(done)}
    assert {name: file for name, (file, _) in found.items()} == {
        "old": str(settings),
        "far": str(container),
    }
    assert found["old"][1].startswith(shell.typed(f"import {settings}"))
    assert shell.run(*shlex.split(found["old"][1], comments=True)[2:]).code == 0
    doctor = shell.run("doctor")
    assert f"old ({settings})" in doctor.out + doctor.err
