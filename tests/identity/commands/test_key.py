"""`key create`, `list` and `revoke`: the store sees what the command said, and agents make no keys."""

import os
import time
from pathlib import Path

import pytest

from gatewright.call import Caller
from gatewright.identity.keys import KeyStore, NameTaken
from tests.cli.endpoints import Endpoint
from tests.cli.shell import Shell
from tests.storage.parts import state_in


def verify(shell: Shell, secret: str) -> object:
    callers = KeyStore(state_in(shell.state), clock=time.time, random=os.urandom)
    try:
        return callers.verify(secret)
    finally:
        callers.close()


@pytest.fixture
def operator(shell: Shell) -> str:
    """The first key of a fresh store, an operator's."""
    done = shell.run("key", "create", "root", "--operator")
    assert done.code == 0
    return done.out.strip()


def test_the_key_alone_is_on_standard_output(shell: Shell) -> None:
    done = shell.run("key", "create", "bot")
    assert done.code == 0
    assert done.out.startswith("gw_")
    assert len(done.out.splitlines()) == 1
    found = verify(shell, done.out.strip())
    assert isinstance(found, Caller)
    assert (found.id, found.kind) == ("bot", "agent")
    assert "not shown again" in done.err


def test_the_store_is_for_its_owner_alone(shell: Shell, operator: str) -> None:
    assert shell.state.stat().st_mode & 0o777 == 0o700
    assert (shell.state / "state.db").stat().st_mode & 0o777 == 0o600


def test_keys_are_listed_without_their_secrets(shell: Shell, operator: str) -> None:
    made = shell.run("key", "create", "bot", "--expires", "30d", "--key", operator, "--json")
    document = made.document
    assert document["kind"] == "agent"
    assert 29 < (document["expires"] - document["created_at"]) / 86400 <= 30
    done = shell.run("key", "list")
    assert [row[1:4] for row in done.rows] == [
        ["root", "operator", "active"],
        ["bot", "agent", "active"],
    ]
    assert done.rows[1][0] == document["id"]
    everything = done.out + shell.run("key", "list", "--json").out
    assert document["key"] not in everything
    assert operator not in everything


def test_a_revoked_key_is_worth_nothing(shell: Shell, operator: str) -> None:
    environ = {"GATEWRIGHT_KEY": operator}
    secret = shell.run("key", "create", "bot", environ=environ).out.strip()
    ident = shell.run("key", "list").rows[1][0]
    done = shell.run("key", "revoke", ident, environ=environ)
    assert (done.code, done.out) == (0, "")
    assert verify(shell, secret) == "revoked"
    assert shell.run("key", "list").rows[1][3] == "revoked"
    again = shell.run("key", "revoke", ident, "--json", environ=environ)
    assert again.document["revoked"] is not None


def test_a_key_is_rotated_for_the_same_agent_and_the_old_one_ends(
    shell: Shell, operator: str
) -> None:
    environ = {"GATEWRIGHT_KEY": operator}
    old = shell.run("key", "create", "bot", "--json", environ=environ).document
    done = shell.run("key", "rotate", old["id"], "--expires", "30d", "--json", environ=environ)
    assert done.code == 0
    assert (done.document["name"], done.document["kind"]) == ("bot", "agent")
    assert verify(shell, old["key"]) == "revoked"
    assert isinstance(verify(shell, done.document["key"]), Caller)
    again = shell.run("key", "rotate", old["id"], environ=environ)
    assert (again.code, again.error["message"]) == (2, f"key {old['id']} has ended already")
    assert shell.run("key", "rotate", "nope", environ=environ).error["code"] == "not_found"
    assert shell.run("key", "rotate", done.document["id"]).code == 6


def test_an_expired_key_is_shown_as_such(shell: Shell) -> None:
    soon = shell.run("key", "create", "bot", "--expires", "1s").out.strip()
    deadline = time.monotonic() + 20
    while verify(shell, soon) != "expired":
        assert time.monotonic() < deadline
    assert shell.run("key", "list").rows[0][3] == "expired"


def test_a_key_ends_at_a_moment_that_can_be_shown(shell: Shell, operator: str) -> None:
    """Every list of keys would be an error from then on."""
    words = ("key", "create", "bot", "--expires", "999999w", "--key", operator)
    assert shell.run(*words).error["code"] == "usage"
    assert shell.run("key", "list").code == 0


def test_a_key_that_ends_later_than_any_calendar_is_listed(shell: Shell, operator: str) -> None:
    """The store takes what a program gives it."""
    callers = KeyStore(state_in(shell.state), clock=time.time, random=os.urandom)
    callers.create("bot", expires=1e15, by="root")
    callers.close()
    rows = {row[1]: row for row in shell.run("key", "list").rows}
    assert rows["bot"][3:6:2] == ["active", "after the year 9999"]
    assert rows["root"][3] == "active"


def test_an_agent_with_a_shell_makes_itself_no_key(shell: Shell, operator: str) -> None:
    agent = shell.run("key", "create", "bot", "--key", operator).out.strip()
    for arguments in (
        ("create", "more"),
        ("create", "more", "--key", agent),
        ("create", "more", "--key", "gw_invented"),
        ("revoke", "anything"),
        ("revoke", "anything", "--key", agent),
    ):
        done = shell.run("key", *arguments)
        assert (done.code, done.out, done.error["code"]) == (6, "", "permission_denied")
    assert len(shell.run("key", "list").rows) == 2


