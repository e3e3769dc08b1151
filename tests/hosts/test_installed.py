"""The version that ran here last is the one to pin."""

import json
import os
from pathlib import Path

from gatewright.hosts.installed import installed_version


def _npx(home: Path, folder: str, name: str, text: str, age: int = 0) -> None:
    path = home / ".npm/_npx" / folder / "node_modules" / name / "package.json"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    os.utime(path, (1_000_000 - age, 1_000_000 - age))


def test_the_version_that_npx_fetched_last_is_found(tmp_path: Path) -> None:
    _npx(tmp_path, "a", "@scope/name", json.dumps({"version": "9.0.0"}), age=100)
    _npx(tmp_path, "b", "@scope/name", json.dumps({"version": "1.2.3-beta.1"}))
    assert installed_version("@scope/name", "npx", tmp_path) == "1.2.3-beta.1"
    assert installed_version("other", "npx", tmp_path) == ""
    assert installed_version("@scope/name", "docker", tmp_path) == ""


def test_the_version_that_uvx_fetched_is_found_under_its_wheels_name(tmp_path: Path) -> None:
    (tmp_path / ".cache/uv/archive-v0/x/mcp_server_fetch-2025.4.7.dist-info").mkdir(parents=True)
    (tmp_path / ".cache/uv/archive-v0/x/mcp_server_fetch_more-1.0.dist-info").mkdir()
    assert installed_version("mcp-server.fetch", "uvx", tmp_path) == "2025.4.7"


def test_a_cache_that_is_broken_or_a_name_that_is_a_path_gives_nothing(tmp_path: Path) -> None:
    for number, text in enumerate(("{", "[]", "null", '{"version": 1}', '{"version": "$(id)"}')):
        _npx(tmp_path, str(number), "name", text)
    assert installed_version("name", "npx", tmp_path) == ""
    for name in ("..", "../name", "/etc", "a/b", "@/b", ""):
        assert installed_version(name, "npx", tmp_path) == ""
