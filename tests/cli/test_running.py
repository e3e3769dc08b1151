"""Which gateway a command speaks to, and as whom."""

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from gatewright.cli.errors import CliError
from gatewright.cli.running import (
    Endpoint,
    endpoint,
    read_announced,
    read_running,
    settings_here,
    takes_over,
)
from gatewright.config import SettingsError, state_directory
from gatewright.config.documents import MAX_BYTES
from gatewright.config.trust import NotAccepted
from gatewright.storage.pid_namespace import pid_namespace
from tests.accepting import accept_file
from tests.cli.gateways import serving
from tests.cli.shell import Shell

URL = "http://127.0.0.1:9/mcp"
PID = os.getpid()
RUNNING = {
    "url": URL,
    "pid": PID,
    "operator_token": "o",
    "local_token": "l",
    "version": "0.1.0",
}


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GATEWRIGHT_STATE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "gateway.json").write_text(json.dumps(RUNNING))
    return tmp_path


def test_a_command_speaks_to_the_gateway_that_runs_here(state: Path) -> None:
    assert read_running(state).pid == PID
    assert endpoint() == Endpoint(URL, "l", PID)
    assert endpoint(role="operator") == Endpoint(URL, "o", PID)
    assert endpoint(key="k", profile="p") == Endpoint("http://127.0.0.1:9/mcp/p", "k", PID)


