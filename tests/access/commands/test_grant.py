"""`grant list`, `add`, `revoke` and `show`: beside the file, in the store, and never by an agent."""

import time
from pathlib import Path

import pytest

from gatewright.access.grants import Grant
from gatewright.access.issued_grants import GrantChange, Issued
from tests.cli.gateways import DEMO, serving
from tests.cli.shell import Shell
from tests.cli.test_completion_names import tab
from tests.storage.parts import state_in

CONFIG = f"""\
[gateway]
anonymous = "allow"
{DEMO}[[grants]]
agent = "*"
server = "demo"
tool = "now"
[[grants]]
agent = "bob"
server = "demo"
permission = "deny"
expires_at = 2001-01-01T00:00:00Z
[[grants]]
agent = "eve"
server = "demo"
permission = "deny"
"""


@pytest.fixture
def operator(shell: Shell) -> str:
    """The key of an operator, in a folder with a configuration."""
    shell.write("mgp.toml", CONFIG)
    return shell.run("key", "create", "root", "--operator").out.strip()


def store(shell: Shell) -> Issued:
    return Issued(state_in(shell.state), clock=time.time)


def test_every_grant_is_listed_with_where_it_comes_from(shell: Shell, operator: str) -> None:
    words = ("grant", "add", "ann", "demo/add", "--why", "needs sums", "--key", operator)
    done = shell.run(*words, "--expires", "30d", "-p", "shell")
    assert (done.code, done.out) == (0, "")
    assert "ann may use demo__add until 20" in done.err
    rows = shell.run("grant", "list").rows
    assert [row[:5] for row in rows] == [
        ["*", "demo", "now", "allow", "active"],
        ["bob", "demo", "*", "deny", "expired"],
        ["eve", "demo", "*", "deny", "active"],
        ["ann", "demo", "add", "allow", "active"],
    ]
    assert rows[0][7].endswith("mgp.toml:7")
    assert rows[3][6:] == ["root", "issued", "needs sums"]
    (entry,) = [one for one in shell.run("grant", "list", "--json").document if one["by"] == "root"]
    assert entry["permissions"] == ["shell.execute"]
    assert 29 < (entry["expires_at"] - entry["granted_at"]) / 86400 <= 30
    assert len(shell.run("grant", "list", "--agent", "ann").rows) == 2
    assert shell.run("grant", "list", "--server", "other").out == ""


def test_what_holds_is_shown_with_every_word_about_it(shell: Shell, operator: str) -> None:
    shell.run("grant", "add", "ann", "demo", "--key", operator)
    shell.run("grant", "add", "ann", "demo/now", "--deny", "--key", operator)
    done = shell.run("grant", "show", "ann", "demo/now", "--json")
    found = done.document
    assert (found["permission"], found["source"], found["granted_by"]) == (
        "deny",
        "tool_grant",
        "root",
    )
    assert [one["origin"] for one in found["grants"]][1:] == ["issued", "issued"]
    assert shell.run("grant", "show", "ann", "demo/add").rows[0][:2] == ["allow", "server_grant"]
    assert shell.run("grant", "show", "zoe", "demo").rows[0][:2] == ["deny", "default_policy"]


def test_a_revoked_grant_is_gone_and_one_of_the_file_is_not(shell: Shell, operator: str) -> None:
    environ = {"GATEWRIGHT_KEY": operator}
    shell.run("grant", "add", "ann", "demo", environ=environ)
    done = shell.run("grant", "revoke", "ann", "demo", environ=environ)
    assert (done.code, done.out) == (0, "")
    again = shell.run("grant", "revoke", "ann", "demo", environ=environ)
    assert (again.code, again.error["code"]) == (2, "not_found")
    assert "gatewright grant list" in again.error["hint"]
    written = shell.run("grant", "revoke", "*", "demo/now", environ=environ)
    assert "mgp.toml:7" in written.error["hint"]
    assert [one.action for one in _changes(shell)] == ["granted", "revoked"]
    assert {one.by for one in _changes(shell)} == {"root"}


