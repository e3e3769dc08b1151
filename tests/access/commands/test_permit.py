"""`server permit`: what operators said about a server, and that nobody else says anything."""

from __future__ import annotations

import pytest

from tests.cli.shell import Shell

CONFIG = '[[servers]]\nid = "files"\ncommand = "true"\n'


@pytest.fixture
def operator(shell: Shell) -> str:
    shell.write("mgp.toml", CONFIG)
    return shell.run("key", "create", "olga", "--operator").out.strip()


def test_an_operator_approves_under_the_canonical_name_and_takes_it_back(
    shell: Shell, operator: str
) -> None:
    """MGP-3.2-3 and MGP-6.4-5"""
    words = ("server", "permit", "files")
    done = shell.run(*words, "shell", "--for", "1h", "--key", operator)
    assert [row[:4] for row in done.rows] == [["shell.execute", "dangerous", "approved", "olga"]]
    done = shell.run(*words, "shell", "--deny", "--comment", "enough", "--key", operator, "--json")
    (one,) = done.document
    assert (one["value"], one["comment"], one["expires"]) == ("denied", "enough", None)
    assert shell.run(*words, "--json").document == [one]


def test_nobody_else_may(shell: Shell, operator: str) -> None:
    done = shell.run("server", "permit", "files", "camera")
    assert done.code == 6
    agent = shell.run("key", "create", "bot", "--key", operator).out.strip()
    assert shell.run("server", "permit", "files", "camera", "--key", agent).code == 6


def test_what_is_not_there_is_named(shell: Shell, operator: str) -> None:
    done = shell.run("server", "permit", "nope", "camera", "--key", operator)
    assert "no server 'nope'" in done.err
    assert "no operator has said anything" in shell.run("server", "permit", "files").err
    done = shell.run("server", "permit", "files", "a\tb", "--key", operator)
    assert "printable" in done.err