def test_the_first_key_is_free_only_where_no_gateway_has_run(
    shell: Shell, endpoint: Endpoint
) -> None:
    state_in(shell.state).close()
    (shell.state / "audit.db").write_bytes(b"")
    refused = shell.run("key", "create", "root", "--operator")
    assert (refused.code, refused.error["code"]) == (6, "permission_denied")
    wrong = shell.run("key", "create", "root", "--operator", "--key", "local-token")
    assert wrong.code == 6
    right = shell.run("key", "create", "root", "--operator", "--key", "operator-token")
    assert right.code == 0
    assert shell.run_at_terminal("key", "create", "bot").code == 0


def test_a_person_at_a_terminal_makes_keys(shell: Shell, operator: str) -> None:
    done = shell.run_at_terminal("key", "create", "bot")
    secret, *notes = done.out.splitlines()
    assert done.code == 0
    assert isinstance(verify(shell, secret.strip()), Caller)
    assert any("gatewright key revoke" in line for line in notes)


@pytest.mark.parametrize(
    "arguments", [["anonymous"], ["*"], [" "], ["x" * 200], ["bot", "--expires", "2001-01-01Z"]]
)
def test_a_key_that_cannot_be_is_a_usage_error(shell: Shell, arguments: list[str]) -> None:
    done = shell.run("key", "create", *arguments)
    assert (done.code, done.out, done.error["code"]) == (2, "", "usage")


def test_an_unknown_id_cannot_be_revoked(shell: Shell, operator: str) -> None:
    done = shell.run("key", "revoke", "nope", "--key", operator)
    assert (done.code, done.error["code"]) == (2, "not_found")
    assert "gatewright key list" in done.error["hint"]


def test_no_keys_is_an_empty_answer_with_a_word_about_the_first(shell: Shell) -> None:
    done = shell.run("key", "list")
    assert (done.code, done.out) == (0, "")
    assert "gatewright key create" in done.err


def test_who_made_a_key_is_left_for_the_record(shell: Shell, operator: str) -> None:
    shell.run("key", "create", "bot", "--key", operator)
    callers = KeyStore(state_in(shell.state), clock=time.time, random=os.urandom)
    try:
        changes = [(one.action, one.name, one.by) for one in callers.changes()]
    finally:
        callers.close()
    assert changes[1] == ("created", "bot", "root")
    assert changes[0][:2] == ("created", "root")


def test_an_old_key_stays_good_for_the_overlap(shell: Shell, operator: str) -> None:
    old = shell.run("key", "create", "bot", "--key", operator, "--json").document
    rotate = ("key", "rotate", old["id"], "--overlap", "1h", "--key", operator, "--json")
    new = shell.run(*rotate).document
    assert isinstance(verify(shell, old["key"]), Caller)
    assert isinstance(verify(shell, new["key"]), Caller)
    listed = {one["id"]: one for one in shell.run("key", "list", "--json").document}
    assert listed[old["id"]]["replaced_by"] == new["id"]
    assert 3590 < listed[old["id"]]["expires"] - new["created_at"] <= 3600
    again = shell.run(*rotate)
    assert again.code == 2
    assert "replaced" in again.err


def test_a_second_key_of_a_name_is_made_on_purpose_only(shell: Shell, operator: str) -> None:
    """Whatever the kinds of both, and again once the first has ended."""
    environ = {"GATEWRIGHT_KEY": operator}
    first = shell.run("key", "create", "bot", "--json", environ=environ).document
    for more in ((), ("--operator",), ("--expires", "1h")):
        done = shell.run("key", "create", "bot", *more, environ=environ)
        assert (done.code, done.out, done.error["code"]) == (2, "", "exists")
        assert f"{first['id']} (agent)" in done.error["message"]
        assert "gatewright key rotate bot" in done.error["hint"]
        assert "--another" in done.error["hint"]
    assert shell.run("key", "create", "root", "--operator", environ=environ).code == 2
    second = shell.run("key", "create", "bot", "--another", "--json", environ=environ).document
    rows = [row for row in shell.run("key", "list").rows if row[1] == "bot"]
    assert [row[0] for row in rows] == [first["id"], second["id"]]
    for one in (first, second):
        assert shell.run("key", "revoke", one["id"], environ=environ).code == 0
    assert shell.run("key", "create", "bot", environ=environ).code == 0


def test_a_name_is_rotated_where_it_has_one_key_and_asked_about_where_it_has_two(
    shell: Shell, operator: str
) -> None:
    environ = {"GATEWRIGHT_KEY": operator}
    first = shell.run("key", "create", "bot", environ=environ).out.strip()
    new = shell.run("key", "rotate", "bot", environ=environ).out.strip()
    assert verify(shell, first) == "revoked"
    later = shell.run("key", "rotate", "bot", "--overlap", "1h", environ=environ).out.strip()
    assert isinstance(verify(shell, new), Caller)
    last = shell.run("key", "rotate", "bot", "--json", environ=environ).document
    assert verify(shell, later) == "revoked"
    other = shell.run("key", "create", "bot", "--another", "--json", environ=environ).document
    done = shell.run("key", "rotate", "bot", environ=environ)
    assert (done.code, done.error["code"]) == (2, "ambiguous")
    assert last["id"] in done.error["message"]
    assert other["id"] in done.error["message"]
    assert shell.run("key", "rotate", other["id"], environ=environ).code == 0
    done = shell.run("key", "rotate", "nobody", environ=environ)
    assert (done.code, done.error["code"]) == (2, "not_found")


def test_of_two_commands_at_once_one_makes_the_key(tmp_path: Path) -> None:
    stores = [KeyStore(state_in(tmp_path), clock=time.time, random=os.urandom) for _ in range(2)]
    stores[0].create("bot", by="x", another=False)
    with pytest.raises(NameTaken) as caught:  # it has not read what the first one did
        stores[1].create("bot", by="x", another=False)
    assert [one.name for one in caught.value.keys] == ["bot"]
    for store in stores:
        store.close()