def _changes(shell: Shell) -> list[GrantChange]:
    issued = store(shell)
    try:
        return list(issued.changes())
    finally:
        issued.close()


def test_an_agent_with_a_shell_grants_itself_nothing(shell: Shell, operator: str) -> None:
    agent = shell.run("key", "create", "bot", "--key", operator).out.strip()
    for words in (
        ("add", "bot", "demo"),
        ("add", "bot", "demo", "--key", agent),
        ("add", "*", "demo", "--key", "gw_invented"),
        ("revoke", "bot", "demo"),
        ("revoke", "bot", "demo", "--key", agent),
    ):
        done = shell.run("grant", *words)
        assert (done.code, done.out, done.error["code"]) == (6, "", "permission_denied")
    assert _changes(shell) == []


def test_a_person_at_a_terminal_grants(shell: Shell, operator: str) -> None:
    done = shell.run_at_terminal("grant", "add", "ann", "demo")
    assert done.code == 0
    assert "ann may use demo" in done.out


@pytest.mark.parametrize(
    "words",
    [
        ("ann", ""),
        ("ann", "/add"),
        ("ann", "demo/"),
        ("", "demo"),
        ("ann", "demo", "--expires", "2001-01-01"),
        ("ann", "demo", "--permission", "flying"),
        ("ann", "demo", "--deny", "--permission", "camera"),
    ],
)
def test_a_grant_that_cannot_be_is_a_usage_error(
    shell: Shell, operator: str, words: tuple[str, ...]
) -> None:
    done = shell.run("grant", "add", *words, "--key", operator)
    assert (done.code, done.out, done.error["code"]) == (2, "", "usage")


def test_what_may_be_a_slip_is_said(shell: Shell, operator: str) -> None:
    done = shell.run("grant", "add", "eve", "demo", "--key", operator)
    assert "deny goes over allow" in done.err
    assert "mgp.toml:16" in done.err


@pytest.mark.parametrize("where", ["dmeo", "dmeo/add", "dmeo__add", "dmeo.add", "demo_add"])
def test_a_grant_for_a_server_that_there_is_not_is_refused_with_the_one_that_was_meant(
    shell: Shell, operator: str, where: str
) -> None:
    done = shell.run("grant", "add", "ann", where, "--key", operator)
    assert (done.code, done.out, done.error["code"]) == (2, "", "not_found")
    assert "did you mean demo?" in done.error["hint"]
    assert _changes(shell) == []
    shown = shell.run("grant", "show", "ann", where)
    assert (shown.code, shown.error["code"]) == (2, "not_found")


def test_a_grant_ahead_of_its_server_is_issued_where_that_is_said(
    shell: Shell, operator: str
) -> None:
    words = ("grant", "add", "ann", "later/tool", "--key", operator)
    assert "--allow-unknown" in shell.run(*words).error["hint"]
    done = shell.run(*words, "--allow-unknown")
    assert (done.code, "ann may use later__tool" in done.err) == (0, True)
    assert "no server 'later' is configured; the grant waits for one" in done.err
    assert shell.run("grant", "show", "ann", "later/tool").rows[0][:2] == ["allow", "tool_grant"]
    assert shell.run("grant", "revoke", "ann", "later/tool", "--key", operator).code == 0


def test_every_name_of_a_tool_is_the_same_grant(shell: Shell, operator: str) -> None:
    for name in ("demo__add", "demo/add", "demo.add"):
        shell.run("grant", "add", "ann", name, "--key", operator)
        issued = shell.run("grant", "list", "--tool", name, "--agent", "ann", "--json").document
        assert [one["tool"] for one in issued if one["agent"] == "ann"] == ["add"]
        shown = shell.run("grant", "show", "ann", name, "--json").document
        assert (shown["server_id"], shown["tool_name"]) == ("demo", "add")
        assert shell.run("grant", "revoke", "ann", name, "--key", operator).code == 0
    assert {(one.grant.server, one.grant.tool) for one in _changes(shell)} == {("demo", "add")}


