"""One tool has the same names in every command: what one prints, each of them takes, and means the same by it."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.gateways import serving
from tests.cli.shell import Shell

LONG = "create_or_update_pull_request_review_comment"
ODD = (
    ("github", LONG),
    ("srv", "café"),
    ("srv", "a/b"),
    ("own", "plain"),
)
"""Server, and its own name for a tool."""

CLASHING = (("srv", "a/b"), ("srv", "a.b"), ("a", "b__c"), ("a__b", "c"))
"""Tools of which two would have one name in lists, in one server and between two."""

UNPREFIXED = (("only", "only__read"), ("only", "read"), ("only", "a/b"))
"""Tools of a gateway with one server, shown by their own names; one begins as if it were prefixed."""

SETS = {"odd": ODD, "clashing": CLASHING, "unprefixed": UNPREFIXED}

SERVER = """
import json, sys
names = sys.argv[1:]
for line in sys.stdin:
    asked = json.loads(line)
    method, ident = asked["method"], asked.get("id")
    if ident is None:
        continue
    if method == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "odd", "version": "1"}}
    elif method == "tools/list":
        schema = {"type": "object", "properties": {"n": {"type": ["integer", "null"]}}}
        result = {"tools": [{"name": one, "inputSchema": schema} for one in names]}
    else:
        result = {"content": [{"type": "text", "text": json.dumps(asked["params"], ensure_ascii=False)}]}
    print(json.dumps({"jsonrpc": "2.0", "id": ident, "result": result}), flush=True)
"""


def _operator(shell: Shell, kind: str) -> str:
    script = shell.folder / "odd.py"
    script.write_text(SERVER)
    text = '[gateway]\nanonymous = "allow"\n'
    text += "unprefixed = true\n" if kind == "unprefixed" else ""
    for server in dict.fromkeys(one for one, _ in SETS[kind]):
        names = [tool for one, tool in SETS[kind] if one == server]
        args = json.dumps([str(script), *names], ensure_ascii=False)
        text += (
            f'[[servers]]\nid = "{server}"\ncommand = {json.dumps(sys.executable)}\nargs = {args}\n'
        )
        text += 'tool_prefix = "p"\n' if server == "own" else ""
    shell.write("mgp.toml", text)
    return shell.run("key", "create", "root", "--operator").out.strip()


def _listed(shell: Shell, operator: str, kind: str) -> dict[tuple[str, str], str]:
    """What lists show each tool as."""
    if kind == "clashing":  # an operator accepts names that look alike
        for server, tool in SETS[kind]:
            shell.run("server", "pin", server, tool, "--accept", "--key", operator)
    shown = _shown(shell, operator, len(SETS[kind]))
    found = {}
    for server, tool in SETS[kind]:
        assert _means(shell, operator, f"{server}/{tool}") == (server, tool)
        found[server, tool] = next(
            one for one in shown if _means(shell, operator, one) == (server, tool)
        )
    return found


def _shown(shell: Shell, operator: str, most: int) -> list[str]:
    """What `tool list` names, once the gateway has noticed what was accepted: it looks several times a second."""
    until = time.monotonic() + 10
    while True:
        rows = shell.run("tool", "list", "--key", operator).rows
        shown = [row[0] for row in rows if not row[0].startswith("mgp_")]
        if len(shown) >= most or time.monotonic() > until:
            return shown


def _means(shell: Shell, operator: str, name: str) -> tuple[Any, Any]:
    said = shell.run("policy", "explain", "local", name, "--json", "--key", operator).document
    return said["server_id"], said["tool_name"]


def _file(shell: Shell) -> str:
    return (Path(shell.folder) / "mgp.toml").read_text()


@pytest.mark.parametrize("kind", SETS)
def test_each_spelling_that_a_command_prints_means_the_same_in_every_other(
    shell: Shell, kind: str
) -> None:
    operator = _operator(shell, kind)
    with serving(shell):
        for (server, tool), exposed in _listed(shell, operator, kind).items():
            for name in (exposed, f"{server}/{tool}"):
                assert _meanings(shell, operator, name) == {(server, tool)}, name
                _is_denied_ahead(shell, operator, name)


def _meanings(shell: Shell, operator: str, name: str) -> set[tuple[Any, Any]]:
    """What each command takes a name for, and what it prints of it."""
    found = set()
    done = shell.run("grant", "add", "*", name, "--key", operator)
    printed = done.err.split("may use ", 1)[1].splitlines()[0].strip()
    for one in dict.fromkeys((name, printed)):
        issued = shell.run("grant", "list", "--tool", one, "--json").document
        found |= {(each["server"], each["tool"]) for each in issued}
        shown = shell.run("grant", "show", "*", one, "--json").document
        found |= {(shown["server_id"], shown["tool_name"]), _means(shell, operator, one)}
        called = shell.run("tool", "call", one, "n=5", "--key", operator)
        assert called.code == 0, (one, called.err)
        assert json.loads(called.out)["arguments"] == {"n": 5}, one
        for words in (("tool", "show", one), ("tool", "export", one)):
            assert shell.run(*words, "--json", "--key", operator).code == 0, words
    gone = shell.run("grant", "revoke", "*", printed, "--key", operator, "--json").document
    return found | {(gone["server"], gone["tool"])}


def _is_denied_ahead(shell: Shell, operator: str, name: str) -> None:
    """Also where it is not asked whether there is such a tool."""
    words = ("*", name, "--key", operator)
    assert shell.run("grant", "add", *words, "--deny", "--allow-unknown").code == 0
    assert shell.run("grant", "show", "*", name, "--json").document["permission"] == "deny"
    assert shell.run("grant", "revoke", *words).code == 0


@pytest.mark.parametrize("kind", SETS)
def test_a_tool_is_switched_by_the_name_that_lists_show(shell: Shell, kind: str) -> None:
    operator = _operator(shell, kind)
    with serving(shell):
        names = _listed(shell, operator, kind)
    for (server, tool), exposed in names.items():
        before = _file(shell)
        done = shell.run("tool", "disable", exposed)
        assert done.code == 0, done.err
        printed = done.err.split(" disabled in ")[0].splitlines()[-1].strip()
        assert tool in {exposed, exposed.partition("__")[2]} or exposed.partition("__")[
            2
        ] not in _file(shell)
        assert tool in _file(shell).removeprefix(before)
        assert shell.run("tool", "enable", printed).code == 0, (server, printed)
