"""`gatewright policy try`: one verdict a line, in order, whatever the lines are."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from tests import fork_server
from tests.cli.shell import DEADLINE_S, Shell


def tried(shell: Shell, lines: list[Any], *options: str, code: int = 0) -> list[dict[str, Any]]:
    """The documents that come of these inputs."""
    given = "".join(one if isinstance(one, str) else json.dumps(one) + "\n" for one in lines)
    done = shell.run("policy", "try", *options, given=given)
    assert done.code == code, done.err
    return [json.loads(line) for line in done.out.splitlines()]


def verdicts(shell: Shell, inputs: list[Any], *options: str) -> list[str]:
    found = tried(shell, [{"id": at, "input": one} for at, one in enumerate(inputs)], *options)
    assert [one["id"] for one in found] == list(range(len(inputs)))
    return [one["verdict"] for one in found]


@pytest.mark.parametrize(
    ("options", "inputs", "expected"),
    [
        (["sandbox"], ["ls -la", "ls | wc", "ls; id", "cat 'a;b'"], "allow allow block allow"),
        (["sandbox", "--no-pipes"], ["ls", "ls | wc"], "allow block"),
        (["sandbox", "--mode", "strict"], ["ls", "cat 'a;b'"], "allow block"),
        (["sandbox", "--mode", "deny-list"], ["own-tool x", "rm -rf x"], "allow block"),
        (["sandbox", "--options", '{"programs": ["own-tool"]}'], ["own-tool x"], "allow"),
        (
            ["paths", "--root", "/data"],
            ["a/b", "/data/x", "../x", "/etc/x"],
            "allow allow block block",
        ),
        (["paths", "--root", "data"], ["a/b", "../x"], "allow block"),
        (["paths"], [{"path": "l/x", "symlinks": {"l": "/"}}, {"path": "l/x"}], "block allow"),
        (
            ["network_restricted"],
            [
                "https://example.net/",
                "http://127.1/",
                {"url": "http://a.example/", "dns": {"a.example": [["::1"]]}},
            ],
            "allow block block",
        ),
        (
            ["network_restricted", "--resolve"],
            ["https://no-such-name.invalid/", "http://9.9.9.9/"],
            "block allow",
        ),
        (["readonly"], ["SELECT 1", "DROP TABLE t", "ls", "rm x"], "allow block allow block"),
        (["code_safety"], ["import json", "import socket", "import requests"], "allow block allow"),
        (["code_safety", "--level", "strict"], ["import json", "import requests"], "allow block"),
        (["code_safety", "--level", "unrestricted"], ["import socket"], "allow"),
        (["none"], ["rm -rf /"], "allow"),
        (["sandbox", "--arguments"], [{"command": "ls"}, {"x": ["a;b"]}], "allow block"),
    ],
)
def test_each_validator_can_be_tried(
    shell: Shell, options: list[str], inputs: list[Any], expected: str
) -> None:
    """MGP-4.3-4"""
    assert verdicts(shell, inputs, "--validator", *options) == expected.split()


def test_a_blocked_line_says_why(shell: Shell) -> None:
    found = tried(
        shell, [{"id": "x", "input": "import socket\neval('1')"}], "--validator", "code_safety"
    )
    assert found == [
        {
            "id": "x",
            "verdict": "block",
            "rule": "code_safety",
            "reasons": ["Blocked import: 'socket'", "Blocked pattern: 'eval('"],
        }
    ]
    line = {"id": None, "input": {"command": "ls; id"}}
    (other,) = tried(shell, [line], "--validator", "sandbox", "--arguments")
    assert other["reasons"][0].startswith("list: /command has list where only")


def test_a_line_may_bring_options_of_its_own(shell: Shell) -> None:
    lines = [
        {"id": 1, "input": "import requests", "level": "strict"},
        {"id": 2, "input": "import requests", "level": "strict", "allowed_imports": ["requests"]},
        {"id": 3, "input": "import requests"},
        {"id": 4, "input": "import requests", "level": "loose"},
    ]
    found = tried(shell, lines, "--validator", "code_safety", code=2)
    assert [one.get("verdict") for one in found] == ["block", "allow", "allow", None]
    assert found[3]["error"]["message"].startswith("its options cannot be used")
    found = tried(shell, lines, "--validator", "code_safety", "--level", "strict")
    assert [one["verdict"] for one in found] == ["block", "allow", "block", "block"]


def test_bad_lines_are_named_and_stop_nothing(shell: Shell) -> None:
    lines = [
        {"id": 1, "input": "ls"},
        "no json\n",
        "\n",
        "[1]\n",
        {"id": 2},
        "[" * 9000 + "\n",
        {"id": 3, "input": 4},
    ]
    found = tried(shell, lines, "--validator", "sandbox", code=2)
    assert [(one["id"], one.get("verdict"), one.get("line")) for one in found] == [
        (1, "allow", None),
        (None, None, 2),
        (None, None, 4),
        (2, None, 5),
        (None, None, 6),
        (3, "block", None),
    ]


@pytest.mark.parametrize(
    "options",
    [
        ["--validator", "regex"],
        ["--validator", "sandbox", "--mode", "loose"],
        ["--validator", "sandbox", "--level", "strict"],
        ["--validator", "code_safety", "--level", "loose"],
        ["--validator", "paths", "--options", "[]"],
        ["--validator", "paths", "--options", "{"],
        ["--validator", "paths", "--options", '{"rot": 1}'],
        [],
    ],
)
def test_wrong_options_are_wrong_use(shell: Shell, options: list[str]) -> None:
    done = shell.run("policy", "try", *options)
    assert (done.code, done.out) == (2, "")
    assert done.error["code"] == "usage"


def test_a_verdict_comes_before_the_next_line_is_there(shell: Shell) -> None:
    with fork_server.Popen(
        shell.command("policy", "try", "--validator", "sandbox"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=shell.folder,
        env=shell.environ(),
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for number in range(3):
            process.stdin.write(json.dumps({"id": number, "input": "ls"}) + "\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["id"] == number
        process.stdin.close()
        assert process.wait(DEADLINE_S) == 0


def test_one_input_of_the_command_line_is_told_in_words_and_explained(shell: Shell) -> None:
    asked = ["policy", "try", "--validator", "sandbox", "--allow", "inspect", "--why"]
    done = shell.run(*asked, "git stash list --output=x")
    assert done.code == 0
    for words in (
        "sandbox refuses it: option:",
        "git stash list: --output writes x (git.toml): refused by the rule option",
        'passes with validator_options = { allow = ["develop"] }',
    ):
        assert words in done.out
    assert "lets it pass" in shell.run(*asked, "ls -la").out
    refused = shell.run(*asked, "cat ~/.ssh/id_rsa").out
    assert "no option of this validator" in refused


def test_the_same_as_json_and_for_lines(shell: Shell) -> None:
    asked = ["--validator", "sandbox", "--allow", "inspect", "--why"]
    line = "curl https://a.example/"
    done = shell.run("policy", "try", *asked, "--json", line)
    one = json.loads(done.out)
    (found,) = tried(shell, [{"id": 7, "input": line}], *asked)
    assert one["why"] == found["why"]
    assert found["rule"] == "network"
    assert found["why"]["steps"][-1]["table"] == "network.toml"
    assert found["why"]["widened_by"][0] == {"allow": ["inspect", "network"]}
    whole = json.dumps({"command": "curl https://a.example/", "n": 1})
    done = shell.run("policy", "try", *asked, "--arguments", "--json", whole)
    said = json.loads(done.out)
    assert said["why"]["argument"] == "/command"
    assert said["why"]["steps"][-1]["entry"] == "curl"


def test_arguments_that_are_no_object_are_wrong_use(shell: Shell) -> None:
    for line in ("ls", "[1]"):
        done = shell.run("policy", "try", "--validator", "sandbox", "--arguments", line)
        assert (done.code, done.out) == (2, "")
        assert done.error["code"] == "usage"
        assert "bug" not in done.err


@pytest.mark.parametrize(
    ("whole", "last"),
    [
        ({"command": "find", "args": [".", "-delete"]}, ("find", "-delete", "option")),
        ({"commands": ["ls", "curl https://a.example/"]}, ("curl", "", "network")),
        ({"command": "cat shadow", "cwd": "/etc"}, ("cat", "operand", "host_file")),
    ],
)
def test_steps_are_those_of_the_line_that_is_judged(shell: Shell, whole: Any, last: Any) -> None:
    asked = ["--validator", "sandbox", "--allow", "inspect", "--why", "--arguments", "--json"]
    said = json.loads(shell.run("policy", "try", *asked, json.dumps(whole)).out)
    steps = said["why"]["steps"]
    entry, option, rule = last
    assert steps[-1]["entry"] == entry
    assert steps[-1]["rule"] == said["rule"] == rule
    if option:
        assert steps[-1]["option"] == option
