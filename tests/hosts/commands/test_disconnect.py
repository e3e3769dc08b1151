"""`disconnect`: every host's file is again what it was, byte for byte."""

import json
from pathlib import Path

import pytest

from gatewright.hosts.edit import entries
from gatewright.hosts.host_table import HOSTS, user_files
from tests.cli.shell import Shell
from tests.hosts.samples import samples

ROUNDS = 8


def files_of_round(number: int) -> dict[str, str]:
    """One text for every host; another one each round."""
    texts: dict[str, list[str]] = {}
    for host, _, text in samples():
        texts.setdefault(host.id, []).append(text)
    return {id: found[number * 3 % len(found)] for id, found in texts.items()}


def place(shell: Shell, host: str) -> Path:
    return Path(user_files(HOSTS[host], home=str(shell.folder), environ={}, platform="linux")[0])


def tree(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Every file below a folder with its mode and bytes; our own state aside."""
    return {
        str(path.relative_to(folder)): (path.stat().st_mode, path.read_bytes())
        for path in folder.rglob("*")
        if path.is_file() and "state" not in path.relative_to(folder).parts
    }


@pytest.mark.parametrize("number", range(ROUNDS))
def test_every_host_is_connected_and_back_again_byte_for_byte(shell: Shell, number: int) -> None:
    for id, text in files_of_round(number).items():
        place(shell, id).parent.mkdir(parents=True, exist_ok=True)
        place(shell, id).write_bytes(text.encode())
    before = tree(shell.folder)
    url = ["--url", "http://127.0.0.1:8420/mcp"] if number % 2 else []
    done = shell.run("connect", *HOSTS, "--yes", *url)
    assert done.code == 0, done.err
    for id, text in files_of_round(number).items():
        found = dict(entries(HOSTS[id], place(shell, id).read_bytes().decode()))
        assert "gatewright" in found
        del found["gatewright"]
        assert found == entries(HOSTS[id], text)
    assert shell.run("disconnect", *HOSTS, "--yes", "--json").code == 0
    assert tree(shell.folder) == before
    assert [path for path in shell.state.rglob("*") if path.is_file()] == []


def test_files_and_folders_that_were_not_there_go_again(shell: Shell) -> None:
    assert shell.run("connect", *HOSTS, "--yes").code == 0
    assert len(tree(shell.folder)) == len(HOSTS)
    done = shell.run("disconnect", *HOSTS, "--yes")
    assert {row[1] for row in done.rows} == {"removed"}
    assert [path.name for path in shell.folder.iterdir()] == ["state"]


def test_what_was_edited_since_stays(shell: Shell) -> None:
    file = place(shell, "cursor")
    file.parent.mkdir()
    file.write_text('{\n  // mine\n  "mcpServers": {}\n}\n')
    assert shell.run("connect", "cursor", "--yes").code == 0
    text = file.read_text().replace("// mine", "// mine, and more")
    file.write_text(text)
    done = shell.run("disconnect", "cursor", "--yes", "--json")
    assert file.read_text() == '{\n  // mine, and more\n  "mcpServers": {}\n}\n'
    [one] = done.document
    assert (one["action"], one["written"]) == ("changed", True)
    assert "// mine\n" in Path(one["backup"]).read_text()


def test_without_our_record_the_entry_goes_by_its_name(shell: Shell) -> None:
    file = place(shell, "cursor")
    file.parent.mkdir()
    file.write_text('{\n  "mcpServers": {\n    "a": {}\n  }\n}\n')
    text = file.read_text()
    assert shell.run("connect", "cursor", "--yes").code == 0
    for path in shell.state.rglob("*.json"):
        path.unlink()
    assert shell.run("disconnect", "cursor", "--yes").code == 0
    assert file.read_text() == text


def test_a_host_that_is_not_connected_is_left_alone(shell: Shell) -> None:
    file = place(shell, "cursor")
    file.parent.mkdir()
    file.write_text("{}")
    done = shell.run("disconnect", "cursor", "zed")
    assert done.code == 0
    assert [row[1] for row in done.rows] == ["unchanged", "unchanged"]
    assert file.read_text() == "{}"


def test_the_change_is_shown_and_agreed_to(shell: Shell) -> None:
    assert shell.run("connect", "cursor", "--yes").code == 0
    file = place(shell, "cursor")
    shown = shell.run("disconnect", "cursor", "--dry-run")
    assert '-    "gatewright": {' in shown.out
    refused = shell.run("disconnect", "cursor")
    assert (refused.code, refused.error["code"]) == (2, "confirmation")
    assert "gatewright" in file.read_text()
    done = shell.run_at_terminal("disconnect", "cursor", answers="y\n", after="[y/N]")
    assert (done.code, file.exists()) == (0, False)


def test_a_file_that_was_broken_since_is_named_and_left(shell: Shell) -> None:
    assert shell.run("connect", "cursor", "--yes").code == 0
    file = place(shell, "cursor")
    file.write_text(file.read_text() + "}")
    done = shell.run("disconnect", "cursor", "--yes")
    assert (done.code, done.error["code"]) == (8, "host_file")
    assert file.read_text().endswith("}\n}")


def test_the_file_that_was_connected_is_the_one_that_is_changed(shell: Shell) -> None:
    assert shell.run("connect", "vscode", "--yes").code == 0
    insiders = shell.folder / ".config" / "Code - Insiders" / "User" / "mcp.json"
    insiders.parent.mkdir(parents=True)
    insiders.write_text(json.dumps({"servers": {"gatewright": {"url": "http://theirs"}}}))
    assert shell.run("disconnect", "vscode", "--yes").code == 0
    assert insiders.exists()
    assert not place(shell, "vscode").exists()
