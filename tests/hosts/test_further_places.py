"""Where a host finds servers besides the file that `connect` edits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gatewright.hosts.further_places import FURTHER, Place, further_beside, further_places
from gatewright.hosts.host_table import HOSTS, PLATFORMS
from gatewright.hosts.other_servers import Beside

ENTRY = {"command": "npx", "args": ["x"]}


def nested(*keys: str) -> str:
    inside: Any = {"one": ENTRY}
    for key in reversed(keys):
        inside = {key: inside}
    return "// settings\n" + json.dumps(inside)


def found(host: str, home: Path, *projects: Path) -> list[Place]:
    return further_places(
        HOSTS[host], home=str(home), environ={}, platform="linux", projects=projects
    )


@pytest.mark.parametrize(
    ("host", "file", "keys"),
    [
        ("vscode", ".config/Code/User/settings.json", ("mcp", "servers")),
        ("vscode", ".config/Code - Insiders/User/profiles/a1/mcp.json", ("servers",)),
        ("vscode", ".config/Code/User/profiles/a1/settings.json", ("mcp", "servers")),
        ("vscode", ".copilot/mcp-config.json", ("mcpServers",)),
        ("gemini", ".gemini/extensions/x/gemini-extension.json", ("mcpServers",)),
        ("continue", ".continue/mcpServers/x.json", ("mcpServers",)),
    ],
)
def test_a_file_of_the_user_is_found_with_its_servers(
    tmp_path: Path, host: str, file: str, keys: tuple[str, ...]
) -> None:
    assert found(host, tmp_path) == []
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text(nested(*keys))
    assert found(host, tmp_path) == [Place(path, keys)]
    assert further_beside(HOSTS[host], Place(path, keys), ()) == [Beside(name="one", state="on")]


@pytest.mark.parametrize(
    ("host", "file"),
    [
        ("vscode", ".vscode/settings.json"),
        ("vscode", ".devcontainer/devcontainer.json"),
        ("vscode", ".devcontainer/web/devcontainer.json"),
        ("vscode", ".devcontainer.json"),
        ("vscode", ".mcp.json"),
        ("opencode", "opencode.jsonc"),
        ("continue", ".continue/mcpServers/x.yaml"),
    ],
)
def test_a_file_of_a_project_is_found(tmp_path: Path, host: str, file: str) -> None:
    project = tmp_path / "work"
    path = project / file
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    (place,) = found(host, tmp_path / "home", project)
    assert place.file == path
    path.write_text(nested(*place.container))
    assert further_beside(HOSTS[host], place, ()) == [Beside(name="one", state="on")]
    assert found(host, tmp_path / "home") == []


def test_managed_files_are_looked_for_on_every_platform() -> None:
    for host in ("claude-code", "gemini", "amp"):
        for platform in PLATFORMS:
            files = [file for one in FURTHER[host] for file in one.files.get(platform, ())]
            assert any(file.startswith(("/etc/", "/Library/", "C:/")) for file in files)
    assert FURTHER.keys() <= HOSTS.keys()


def test_no_file_that_connect_edits_is_a_further_one() -> None:
    for id, further in FURTHER.items():
        for one in further:
            for platform in PLATFORMS:
                assert not set(one.files.get(platform, ())) & set(HOSTS[id].files[platform])
            assert HOSTS[id].project not in one.project


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("{}", []),
        ("[]", []),
        ('{"mcpServers": 7}', []),
        ('{"mcpServers": {"a": 7}}', ["on"]),
        ('{"mcpServers": [{"name": "a"}, {}, 7]}', ["on", "on"]),
        ("{", ["unknown"]),
        ('{"mcpServers": {"a": {"command": "gatewright", "args": ["bridge"]}}}', ["gateway"]),
        ('{"mcpServers": {"a": {"url": "http://127.0.0.1:9/mcp"}}}', ["gateway"]),
    ],
)
def test_what_stands_there_is_told_from_a_way_to_the_gateway(
    tmp_path: Path, text: str, expected: list[str]
) -> None:
    file = tmp_path / "f.json"
    file.write_text(text)
    some = further_beside(HOSTS["cursor"], Place(file, ("mcpServers",)), ["http://127.0.0.1:9/mcp"])
    assert [one.state for one in some] == expected


def test_what_a_host_leaves_out_is_off(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text(json.dumps({"mcpServers": {"one": ENTRY}, "mcp": {"excluded": ["one"]}}))
    (one,) = further_beside(HOSTS["gemini"], Place(file, ("mcpServers",)), ())
    assert one.state == "off"


def test_a_folder_with_very_many_files_is_looked_at_up_to_a_bound(tmp_path: Path) -> None:
    folder = tmp_path / ".continue" / "mcpServers"
    folder.mkdir(parents=True)
    for number in range(120):
        (folder / f"{number}.yaml").write_text("{}")
    assert len(found("continue", tmp_path)) == 100
