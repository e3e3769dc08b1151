"""`policy simulate`: recorded calls on a changed configuration, and what cannot be judged."""

import pytest

from gatewright.access.simulate import JUDGED
from gatewright.pipeline import Gates
from tests.cli.gateways import DEMO, serving
from tests.cli.shell import Shell

GRANTED = """
[[grants]]
agent = "ann"
server = "demo"
"""
CHANGED = """
[[grants]]
agent = "ann"
server = "demo"
[[grants]]
agent = "ann"
server = "demo"
tool = "now"
permission = "deny"
[[grants]]
agent = "bob"
server = "demo"
"""


@pytest.fixture
def recorded(shell: Shell) -> tuple[Shell, str]:
    """A shell with a record of some calls, a changed configuration, and an operator's key."""
    shell.write("mgp.toml", f"{DEMO}{GRANTED}")
    shell.write("changed.toml", f"{DEMO}{CHANGED}")
    operator = shell.run("key", "create", "root", "--operator").out.strip()
    keys = {
        name: shell.run("key", "create", name, "--key", operator).out.strip()
        for name in ("ann", "bob")
    }
    with serving(shell):
        for _ in range(2):
            shell.run("tool", "call", "demo__now", "--key", keys["ann"])
        shell.run("tool", "call", "demo__add", "a=1", "b=2", "--key", keys["ann"])
        shell.run("tool", "call", "demo__now", "--key", keys["bob"])
        shell.run("tool", "call", "demo__nothing", "--key", keys["bob"])
    return shell, operator


def test_what_would_be_otherwise_is_shown_and_what_cannot_be_judged_is_said(
    recorded: tuple[Shell, str],
) -> None:
    shell, operator = recorded
    words = ("policy", "simulate", "changed.toml", "--key", operator)
    done = shell.run(*words)
    assert done.code == 0
    assert done.rows == [
        ["ann", "demo", "now", "2", "allowed", "refused", "tool_grant"],
        ["bob", "demo", "now", "1", "refused", "allowed", "server_grant"],
    ]
    assert "of 4 calls 2 would now be refused and 1 now be allowed; 1 cannot be judged" in done.err
    unjudged = ", ".join(gate for gate in Gates._fields if gate not in JUDGED)
    assert f"is not on record: {unjudged}" in done.err
    every = shell.run(*words, "--all", "--json").document
    assert (every["judged"], every["unjudged"]) == (4, 1)
    assert [(one["tool"], one["now"]) for one in every["findings"]] == [
        ("add", "allowed"),
        ("now", "refused"),
        ("now", "allowed"),
    ]
    same = shell.run("policy", "simulate", "mgp.toml", "--key", operator)
    assert (same.code, same.out) == (0, "")


def test_a_file_that_is_wrong_or_missing_is_a_usage_error(recorded: tuple[Shell, str]) -> None:
    shell, operator = recorded
    shell.write("broken.toml", "[[servers]]\n")
    for name in ("broken.toml", "none.toml"):
        done = shell.run("policy", "simulate", name, "--key", operator)
        assert (done.code, done.out) == (2, "")


def test_an_agent_with_a_shell_simulates_nothing(recorded: tuple[Shell, str]) -> None:
    shell, _ = recorded
    done = shell.run("policy", "simulate", "changed.toml")
    assert (done.code, done.error["code"]) == (6, "permission_denied")
