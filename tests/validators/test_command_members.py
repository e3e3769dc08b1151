"""Commands that more than one member of the arguments makes."""

from typing import Any

import pytest

from gatewright.validators import readonly, sandbox
from gatewright.validators.command_members import are_texts, command_lines, continued_lines
from gatewright.validators.registry import Checks, checks_for

READONLY = readonly.prepare({}, "run_command")
INSPECT = sandbox.prepare({"allow": ["inspect"]})


@pytest.mark.parametrize(
    ("found", "taken", "lines"),
    [
        ({"command": "ls"}, {"command"}, [("command", "ls")]),
        ({"Cmd": "ls", "args": ["-l"]}, {"Cmd", "args"}, [("Cmd", ["ls", "-l"])]),
        ({"argv": ["ls"], "flags": ["-l"]}, {"argv", "flags"}, [("argv", ["ls", "-l"])]),
        ({"command": "ls", "args": "-l"}, {"command"}, [("command", "ls"), ("command", "ls -l")]),
        ({"command": "ls", "args": " "}, {"command"}, [("command", "ls")]),
        ({"command": "ls", "args": [1]}, {"command"}, [("command", "ls")]),
        ({"command": [], "args": ["a"]}, set(), []),
        ({"args": ["a"]}, set(), []),
    ],
)
def test_arguments_beside_a_command_continue_it(found: dict[str, Any], taken: set[str], lines: list[Any]) -> None:  # fmt: skip
    assert command_lines(found) == (taken, lines)


def test_lines_of_one_member_are_left_out_and_others_found_at_every_depth() -> None:
    arguments = {"a": [{"cmd": "ls"}, {"cmd": "sort", "args": ["-o", "f"]}], "args": ["x"]}
    found = [(place.path(), line) for place, line in continued_lines(arguments)]
    assert found == [(["a", 1, "cmd"], ["sort", "-o", "f"])]


@pytest.mark.parametrize(("value", "says"), [([], True), (["a"], True), (["a", 1], False), ("a", False)])  # fmt: skip
def test_a_list_of_texts_holds_nothing_else(value: Any, says: bool) -> None:
    assert are_texts(value) is says


WRITING = [
    {"command": "find", "args": [".", "-delete"]},
    {"command": "find", "args": ". -delete"},
    {"command": "timeout", "args": ["5", "rm", "f"]},
    {"cmd": "git", "arguments": ["push"]},
    {"program": "rm", "args": ["f"]},
    {"steps": [{"command": "sort", "flags": ["-o", "a", "b"]}]},
]


@pytest.mark.parametrize("arguments", WRITING)
def test_what_a_command_and_its_arguments_mean_together_is_judged(arguments: dict[str, Any]) -> None:  # fmt: skip
    """MGP-4.5-2"""
    for validator in (READONLY, INSPECT):
        assert any(validator.judge(part) for _, part in validator.parts(arguments))


@pytest.mark.parametrize(
    "arguments",
    [
        {"command": "git", "args": ["status"]},
        {"command": "git", "args": "log -3"},
        {"command": "ls", "args": []},
        {"script": "select 1", "params": ["a"]},
        {"run": "12", "options": ["fast"]},
    ],
)
def test_what_reads_passes_readonly(arguments: dict[str, Any]) -> None:
    assert not any(READONLY.judge(part) for _, part in READONLY.parts(arguments))


@pytest.mark.parametrize("name", ["sandbox", "readonly"])
@pytest.mark.parametrize("value", ["a", ["a"]])
def test_many_spellings_of_commands_and_arguments_make_few_lines(name: str, value: Any) -> None:
    """Each command stands with each text: what is judged would grow with the square of what was sent."""
    found: dict[str, Any] = {}
    for number in range(1, 300):
        found["c" + "_" * number + "md"] = "ls"
        found["a" + "_" * number + "rgs"] = value
    assert len(command_lines(found)[1]) == 1
    checks = checks_for(name, {}, {}, "t")
    assert isinstance(checks, Checks)
    assert checks.objection({"c_md": "ls", "a_rgs": value}) is None
    assert checks.objection(found) is not None
