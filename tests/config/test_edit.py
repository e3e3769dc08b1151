"""Edits of a file: what it held stays, and only what loads is written."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from gatewright.config import SettingsError, load
from gatewright.config.edit import (
    add_grants,
    add_servers,
    editing,
    remove_server,
    set_server_value,
    set_tool_value,
)
from gatewright.config.problems import NotOfFile

TEXT = """\
# ours
[[servers]]
id = "a"
command = "x" # why

[[grants]]
agent = "bot"
server = "a"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mgp.toml"
    path.write_text(TEXT)
    return path


def ids(path: Path) -> list[str]:
    return [server.id for server in load(path, environ={}).servers]


def test_an_added_server_is_loaded_and_the_rest_stands_to_the_letter(file: Path) -> None:
    file.chmod(0o640)
    with editing(file) as draft:
        add_servers(draft, [{"id": "b", "url": "http://127.0.0.1:1/mcp", "cwd": None}])
    assert ids(file) == ["a", "b"]
    assert file.read_text().startswith(TEXT)
    assert file.stat().st_mode & 0o777 == 0o640
    assert list(file.parent.iterdir()) == [file]


def test_an_id_that_is_taken_is_refused_and_named_with_its_line(file: Path) -> None:
    with (
        pytest.raises(NotOfFile, match=r"mgp.toml:2: servers.a: there is a server"),
        editing(file) as draft,
    ):
        add_servers(draft, [{"id": "a", "command": "y"}])
    assert file.read_text() == TEXT
    with editing(file) as draft:
        add_servers(draft, [{"id": "a", "command": "y"}], replace=True, notes={"a": "new"})
    assert load(file, environ={}).servers[0].command == "y"
    assert "# new\n[[servers]]" in file.read_text()


def test_what_would_not_load_is_not_written(file: Path) -> None:
    with (
        pytest.raises(NotOfFile, match=r"(?s)servers.b.*the file was left as it is"),
        editing(file) as draft,
    ):
        add_servers(draft, [{"id": "b"}])
    assert file.read_text() == TEXT


def test_a_file_that_was_at_fault_before_is_to_be_corrected(file: Path) -> None:
    file.write_text(TEXT + "\n[[servers]]\nid = 5\n")
    with (
        pytest.raises(SettingsError, match="correct what is named above first") as caught,
        editing(file) as draft,
    ):
        add_servers(draft, [{"id": "b", "command": "y"}])
    assert type(caught.value) is SettingsError


def test_a_removed_server_takes_its_grants_along(file: Path) -> None:
    with editing(file) as draft:
        add_grants(draft, [{"agent": "bot", "server": "z"}, {"agent": "bot", "server": "a"}])
    assert len(load(file, environ={}).grants) == 2
    with editing(file) as draft:
        remove_server(draft, "a")
    found = load(file, environ={})
    assert ([one.server for one in found.grants], found.servers) == (["z"], ())


def test_a_server_and_a_tool_are_switched(file: Path) -> None:
    with editing(file) as draft:
        set_server_value(draft, "a", "enabled", False)
        set_tool_value(draft, "a", "read.it", "enabled", False)
    (server,) = load(file, environ={}).servers
    assert (server.enabled, server.tools["read.it"].enabled) == (False, False)
    with editing(file) as draft:
        set_server_value(draft, "a", "enabled", True)
    assert load(file, environ={}).servers[0].enabled


def test_an_unknown_server_is_named(file: Path) -> None:
    with (
        pytest.raises(NotOfFile, match=r"servers.z: this file has no server of this id"),
        editing(file) as draft,
    ):
        remove_server(draft, "z")


def test_a_file_that_is_not_there_is_begun_where_that_is_meant(tmp_path: Path) -> None:
    path = tmp_path / "below" / "mgp.toml"
    with pytest.raises(SettingsError, match="no such file"), editing(path) as draft:
        add_servers(draft, [{"id": "b", "command": "x"}])
    with editing(path, new="# begun\n") as draft:
        add_servers(draft, [{"id": "b", "command": "x"}])
    assert path.read_text() == '# begun\n\n[[servers]]\nid = "b"\ncommand = "x"\n'


def test_without_writing_the_plan_is_made_and_the_file_stands(file: Path, tmp_path: Path) -> None:
    with editing(file, write=False) as draft:
        add_servers(draft, [{"id": "b", "command": "x"}])
    assert "b" in draft.text
    assert file.read_text() == TEXT
    with editing(tmp_path / "new.toml", new="", write=False) as draft:
        add_servers(draft, [{"id": "b", "command": "x"}])
    assert not (tmp_path / "new.toml").exists()


def test_a_link_stays_a_link_and_its_target_is_changed(file: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.toml"
    link.symlink_to(file)
    with editing(link) as draft:
        add_servers(draft, [{"id": "b", "command": "x"}])
    assert link.is_symlink()
    assert ids(file) == ["a", "b"]


def test_line_ends_and_byte_order_mark_of_the_file_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "mgp.toml"
    path.write_bytes(b"\xef\xbb\xbf# ours\r\n[limits]\r\n")
    with editing(path) as draft:
        add_servers(draft, [{"id": "b", "command": "x"}])
    found = path.read_bytes()
    assert found.startswith(b"\xef\xbb\xbf# ours\r\n[limits]\r\n\r\n[[servers]]\r\n")
    assert found.count(b"\n") == found.count(b"\r\n")


def test_a_broken_file_is_said_and_not_touched(file: Path) -> None:
    file.write_text("[[servers]\n")
    with pytest.raises(SettingsError, match="not TOML"), editing(file) as draft:
        add_servers(draft, [{"id": "b", "command": "x"}])
    assert file.read_text() == "[[servers]\n"


def test_edits_at_once_lose_nothing(file: Path) -> None:
    def add(name: str) -> None:
        for number in range(8):
            with editing(file, environ={}) as draft:
                add_servers(draft, [{"id": f"{name}{number}", "command": "x"}])

    threads = [threading.Thread(target=add, args=(name,)) for name in ("b", "c", "d")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(ids(file)) == 25
