"""`server add`, `rm`, `enable`, `disable`, and `tool enable`, `disable`."""

from __future__ import annotations

import json
import sys
import tomllib
from typing import Any

import pytest

from tests.cli.endpoints import Endpoint
from tests.cli.gateways import DEMO, EXAMPLES, serving
from tests.cli.shell import Shell

FILE = '# ours\n[[servers]]\nid = "a"\ncommand = "x" # why\n'


def test_a_command_is_added_with_its_arguments_and_environment(shell: Shell) -> None:
    file = shell.write("mgp.toml", FILE)
    done = shell.run(
        "server",
        "add",
        "b",
        "--env",
        "A=1=2",
        "--env",
        "HOME",
        "--",
        "npx",
        "-y",
        "thing",
        "--json",
    )
    assert (done.code, done.out) == (0, "")
    assert "b added to" in done.err
    assert file.read_text().startswith(FILE)
    assert tomllib.loads(file.read_text())["servers"][1] == {
        "id": "b",
        "command": "npx",
        "args": ["-y", "thing", "--json"],
        "env": {"A": "1=2", "HOME": "${HOME}"},
    }


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("add", "a"), "choose another id, or --replace"),
        (("add", "b b"), "the file was left as it is; ask for what fits"),
        (("list", "--config", "none.toml"), "there is no such file; check the path"),
    ],
)
def test_what_is_wrong_with_the_words_is_no_reason_to_correct_the_file(
    shell: Shell, words: tuple[str, ...], said: str
) -> None:
    file = shell.write("mgp.toml", FILE)
    done = shell.run("server", *words, *(("--", "x") if words[0] == "add" else ()))
    assert file.read_text() == FILE
    assert (done.code, done.error["code"]) == (2, "configuration")
    assert said in done.error["message"]
    assert "correct the file" not in done.error.get("hint", "")
    shell.write("mgp.toml", FILE + "nonsense")
    assert "correct the file" in shell.run("server", "rm", "a").error["hint"]


def test_a_url_is_added_to_a_file_that_is_begun(shell: Shell) -> None:
    done = shell.run(
        "server", "add", "web", "--url", "http://127.0.0.1:1/mcp", "--header", "X-A=b", "--json"
    )
    path = shell.folder / "mgp.toml"
    assert done.document == {"name": "web", "change": "added", "file": str(path)}
    assert tomllib.loads(path.read_text()) == {
        "servers": [{"id": "web", "url": "http://127.0.0.1:1/mcp", "headers": {"X-A": "b"}}]
    }


def test_a_server_is_a_command_or_a_url(shell: Shell) -> None:
    for words in ((), ("--url", "http://127.0.0.1:1/mcp", "--", "x")):
        done = shell.run("server", "add", "b", *words)
        assert (done.code, done.error["code"]) == (2, "usage")
    assert not (shell.folder / "mgp.toml").exists()


def test_a_name_that_is_taken_or_is_none_changes_nothing(shell: Shell) -> None:
    file = shell.write("mgp.toml", FILE)
    taken = shell.run("server", "add", "a", "--", "y")
    assert (taken.code, "mgp.toml:2" in taken.error["message"]) == (2, True)
    assert shell.run("server", "add", "no name", "--", "y").code == 2
    assert file.read_text() == FILE
    assert shell.run("server", "add", "a", "--replace", "--", "y").code == 0
    assert tomllib.loads(file.read_text())["servers"] == [{"id": "a", "command": "y", "args": []}]


def test_a_server_is_removed_from_the_file_that_has_it(shell: Shell) -> None:
    shell.write("mgp.toml", FILE)
    user = shell.folder / ".config/mgp/servers.toml"
    user.parent.mkdir(parents=True)
    user.write_text('# theirs\n\n[[servers]]\nid = "u"\ncommand = "x"\n')
    done = shell.run("server", "rm", "u", "--json")
    assert done.document == {"name": "u", "change": "removed", "file": str(user)}
    assert user.read_text() == "# theirs\n"
    gone = shell.run("server", "rm", "u")
    assert (gone.code, gone.error["hint"]) == (2, "servers: a")


