"""Which gateway a command speaks to, and as whom."""

import json
from pathlib import Path

import pytest

from gatewright.cli.output import CliError
from gatewright.cli.running import Endpoint, endpoint, read_running
from tests.cli.shell import Shell

URL = "http://127.0.0.1:9/mcp"
RUNNING = {
    "url": URL,
    "pid": 7,
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
    assert read_running(state).pid == 7
    assert endpoint() == Endpoint(URL, "l", 7)
    assert endpoint(role="operator") == Endpoint(URL, "o", 7)
    assert endpoint(key="k", profile="p") == Endpoint("http://127.0.0.1:9/mcp/p", "k", 7)


def test_a_host_says_which_one_it_is_behind_the_local_token(state: Path) -> None:
    assert endpoint(host="cursor") == Endpoint(URL, "l~cursor", 7)
    assert endpoint(host="cursor", key="k") == Endpoint(URL, "k", 7)
    with pytest.raises(ValueError, match="'build-bot' is no host"):
        endpoint(host="build-bot")


def test_the_tokens_of_this_machine_go_to_no_other_one(state: Path) -> None:
    assert endpoint(url="http://elsewhere:1/mcp") == Endpoint("http://elsewhere:1/mcp", "")
    assert endpoint(url="http://elsewhere:1/mcp/", key="k", profile="p") == Endpoint(
        "http://elsewhere:1/mcp/p", "k"
    )


def test_a_printed_endpoint_shows_no_token(state: Path) -> None:
    assert "'l'" not in repr(endpoint())


def test_the_state_folder_of_the_configuration_counts(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GATEWRIGHT_STATE")
    (state / "other").mkdir()
    (state / "other/gateway.json").write_text(json.dumps({**RUNNING, "pid": 8}))
    config = state / "some.toml"
    config.write_text('[storage]\npath = "other"\n')
    assert endpoint(config).pid == 8


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
