"""What holds for every command: understood in front of it and behind it, and nothing but its own effect."""

import json
from typing import Any

import pytest

from gatewright.cli.global_options import OUTPUT_OPTIONS, Habits, passed_on, taught
from tests.cli.endpoints import Endpoint
from tests.cli.schemas import commands
from tests.cli.shell import Shell


def test_every_command_can_be_quiet_verbose_and_colourless() -> None:
    for words, command in commands().items():
        spelled = {name for one in command.params for name in one.opts}
        assert {"--quiet", "--verbose", "--no-color"} <= spelled, words


def test_every_command_that_speaks_to_a_gateway_has_a_limit_to_its_patience() -> None:
    talking = {words: one for words, one in commands().items() if {"url", "key"} <= _names(one)}
    assert ("tool", "list") in talking
    for words, command in talking.items():
        if words != ("bridge",):
            spelled = [name for one in command.params for name in one.opts]
            assert spelled.count("--timeout") == 1, words


def _names(command: Any) -> set[str]:
    return {one.name for one in command.params}


def test_no_command_says_an_option_twice() -> None:
    for words, command in commands().items():
        spelled = [name for one in command.params for name in (*one.opts, *one.secondary_opts)]
        assert len(spelled) == len(set(spelled)), words


@pytest.mark.parametrize("before", [True, False])
def test_json_and_config_hold_in_front_of_the_command_as_behind_it(
    shell: Shell, before: bool
) -> None:
    named = shell.write("other.toml", "[gateway]\nport = 1234\n")
    options = ["--config", str(named), "--json"]
    words = ["config", "show"]
    done = shell.run(*(options + words if before else words + options))
    assert done.code == 0
    assert done.document["gateway.port"]["value"] == 1234


def test_quiet_leaves_the_data_and_the_errors(shell: Shell) -> None:
    assert "no keys" in shell.run("key", "list").err
    for words in (("-q", "key", "list"), ("key", "list", "--quiet")):
        done = shell.run(*words)
        assert (done.code, done.out, done.err) == (0, "", "")
    assert shell.run("-q", "tool", "list").error["code"] == "gateway_unreachable"


def test_verbose_shows_where_a_bug_is(shell: Shell) -> None:
    (shell.state / "gateway.json").mkdir(parents=True)
    shell.write(
        "sitecustomize.py",
        "import gatewright.cli.running as running\n"
        "def fail(*args, **more): raise ZeroDivisionError('planted')\n"
        "running.read_running = fail\n",
    )
    environ = {"PYTHONPATH": str(shell.folder)}
    assert "Traceback" not in shell.run("tool", "list", environ=environ).err
    loud = shell.run("tool", "list", "-v", environ=environ)
    assert "Traceback" in loud.err


@pytest.mark.parametrize("words", [("--timeout", "0.3", "server", "list"), ("server", "list")])
def test_a_gateway_that_says_nothing_is_left_after_the_time_that_was_given(
    shell: Shell, endpoint: Endpoint, words: tuple[str, ...]
) -> None:
    words = words if "--timeout" in words else (*words, "--timeout", "0.3")
    endpoint.replies["mgp/discovery/list"] = lambda _: endpoint.leave_unanswered()
    done = shell.run(*words)
    assert done.code == 4
    assert "said nothing for 0.3 s" in done.error["message"]


def test_colours_are_for_terminals_that_want_them(shell: Shell, endpoint: Endpoint) -> None:
    endpoint.replies["tools/list"] = lambda _: {"tools": [{"name": "a", "inputSchema": {}}]}
    assert shell.run("tool", "list", "--no-color").out == "a\t\t\n"
    assert shell.run("tool", "list", environ={"NO_COLOR": "1"}).out == "a\t\t\n"


def test_a_habit_in_front_of_a_group_reaches_the_commands_below() -> None:
    group = commands()
    found = passed_on(group["key", "list"], {"json": True, "config": None, "yes": False})
    assert found == {"json": True}


def test_teaching_a_command_twice_changes_nothing() -> None:
    command = commands()["version",]
    before = list(command.params)
    taught(command)
    assert command.params == before


def test_patience_is_the_usual_one_until_somebody_says_otherwise() -> None:
    assert Habits().patience(60.0) == 60.0
    assert Habits(timeout_s=2.0).patience(60.0) == 2.0
    assert Habits() == OUTPUT_OPTIONS


def test_an_error_in_front_of_a_command_is_json_where_json_was_asked_for(shell: Shell) -> None:
    done = shell.run("--json", "nonsense")
    assert done.code == 2
    assert json.loads(done.err)["error"]["code"] == "usage"