def test_servers_are_switched(shell: Shell) -> None:
    file = shell.write("mgp.toml", FILE)
    assert shell.run("server", "disable", "a", "--json").document["change"] == "disabled"
    assert tomllib.loads(file.read_text())["servers"][0]["enabled"] is False
    assert shell.run("server", "enable", "a", "--json").document["change"] == "enabled"
    assert "# why" in file.read_text()


def test_tools_are_named_as_they_are_listed(shell: Shell) -> None:
    file = shell.write("mgp.toml", FILE + '[[servers]]\nid = "a.b"\ncommand = "x"\n')
    for name in ("a/one", "a__two", "a.b__three", "a.b/four"):
        assert shell.run("tool", "disable", name, "--json").document["change"] == "disabled"
    first, second = tomllib.loads(file.read_text())["servers"]
    assert (set(first["tools"]), set(second["tools"])) == ({"one", "two"}, {"three", "four"})
    assert shell.run("tool", "enable", "a/one", "--json").document["name"] == "a__one"
    either = shell.run("tool", "disable", "a.b.three")
    assert (either.code, either.error["message"]) == (
        2,
        "'a.b.three' can mean a.b/three or a/b.three",
    )
    assert shell.run("tool", "disable", "nobody/x").error["hint"].startswith("write SERVER/TOOL")


def _tells(endpoint: Endpoint, reason: str, *entries: dict[str, Any]) -> None:
    """A gateway that finds no tool, for this reason, and has these servers."""
    gates = [{"gate": "resolve", "reason": reason}]
    endpoint.replies["gatewright/policy/explain"] = lambda _: {"tool_name": None, "gates": gates}
    endpoint.replies["mgp/discovery/list"] = lambda _: {"servers": list(entries)}
    endpoint.replies["tools/list"] = lambda _: {"tools": [{"name": "a__read"}]}


HELD = {"count": 1, "tools": [{"name": "reed", "why": "new"}]}


@pytest.mark.parametrize(
    ("reason", "entries"),
    [
        ("tool_not_found", []),
        ("tool_not_found", [{"id": "a", "status": "error"}]),
        ("permission_deferred", [{"id": "a", "status": "connected"}]),
        ("upstream_unavailable", [{"id": "a", "status": "connected"}]),
        ("tool_not_found", [{"id": "a", "status": "connected", "left_out": HELD}]),
        ("", [{"id": "a", "status": "connected"}]),
    ],
)
def test_a_tool_of_a_server_that_is_not_let_in_yet_is_disabled_beforehand(
    shell: Shell, endpoint: Endpoint, reason: str, entries: list[dict[str, Any]]
) -> None:
    file = shell.write("mgp.toml", FILE)
    _tells(endpoint, reason, *entries)
    done = shell.run("tool", "disable", "a/reed")
    assert (done.code, "not known whether a has a tool 'reed'" in done.err) == (0, True), done.err
    assert tomllib.loads(file.read_text())["servers"][0]["tools"]["reed"] == {"enabled": False}


@pytest.mark.parametrize("reason", ["tool_not_found", "access_denied"])
def test_a_tool_that_a_connected_server_does_not_have_is_not_disabled(
    shell: Shell, endpoint: Endpoint, reason: str
) -> None:
    file = shell.write("mgp.toml", FILE)
    _tells(endpoint, reason, {"id": "a", "status": "connected"})
    done = shell.run("tool", "disable", "a/reed")
    assert (done.code, done.error["hint"]) == (2, "did you mean a__read?")
    assert file.read_text() == FILE


