"""Commands that more than one member of the arguments makes."""

from typing import Any

import pytest

from gatewright.validators import readonly, sandbox
from gatewright.validators.command_members import (
    are_texts,
    command_lines,
    continued_lines,
    folders_of,
)
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
        (
            {"command": ["ls"], "args": "-l a"},
            {"command"},
            [("command", ["ls"]), ("command", ["ls", "-l", "a"])],
        ),
        ({"commands": ["ls", "pwd"]}, {"commands"}, [("commands", "ls"), ("commands", "pwd")]),
        (
            {"commands": [["ls", "-l"], "pwd"]},
            {"commands"},
            [("commands", ["ls", "-l"]), ("commands", "pwd")],
        ),
        ({"commands": ["ls", 5]}, set(), [("commands", "ls")]),
        ({"command": "ls", "options": {"a": 1}}, {"command"}, [("command", "ls")]),
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
    {"command": ["find", "."], "args": "-delete"},
    {"commands": ["ls", "rm -rf x"]},
    {"commands": [["ls"], ["touch", "x"]]},
    {"commands": ["touch x", 5]},
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


def test_folders_beside_a_command_are_told_once_each() -> None:
    assert folders_of({"cwd": "a", "work_dir": "b", "dir": "a", "directory": 1, "x": "c"}) == [
        "a",
        "b",
    ]
    assert folders_of({"cwd": ""}) == []


@pytest.mark.parametrize(
    ("line", "folder", "passes"),
    [
        ("cat shadow", "/etc", False),
        ("cat shadow", "/home/u/proj", True),
        ("cat id_rsa", "/home/u/.ssh", False),
        ("cat config", "/home/u/.kube", False),
        ("cat a.txt", "/data/job", True),
        ("cat a.txt", "packages/a", True),
        ("grep -r key .", "/root", False),
        (["cat", "shadow"], "/etc", False),
    ],
)
@pytest.mark.parametrize("options", [{"allow": ["inspect"]}, {}, {"mode": "deny-list"}], ids=str)
def test_a_line_is_judged_in_the_folder_beside_it(line: Any, folder: str, passes: bool, options: dict[str, Any]) -> None:  # fmt: skip
    """MGP-4.5-1"""
    validator = sandbox.prepare(options)
    for name in ("cwd", "workDir", "working_directory"):
        found = [
            validator.judge(one) for _, one in validator.parts({"command": line, name: folder})
        ]
        assert (found == [None] * len(found)) is passes, (name, found)


def test_every_folder_that_is_named_counts_and_many_are_too_many() -> None:
    found: dict[str, Any] = {"command": "cat shadow", "cwd": ".", "dir": "/etc"}
    assert any(INSPECT.judge(one) for _, one in INSPECT.parts(found))
    found = {"command": "ls"} | {"c" + "_" * at + "wd": f"f{at}" for at in range(1, 20)}
    assert any(INSPECT.judge(one) for _, one in INSPECT.parts(found))


@pytest.mark.parametrize(("folder", "written"), [("/srv/x", True), ("/tmp/x", True), ("..", False), ("/usr/lib/x", False), ("~", False)])  # fmt: skip
def test_what_writes_does_so_in_its_folder(folder: str, written: bool) -> None:
    develop = sandbox.prepare({"allow": ["develop"]})
    line = next(one for _, one in develop.parts({"command": "rm -rf build", "cwd": folder}))
    assert (develop.judge(line) is None) is written
    assert develop.cost(line) > develop.cost("rm -rf build")


DENYING = sandbox.prepare({"mode": "deny-list"})
HARMFUL = ["kubectl delete ns x", "systemctl stop x", "terraform destroy", "docker run --privileged x", "find x -delete", "git push --force"]  # fmt: skip
FIRST, SECOND = ("command", "cmd", "program", "executable", "run"), ("argv", "exec", "command_line", "script", "args", "flags")  # fmt: skip


@pytest.mark.parametrize("line", HARMFUL)
@pytest.mark.parametrize("second", SECOND)
def test_each_of_two_commands_may_continue_the_other(line: str, second: str) -> None:
    """MGP-4.5-2"""
    words = line.split()
    passing = list[Any]()
    for first in FIRST:
        for at in range(1, len(words)):
            for head in (" ".join(words[:at]), words[:at]):
                for rest in (" ".join(words[at:]), words[at:]):
                    for found in ({first: head, second: rest}, {second: rest, first: head}):
                        parts = list(DENYING.parts(found))
                        # Beside a command what begins like an option is no value.
                        told = [one for _, one in parts if not isinstance(one, sandbox.Value)]
                        passing += [] if any(map(DENYING.judge, told)) else [found]
    assert passing == []


@pytest.mark.parametrize("line", HARMFUL)
@pytest.mark.parametrize("second", SECOND)
def test_a_command_that_others_continue_is_judged_by_itself_too(line: str, second: str) -> None:
    for more in ("y", ["y"]):
        parts = DENYING.parts({"command": line, second: more})
        assert any(DENYING.judge(one) for _, one in parts), more


def test_commands_beside_each_other_that_only_read_pass() -> None:
    for found in ({"command": "git", "argv": ["status"]}, {"program": "git", "argv": ["git", "status"]}, {"program": "kubectl", "command": "get pods"}):  # fmt: skip
        assert not any(DENYING.judge(one) for _, one in DENYING.parts(found)), found
