"""`operators = "key"`: neither a terminal nor the running gateway's own token is an operator's word."""

from __future__ import annotations

import json

import pytest

from tests.cli.gateways import DEMO, serving
from tests.cli.shell import Shell

CONFIG = f"""\
[gateway]
port = 0
operators = "key"
{DEMO}[[grants]]
agent = "*"
server = "demo"
"""

ACTS = (
    ("grant", "add", "bot", "demo/add"),
    ("grant", "revoke", "bot", "demo/add"),
    ("key", "create", "more"),
    ("key", "create", "more", "--operator"),
    ("key", "revoke", "whatever"),
    ("approve",),
    ("deny", "whatever"),
    ("server", "permit", "demo", "system.info"),
    ("server", "restart", "demo"),
    ("policy", "explain", "bot", "demo__add"),
    ("audit", "accept"),
)
"""What an operator does, at least one act of each kind."""
LOOKS = (("session", "list"), ("top", "--once"))
"""What an operator sees all of, and an agent its own."""


def test_no_terminal_and_no_token_of_the_gateway_acts_where_keys_alone_do(shell: Shell) -> None:
    shell.write("mgp.toml", CONFIG)
    first = shell.run_at_terminal("key", "create", "root", "--operator")
    assert first.code == 0
    operator = first.out.split()[0]
    assert shell.run("key", "create", "bot", "--key", operator).code == 0
    with serving(shell):
        running = json.loads((shell.state / "gateway.json").read_text())
        assert running["operator_token"] == ""
        own = ("--key", running["local_token"])
        passed = [one for one in ACTS + LOOKS if shell.run_at_terminal(*one).code == 0]
        passed += [one for one in ACTS if shell.run(*one, *own).code == 0]
        assert shell.run("grant", "add", "bot", "demo/add", "--key", operator).code == 0
        assert shell.run("server", "restart", "demo", "--key", operator).code == 0
        assert shell.run("top", "--once", "--key", operator).code == 0
    assert passed == []


def test_the_first_operator_s_key_is_made_at_a_terminal_and_the_second_with_it(
    shell: Shell,
) -> None:
    shell.write("mgp.toml", CONFIG)
    operator = shell.run_at_terminal("key", "create", "root", "--operator").out.split()[0]
    assert shell.run_at_terminal("key", "create", "eve", "--operator").code == 6
    assert shell.run("key", "create", "olga", "--operator", "--key", operator).code == 0
    (root, *_) = shell.run("key", "list", "--json").document
    assert shell.run_at_terminal("key", "revoke", root["id"]).code == 6
    assert shell.run("key", "revoke", root["id"], "--key", operator).code == 0


@pytest.mark.parametrize(("word", "said"), [("local", "no boundary"), ("key", "a boundary")])
def test_doctor_says_which_boundary_holds(shell: Shell, word: str, said: str) -> None:
    shell.write("mgp.toml", CONFIG.replace('"key"', f'"{word}"'))
    found = shell.run("doctor", "--json").document["findings"]
    (one,) = [one for one in found if one["subject"] == "operators"]
    assert (one["level"], one["why"][: len(said)]) == ("ok", said)