def test_a_running_gateway_knows_which_tools_there_are(shell: Shell, operator: str) -> None:
    with serving(shell):
        for name in ("demo__ad", "demo/ad"):
            done = shell.run("grant", "add", "ann", name, "--key", operator)
            assert (done.code, done.error["code"]) == (2, "not_found")
            assert "demo__add" in done.error["hint"]
        assert shell.run("grant", "add", "ann", "demo__add", "--key", operator).code == 0
        rows = shell.run("grant", "list", "--agent", "ann").rows
    assert ["ann", "demo", "add"] in [row[:3] for row in rows]


def test_a_running_gateway_follows_and_binds_the_grant_to_the_tool(
    shell: Shell, operator: str
) -> None:
    """MGP-5.4-2 and MGP-5.4-3, from the command line."""
    bot = shell.run("key", "create", "bot", "--key", operator).out.strip()
    with serving(shell):
        assert shell.run("tool", "call", "demo__add", "a=1", "b=2", "--key", bot).code == 6
        shell.run("grant", "add", "bot", "demo/add", "--key", operator)
        deadline = time.monotonic() + 20
        while shell.run("tool", "call", "demo__add", "a=1", "b=2", "--key", bot).code != 0:
            assert time.monotonic() < deadline
        (word,) = [one for one in _words(shell) if one["agent"] == "bot"]
        assert word["tool_digest"] is not None
        assert tab(shell, "gatewright grant add bot demo/ad") == ["demo/add"]
        shell.run("grant", "revoke", "bot", "demo/add", "--key", operator)
        deadline = time.monotonic() + 20
        while shell.run("tool", "call", "demo__add", "a=1", "b=2", "--key", bot).code == 0:
            assert time.monotonic() < deadline
        events = [one[3] for one in shell.run("audit", "query", "--event", "ACCESS_GRANTED").rows]
        assert events


def _words(shell: Shell) -> list[dict[str, object]]:
    found: list[dict[str, object]] = shell.run("grant", "list", "--json").document
    return found


def test_without_any_grant_the_list_says_how_to_make_one(shell: Shell, tmp_path: Path) -> None:
    done = shell.run("grant", "list")
    assert (done.code, done.out) == (0, "")
    assert "gatewright grant add" in done.err


def test_a_grant_for_an_agent_that_nobody_is_says_so_with_who_comes_close(
    shell: Shell, operator: str
) -> None:
    said = shell.run("grant", "add", "--deny", "curser", "demo", "--key", operator)
    assert said.code == 0
    assert "no agent 'curser' is known" in said.err
    assert "cursor" in said.err
    for known in ("cursor", "root", "*", "anonymous", "local", "idp:subject", "bob"):
        done = shell.run("grant", "add", "--deny", known, "demo", "--key", operator)
        assert (done.code, "is known" in done.err) == (0, False), known


def test_a_denial_ahead_of_its_tool_is_one_of_the_tool_and_can_be_taken_back(
    shell: Shell, operator: str
) -> None:
    words = ("demo__later", "--key", operator)
    assert shell.run("grant", "add", "*", "--deny", "--allow-unknown", *words).code == 0
    (found,) = [one for one in _words(shell) if one["tool"] == "later"]
    assert (found["server"], found["permission"]) == ("demo", "deny")
    assert shell.run("grant", "revoke", "*", *words).code == 0


def test_a_denial_that_was_issued_for_a_server_of_a_tools_name_can_be_taken_back(
    shell: Shell, operator: str
) -> None:
    issued = store(shell)
    issued.grant(Grant("*", "demo__later", None, "deny"), by="root")
    issued.close()
    assert shell.run("grant", "revoke", "*", "demo__later", "--key", operator).code == 0
    assert [one for one in _words(shell) if one["server"] == "demo__later"] == []