def test_nothing_is_sent_to_whoever_has_the_port_of_a_gateway_that_was_killed(state: Path) -> None:
    """Neither a key nor the tokens of this machine."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    for pid in (ended.pid, 2**80):
        running_with(state, pid=pid)
        for look in (partial(endpoint), partial(endpoint, key="k"), partial(read_running, state)):
            with pytest.raises(CliError, match="is gone") as caught:
                look()
            assert caught.value.exit_code == 4
        assert read_announced(state).pid == pid


def test_a_process_of_somebody_else_is_no_gateway_of_ours(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kill(pid: int, signal: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "kill", kill)
    with pytest.raises(CliError, match="is gone"):
        endpoint()


def test_a_host_says_which_one_it_is_behind_the_local_token(state: Path) -> None:
    assert endpoint(host="cursor") == Endpoint(URL, "l~cursor", PID)
    assert endpoint(host="cursor", key="k") == Endpoint(URL, "k", PID)
    with pytest.raises(ValueError, match="'build-bot' is no host"):
        endpoint(host="build-bot")


def test_the_tokens_of_this_machine_go_to_no_other_one(state: Path) -> None:
    assert endpoint(url="http://elsewhere:1/mcp") == Endpoint("http://elsewhere:1/mcp", "")
    assert endpoint(url="http://elsewhere:1/mcp/", key="k", profile="p") == Endpoint(
        "http://elsewhere:1/mcp/p", "k"
    )


def test_a_profile_stands_in_the_path_and_leaves_the_query_where_it_is(state: Path) -> None:
    found = endpoint(url="https://proxy.example/mcp/?tenant=a&x=%2F#part", profile="p")
    assert found.url == "https://proxy.example/mcp/p?tenant=a&x=%2F"
    assert endpoint(url="https://proxy.example/mcp?tenant=a").url.endswith("/mcp?tenant=a")


def test_a_printed_endpoint_shows_no_token(state: Path) -> None:
    assert "'l'" not in repr(endpoint())


def test_a_host_that_starts_a_bridge_in_a_foreign_folder_reaches_the_users_own_gateway(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GATEWRIGHT_STATE")
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    foreign = state / "foreign"
    foreign.mkdir()
    (foreign / "gateway.json").write_text(json.dumps({**RUNNING, "local_token": "theirs"}))
    (foreign / "mgp.toml").write_text(f"[storage]\npath = {json.dumps(str(foreign))}\n")
    monkeypatch.chdir(foreign)
    own = state_directory(os.environ)
    own.mkdir(parents=True)
    (own / "gateway.json").write_text(json.dumps(RUNNING))
    assert endpoint(host="cursor", anywhere=True) == Endpoint(URL, "l~cursor", PID)
    assert endpoint(role="operator") == Endpoint(URL, "o", PID)
    assert settings_here(None).storage.path == own
    accept_file(foreign / "mgp.toml", os.environ)
    assert endpoint().token == "theirs"
    (foreign / "mgp.toml").write_text("[storage]\npath = '/elsewhere'\n")
    for look in (endpoint, partial(settings_here, None)):
        with pytest.raises(NotAccepted, match="has changed"):
            look()
    assert endpoint(anywhere=True).token == "l"


@pytest.mark.parametrize(
    "content", ["not = toml = at all", "a = " + "[" * 200 + "]" * 200, "x" * (MAX_BYTES + 1)]
)
@pytest.mark.parametrize("name", ["mgp.toml", "mcp.toml"])
def test_a_foreign_file_that_cannot_be_read_keeps_nobody_from_the_users_own_gateway(
    state: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: str
) -> None:
    monkeypatch.delenv("GATEWRIGHT_STATE")
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    own = state_directory(os.environ)
    own.mkdir(parents=True)
    (own / "gateway.json").write_text(json.dumps(RUNNING))
    foreign = state / "foreign"
    foreign.mkdir()
    monkeypatch.chdir(foreign)
    file = foreign / name
    file.write_text(content)
    assert endpoint(anywhere=True) == endpoint() == Endpoint(URL, "l", PID)
    assert settings_here(None).storage.path == own
    with pytest.raises(SettingsError):
        endpoint(file)
    file.write_text("")
    accept_file(file, os.environ)
    file.write_text(content)
    for look in (endpoint, partial(settings_here, None)):
        with pytest.raises(SettingsError):
            look()
    assert endpoint(anywhere=True).token == "l"


def test_what_is_wrong_with_the_users_own_file_is_said_in_every_folder(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GATEWRIGHT_STATE")
    own = state / ".config/mgp/servers.toml"
    own.parent.mkdir(parents=True)
    own.write_text("not = toml = at all")
    foreign = state / "foreign"
    foreign.mkdir()
    monkeypatch.chdir(foreign)
    for content in ("", "neither = this = one"):
        (foreign / "mcp.toml").write_text(content)
        for look in (partial(endpoint, anywhere=True), partial(settings_here, None)):
            with pytest.raises(SettingsError, match=r"servers\.toml"):
                look()


def test_the_state_folder_of_the_configuration_counts(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GATEWRIGHT_STATE")
    (state / "other").mkdir()
    (state / "other/gateway.json").write_text(json.dumps({**RUNNING, "operator_token": "8"}))
    config = state / "some.toml"
    config.write_text('[storage]\npath = "other"\n')
    assert endpoint(config, role="operator").token == "8"


@pytest.mark.parametrize("content", ["", "{", "[]", '{"url": 5}'])
def test_a_file_that_says_nothing_usable_is_told(state: Path, content: str) -> None:
    (state / "gateway.json").write_text(content)
    with pytest.raises(CliError, match="cannot be read") as caught:
        endpoint()
    assert caught.value.exit_code == 4


def test_without_a_gateway_the_hint_is_to_start_one(shell: Shell) -> None:
    for command in (("server", "list"), ("tool", "list"), ("bridge",)):
        done = shell.run(*command)
        assert (done.code, done.out, done.error["code"]) == (4, "", "gateway_unreachable")
        assert "gatewright serve" in done.error["hint"]


def running_with(state: Path, **more: object) -> None:
    (state / "gateway.json").write_text(json.dumps({**RUNNING, **more}))


def test_a_file_of_another_folder_is_not_taken_over(state: Path) -> None:
    theirs, ours, hidden = (state / name for name in ("theirs.toml", "ours.toml", "hidden.toml"))
    for file in (theirs, ours, hidden):
        file.touch()
    link = state / "link.toml"
    link.symlink_to(theirs)
    running_with(state, follows=[[str(state / "none"), str(theirs), str(hidden)]])
    assert takes_over(theirs, state) == takes_over(link, state)
    assert takes_over(theirs, state) == f"the gateway at {URL} takes it over by itself"
    for file in (ours, hidden):
        said = takes_over(file, state)
        assert f"the gateway that runs at {URL} uses {theirs}; this file is another" in said
        assert f"gatewright serve --config {file}" in said


def test_a_gateway_that_reads_no_file_or_standard_input_takes_nothing_over(state: Path) -> None:
    (state / "a.toml").touch()
    running_with(state, follows=[])
    assert "uses no file; this file is another" in takes_over(state / "a.toml", state)
    running_with(state, follows=[["-"]])
    assert "what it was given on standard input" in takes_over(state / "a.toml", state)


def test_what_nobody_knows_is_not_promised(state: Path) -> None:
    """A gateway of an earlier version, one that has ended without a word, and none at all."""
    running_with(state)
    assert "if this is its file" in takes_over(state / "a.toml", state)
    running_with(state, pid=2**22 + 1, follows=[])
    assert "no gateway is running" in takes_over(state / "a.toml", state)
    assert "no gateway is running" in takes_over(state / "a.toml", state / "elsewhere")


EDITS = [
    ("server", "add", "x", "--", "x"),
    ("server", "disable", "x"),
    ("server", "enable", "x"),
    ("server", "isolate", "x", "none"),
    ("tool", "disable", "x/t"),
    ("tool", "enable", "x/t"),
    ("import", "given.json", "--replace"),
    ("server", "rm", "x"),
]


def test_every_command_that_edits_says_what_the_running_gateway_makes_of_it(shell: Shell) -> None:
    """In the folder of the gateway it takes the file over; in another one, with the same state, it does not."""
    other = Shell(shell.folder / "other")
    other.folder.mkdir()
    other.environment = shell.environment
    given = '{"mcpServers": {"x": {"command": "y"}}}'
    for one in (shell, other):
        one.write("mgp.toml", "")
        one.write("given.json", given)
    with serving(shell) as served:
        for words in EDITS:
            here, there = shell.run(*words), other.run(*words)
            assert (here.code, there.code) == (0, 0), (words, here.err, there.err)
            assert f"the gateway at {served.url} takes it over by itself" in here.err, words
            said = f"uses {shell.folder / 'mgp.toml'}; this file is another"
            assert said in there.err, words
            assert "by itself" not in there.err, words


def test_a_file_that_a_command_begins_is_followed_where_the_gateway_looks_for_it(
    shell: Shell,
) -> None:
    with serving(shell) as served:
        done = shell.run("server", "add", "x", "--", "x")
        assert f"the gateway at {served.url} takes it over by itself" in done.err


def test_a_gateway_in_a_container_is_not_judged_by_a_number_of_this_machine(state: Path) -> None:
    """Its state folder is shared, its port is published, and its process id means nothing here."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    running_with(state, pid=ended.pid, pid_namespace="pid:[1]")
    assert read_running(state).pid == ended.pid
    running_with(state, pid=ended.pid, pid_namespace=pid_namespace())
    with pytest.raises(CliError, match="is gone"):
        read_running(state)
