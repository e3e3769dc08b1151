"""What settings say arrives in the words of each part."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from gatewright.config import Settings, load
from gatewright.servers.catalogue import EVERYTHING
from gatewright.servers.reserved_names import Reserved
from gatewright.servers.settings_adapters import (
    json_limits,
    profiles_of,
    spec_of,
    supervisor_of,
)
from gatewright.servers.supervisor_dependencies import ServerSide

TEXT = """
[gateway]
unprefixed = false
[limits]
depth = 9
call_timeout_s = 7
tools_per_server = 11
server_frame_bytes = 1000
[[servers]]
id = "one"
command = "python"
args = ["-V"]
[servers.mgp]
extensions = ["audit"]
permissions_required = ["shell"]
trust_level = "sandboxed"
restart_policy = { policy = "always", max_restarts = 2, backoff_base_ms = 500 }
[[servers]]
id = "two"
url = "http://127.0.0.1:1/mcp"
default_policy = "opt-out"
call_timeout_s = 3
[[grants]]
agent = "a"
server = "one"
tool = "t"
permission = "deny"
expires_at = 2026-01-01T00:00:00Z
[profiles.small]
servers = ["two"]
unprefixed = true
"""


def settings(folder: Path) -> Settings:
    path = folder / "mgp.toml"
    path.write_text(TEXT)
    return load(path, environ={"GATEWRIGHT_STATE": str(folder)})


def test_a_server_may_read_nothing_for_as_long_as_a_call_may_take(tmp_path: Path) -> None:
    """One that does one thing at a time would be ended in its work, for all its callers."""
    one, two = (spec_of(settings(tmp_path), server) for server in settings(tmp_path).servers)
    assert (one.limits.patience_s, two.limits.patience_s) == (7.0, 5.0)


def test_a_server_keeps_what_its_entry_says(tmp_path: Path) -> None:
    said = settings(tmp_path)
    one, two = (spec_of(said, server) for server in said.servers)
    assert (one.transport, one.command, one.args) == ("stdio", "python", ("-V",))
    assert one.face is not None
    assert one.face.extensions == ("audit",)
    assert one.permissions == ("shell.execute",)
    assert (one.restart.policy, one.restart.max, one.restart.first_s) == ("always", 2, 0.5)
    assert (one.call_s, one.limits.frame_bytes, one.catalogue.tools) == (7, 1000, 11)
    assert (two.transport, two.url, two.call_s) == ("http", "http://127.0.0.1:1/mcp", 3)
    assert two.face is None


def test_a_call_has_thirty_seconds_unless_the_server_or_the_limits_say_otherwise(
    tmp_path: Path,
) -> None:
    """GGEN-to-1: the default, and both places where it is configured."""
    path = tmp_path / "mgp.toml"

    def seconds(limits: str, entry: str) -> float:
        server = '[[servers]]\nid = "x"\ncommand = "python"\n'
        path.write_text(f"{limits}\n{server}{entry}\n")
        said = load(path, environ={"GATEWRIGHT_STATE": str(tmp_path)})
        return spec_of(said, said.servers[0]).call_s

    assert seconds("", "") == 30.0
    assert seconds("[limits]\ncall_timeout_s = 12", "") == 12.0
    assert seconds("[limits]\ncall_timeout_s = 12", "call_timeout_s = 31") == 31.0


def test_what_an_isolated_server_must_not_see_is_said_by_whole_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings(tmp_path)
    monkeypatch.chdir(tmp_path)
    environ = {"GATEWRIGHT_STATE": f"{tmp_path}/state", "HOME": f"{tmp_path}/me"}
    said = load(Path("mgp.toml"), environ=environ)
    found = spec_of(said, said.servers[0]).isolation
    assert found is not None
    assert {f"{tmp_path}/mgp.toml", f"{tmp_path}/me/.config/mgp/servers.toml"} <= {*found.hidden}
    folders = {f"{tmp_path}/state", f"{tmp_path}/me/.local/state/gatewright"}
    assert {*found.hidden_folders} == folders
    assert found.scripts is None


def test_only_scripts_of_the_folders_for_them_are_shown_to_servers_of_agents(
    tmp_path: Path,
) -> None:
    said = settings(tmp_path)
    folders = replace(said.registration, folders=("scripts",))
    found = spec_of(
        replace(said, registration=folders),
        replace(said.servers[0], registered_by=("agent", "ann")),
    )
    assert found.isolation is not None
    assert found.isolation.scripts == (f"{tmp_path}/scripts",)


def test_profiles_come_with_the_default_one(tmp_path: Path) -> None:
    found = profiles_of(settings(tmp_path))
    assert set(found) == {"", "small"}
    assert found["small"].servers == ("two",)
    assert found["small"].unprefixed
    assert not found[""].unprefixed


def test_frames_are_bounded_as_configured(tmp_path: Path) -> None:
    assert json_limits(settings(tmp_path).limits).depth == 9


async def test_servers_are_made_of_their_entries_and_of_what_features_give_them(
    tmp_path: Path,
) -> None:
    said, reserved = settings(tmp_path), Reserved()
    side = ServerSide(reserved=reserved)
    made = supervisor_of(said, EVERYTHING, lambda *_: None, side)
    assert [*made.fleet.servers] == ["one", "two"]
    assert made.call_s("two") == 3
    assert made.catalogue.knows("small")
    assert made.catalogue.reserved is reserved
    assert {one.state for one in made.status()} == {"registered"}
    await made.close(0.1)
