"""The folders in which servers run, in which files that they are asked for are judged."""

from __future__ import annotations

from pathlib import Path

from gatewright.call import SHIPPED
from gatewright.config import load
from gatewright.servers.working_folders import folders_of

TEXT = """
[[servers]]
id = "one"
command = "python"
cwd = "work"
[[servers]]
id = "elsewhere"
url = "http://127.0.0.1:1/mcp"
"""
ROOTS = """
[builtin.directory_list]
roots = ["{0}/a", "{0}/b"]
"""


def _found(folder: Path, text: str) -> dict[str, str]:
    path = folder / "mgp.toml"
    path.write_text(text)
    return folders_of(load(path, environ={"GATEWRIGHT_STATE": str(folder)}))


def test_files_are_judged_in_the_folder_in_which_their_server_runs(tmp_path: Path) -> None:
    assert _found(tmp_path, TEXT) == {"one": str(tmp_path / "work")}


def test_the_builtin_server_is_in_the_first_of_its_roots(tmp_path: Path) -> None:
    found = _found(tmp_path, TEXT + ROOTS.format(tmp_path))
    assert found == {"one": str(tmp_path / "work"), SHIPPED: str(tmp_path / "a")}