def test_a_gateway_that_hangs_or_follows_another_file_keeps_no_tool_from_being_disabled(
    shell: Shell, endpoint: Endpoint
) -> None:
    file = shell.write("mgp.toml", FILE)
    endpoint.replies["gatewright/policy/explain"] = lambda _: endpoint.leave_unanswered()
    done = shell.run("--timeout", "0.1", "tool", "disable", "a/one")
    assert (done.code, "said nothing for 0.1 s" in done.err) == (0, True), done.err
    assert "so it is not known whether a has a tool 'one'" in done.err
    _tells(endpoint, "tool_not_found", {"id": "a", "status": "connected"})
    running = json.loads((shell.state / "gateway.json").read_text())
    running["follows"] = [[str(shell.folder / "other.toml")]]
    (shell.state / "gateway.json").write_text(json.dumps(running))
    done = shell.run("tool", "disable", "a/two")
    assert (done.code, "uses another file, so it is not known" in done.err) == (0, True)
    assert set(tomllib.loads(file.read_text())["servers"][0]["tools"]) == {"one", "two"}


def test_a_tool_is_disabled_in_the_file_before_its_server_is_let_in(shell: Shell) -> None:
    file = shell.write("mgp.toml", DEMO + "enabled = false\n")
    with serving(shell):
        done = shell.run("tool", "disable", "demo/write_note")
    assert (done.code, "not known whether demo has" in done.err) == (0, True), done.err
    assert "write_note" in tomllib.loads(file.read_text())["servers"][0]["tools"]


def test_an_added_server_serves_and_a_disabled_tool_is_gone(shell: Shell) -> None:
    demo = str(EXAMPLES / "demo_server.py")
    assert shell.run("server", "add", "demo", "--", sys.executable, demo).code == 0
    assert shell.run("tool", "disable", "demo/write_note").code == 0
    with serving(shell):
        names = [tool["name"] for tool in shell.run("tool", "list", "--json").document]
    assert "demo__add" in names
    assert "demo__write_note" not in names


def test_a_secret_in_what_is_added_goes_to_the_store_and_not_into_the_file(shell: Shell) -> None:
    done = shell.run("server", "add", "b", "--env", "API_KEY=hunter2-hunter2", "--", "x")
    assert (done.code, "${secret:b.API_KEY}" in done.err) == (0, True)
    text = (shell.folder / "mgp.toml").read_text()
    assert tomllib.loads(text)["servers"][0]["env"] == {"API_KEY": "${secret:b.API_KEY}"}
    assert "hunter2" not in text + done.out + done.err
    assert shell.run("secret", "test").rows == [["b.API_KEY", "ok"]]
    shell.run("server", "add", "no name", "--env", "API_KEY=hunter3-hunter3", "--", "x")
    assert shell.run("secret", "list").rows[0][0] == "b.API_KEY"
    assert len(shell.run("secret", "list").rows) == 1


def test_a_file_that_is_still_to_be_made_has_nothing_to_do_with_the_one_found_here(
    shell: Shell,
) -> None:
    shell.write("mgp.toml", '[storage]\npath = "elsewhere"\n[gateway]\nport = "wrong"\n')
    done = shell.run("server", "add", "a", "--config", "new.toml", "--", "true")
    assert done.code == 0
    assert (shell.folder / "new.toml").is_file()
    assert not (shell.folder / "elsewhere").exists()


def test_a_secret_that_was_typed_or_will_be_seen_in_the_process_list_is_said(shell: Shell) -> None:
    typed = shell.run("server", "add", "a", "--url", "http://x/mcp", "--header", "Authorization=Bearer sk-abcdefghij0123456789")  # fmt: skip
    assert "moved to the secret store" in typed.err
    assert "process list" in typed.err
    named = shell.run("server", "add", "b", "--url", "http://x/mcp", "--header", "Authorization=${secret:T}")  # fmt: skip
    assert "process list" not in named.err
    argued = shell.run("server", "add", "c", "--", "cat", "--token", "${secret:T}")
    assert "read in the process list while the server runs" in argued.err
