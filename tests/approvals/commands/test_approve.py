"""`approve` and `deny`: straight in the store, by operators only."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from hashlib import sha256

import pytest

from gatewright.approvals.request import Approval, Asked
from gatewright.approvals.shown_arguments import SHOWN_CHARS
from tests import fork_server
from tests.approvals.voting import Voting
from tests.cli.shell import DEADLINE_S, Shell
from tests.storage.parts import state_in

ASKED = Asked("bot", "files", "wipe", "a" * 64, "d" * 64, "p1")


@pytest.fixture
def operator(shell: Shell) -> str:
    return shell.run("key", "create", "olga", "--operator").out.strip()


@pytest.fixture
def queue(shell: Shell, operator: str) -> Iterator[Voting]:
    made = Voting(state_in(shell.state), clock=time.time, random=os.urandom)
    yield made
    made.close()


def ask(
    queue: Voting, tool: str = "wipe", arguments: str = '{"path": "/"}', quorum: int = 1
) -> Approval:
    asked = Asked("bot", "files", tool, "a" * 64, "d" * 64, "p1")
    made = queue.ask(
        asked,
        arguments=arguments,
        risk="dangerous",
        reason="it is dangerous",
        quorum=quorum,
        lasts_s=600,
    )
    assert made is not None
    return made


def test_what_waits_is_shown_with_its_arguments(shell: Shell, queue: Voting, operator: str) -> None:
    made = ask(queue)
    done = shell.run("approve", "--key", operator)
    assert (done.code, len(done.rows)) == (0, 1)
    assert done.rows[0][:4] == [made.id, "bot", "files__wipe", "dangerous"]
    assert done.rows[0][-1] == '{"path": "/"}'
    (listed,) = shell.run("approve", "--key", operator, "--json").document
    assert (listed["id"], listed["state"], listed["arguments"]) == (
        made.id,
        "pending",
        '{"path": "/"}',
    )


def test_one_yes_lets_exactly_that_call_pass_once(
    shell: Shell, queue: Voting, operator: str
) -> None:
    made = ask(queue)
    done = shell.run("approve", made.id, "--comment", "go on", "--key", operator, "--json")
    assert done.code == 0
    assert (done.document["state"], done.document["scope"]) == ("approved", "once")
    used = queue.redeem(ASKED)
    assert used is not None
    assert (used.by, used.comment) == ("olga", "go on")
    assert queue.redeem(ASKED) is None


def test_a_yes_says_which_arguments_it_is_to(shell: Shell, queue: Voting, operator: str) -> None:
    done = shell.run("approve", ask(queue).id, "--key", operator)
    assert '  arguments  {"path": "/"}' in done.err
    assert f"  SHA-256    {'a' * 16}" in done.err
    any_ = ask(queue, "drop")
    words = ("approve", any_.id, "--for", "1h", "--any-arguments", "--key", operator)
    assert "  arguments  any" in shell.run(*words).err


def test_a_yes_may_be_to_the_arguments_of_one_digest_alone(
    shell: Shell, queue: Voting, operator: str
) -> None:
    """Another operator changed them between the look and the yes."""
    made = ask(queue, quorum=2)
    edited = '{"path":"/tmp"}'
    shell.run("key", "create", "otto", "--operator", "--key", operator)
    queue.approve(made.id, by="otto", edited=edited)
    words = ("approve", made.id, "--key", operator, "--digest")
    for stale in ("a" * 16, "a" * 15, ""):
        done = shell.run(*words, stale)
        assert (done.code, done.error["code"]) == (6, "not_shown")
    now = sha256(edited.encode()).hexdigest()[:16]
    assert now in done.error["message"]
    assert shell.run(*words, now).code == 0
    used = queue.redeem(ASKED)
    assert used is not None
    assert used.edited == edited


def test_who_has_voted_and_whose_yes_counts_no_more_is_said(
    shell: Shell, queue: Voting, operator: str
) -> None:
    made = ask(queue, quorum=3)
    for name in ("mallory", "otto"):
        shell.run("key", "create", name, "--operator", "--key", operator)
        queue.approve(made.id, by=name)
    shell.run("key", "revoke", "mallory", "--key", operator)
    assert queue.votes(made.id) == (["otto"], ["mallory"])
    terminal = shell.run_at_terminal("approve", answers="s\n", after="uit: ")
    assert "votes      1 of 3: otto" in terminal.out
    assert "no longer counted, as their keys have ended: mallory" in terminal.out
    done = shell.run("approve", made.id, "--key", operator)
    assert done.code == 0
    assert "votes      2 of 3: otto, olga" in done.err


def test_arguments_that_nobody_could_see_whole_are_approved_by_their_digest_alone(
    shell: Shell, queue: Voting, operator: str
) -> None:
    made = ask(queue, arguments='{"path": "' + "x" * SHOWN_CHARS + '"}')
    done = shell.run("approve", made.id, "--key", operator)
    assert (done.code, done.error["code"]) == (6, "not_shown")
    assert f"the first {SHOWN_CHARS} are kept" in done.error["message"]
    assert "aaaaaaaaaaaaaaaa" in done.error["hint"]
    assert queue.redeem(ASKED) is None
    done = shell.run("approve", made.id, "--key", operator, "--digest", "a" * 16)
    assert done.code == 0
    assert "NOT SHOWN" in done.err
    assert queue.redeem(ASKED) is not None


@pytest.mark.parametrize(
    "more", [("--for", "1h", "--any-arguments"), ("--arguments", '{"path": "/tmp"}')]
)
def test_who_does_not_mean_those_arguments_needs_not_have_seen_them(
    shell: Shell, queue: Voting, operator: str, more: tuple[str, ...]
) -> None:
    made = ask(queue, arguments='{"path": "' + "x" * SHOWN_CHARS + '"}')
    assert shell.run("approve", made.id, *more, "--key", operator).code == 0


@pytest.mark.parametrize(("more", "scope"), [((), "arguments"), (("--any-arguments",), "tool")])
def test_a_yes_may_hold_for_a_time(
    shell: Shell, queue: Voting, operator: str, more: tuple[str, ...], scope: str
) -> None:
    made = ask(queue)
    words = ("approve", made.id, "--for", "1h", *more, "--key", operator, "--json")
    document = shell.run(*words).document
    assert document["scope"] == scope
    assert 3500 < document["expires"] - time.time() < 3700


def test_a_no_is_said_with_its_reason(shell: Shell, queue: Voting, operator: str) -> None:
    made = ask(queue)
    done = shell.run("deny", made.id, "--reason", "too late", "--key", operator, "--json")
    assert (done.code, done.document["state"], done.document["comment"]) == (
        0,
        "denied",
        "too late",
    )
    again = shell.run("approve", made.id, "--key", operator)
    assert (again.code, again.error["code"]) == (2, "not_found")
    assert "denied already, by olga" in again.error["message"]


@pytest.mark.parametrize("words", [("approve",), ("approve", "ap_1"), ("deny", "ap_1")])
def test_an_agent_with_a_shell_decides_on_nothing(
    shell: Shell, queue: Voting, operator: str, words: tuple[str, ...]
) -> None:
    agent = shell.run("key", "create", "bot", "--key", operator).out.strip()
    for key in ((), ("--key", agent)):
        done = shell.run(*words, *key)
        assert (done.code, done.error["code"]) == (6, "permission_denied")
        assert done.out == ""


def test_nobody_approves_what_they_asked_for_themselves(
    shell: Shell, queue: Voting, operator: str
) -> None:
    own = replace_agent(queue)
    done = shell.run("approve", own.id, "--key", operator)
    assert (done.code, done.error["code"]) == (6, "permission_denied")
    assert "somebody else" in done.error["message"]


def replace_agent(queue: Voting) -> Approval:
    asked = Asked("olga", "files", "wipe", "a" * 64, "d" * 64, "p1")
    made = queue.ask(asked, arguments="{}", risk="dangerous", reason="", quorum=1, lasts_s=600)
    assert made is not None
    return made


def test_an_unknown_request_is_named(shell: Shell, queue: Voting, operator: str) -> None:
    done = shell.run("approve", "ap_nothing", "--key", operator)
    assert (done.code, done.error["code"]) == (2, "not_found")
    assert "ap_nothing" in done.error["message"]


def test_any_arguments_without_an_end_is_refused(
    shell: Shell, queue: Voting, operator: str
) -> None:
    done = shell.run("approve", ask(queue).id, "--any-arguments", "--key", operator)
    assert (done.code, done.error["code"]) == (2, "usage")
    assert queue.redeem(ASKED) is None


def test_where_no_gateway_has_run_nothing_waits(shell: Shell) -> None:
    done = shell.run("approve")
    assert (done.code, done.error["code"]) == (4, "not_found")


def test_a_watch_prints_each_request_once_as_it_comes(
    shell: Shell, queue: Voting, operator: str
) -> None:
    first = ask(queue)
    watch = fork_server.Popen(
        shell.command("approve", "--watch", "--json", "--key", operator),
        stdout=subprocess.PIPE,
        cwd=shell.folder,
        env=shell.environ(),
    )
    assert watch.stdout is not None
    try:
        assert json.loads(watch.stdout.readline())["id"] == first.id
        second = ask(queue, "other")
        assert json.loads(watch.stdout.readline())["id"] == second.id
    finally:
        watch.send_signal(signal.SIGINT)
        rest, _ = watch.communicate(timeout=DEADLINE_S)
    assert rest == b""
    assert watch.returncode == 130


def test_a_person_at_a_terminal_is_asked_one_by_one(
    shell: Shell, queue: Voting, operator: str
) -> None:
    first, second = ask(queue), ask(queue, "other", '{"path": "\u202e/etc"}')
    done = shell.run_at_terminal("approve", answers="x\ny\nn\n", after="approve this call once?")
    assert done.code == 0
    assert "bot wants to run files/wipe: it is dangerous" in done.out
    assert f"{first.id} is approved" in done.out
    assert "\\u{202e}/etc" in done.out
    assert f"{second.id} is denied" in done.out
    states = {one.id: one.state for one in queue.all()}
    assert states == {first.id: "approved", second.id: "denied"}


@pytest.mark.parametrize("watch", [(), ("--watch",)])
def test_a_prompt_that_was_left_open_approves_nothing_once_its_key_is_revoked(
    shell: Shell, queue: Voting, operator: str, watch: tuple[str, ...]
) -> None:
    """Whoever took the key keeps no hand on the queue; the owner's next key does not serve them either."""
    for tool in ("wipe", "other"):
        ask(queue, tool)

    def revoke(_: str) -> None:
        create = ("key", "create", "--operator", "--key")
        other = shell.run(*create, operator, "otto").out.strip()
        assert shell.run("key", "revoke", "olga", "--key", operator).code == 0
        assert shell.run(*create, other, "olga").code == 0

    done = shell.run_at_terminal(
        "approve",
        *watch,
        "--key",
        operator,
        answers="y\nq\n",
        after="approve this call once?",
        then=revoke,
    )
    assert "the key that olga showed has ended" in done.out
    assert [one.state for one in queue.all()] == ["pending", "pending"]


def test_at_a_terminal_too_nobody_says_yes_to_what_was_not_shown(
    shell: Shell, queue: Voting, operator: str
) -> None:
    long = ask(queue, "wipe", json.dumps({"a": "x" * 20_000}))
    done = shell.run_at_terminal("approve", answers="y\ns\n", after="[n]o, [s]kip")
    assert "[y]es" not in done.out
    assert f"approve {long.id} --digest" in done.out
    assert [one.state for one in queue.all()] == ["pending"]


def test_no_name_adds_a_line_that_looks_like_one_of_ours(
    shell: Shell, queue: Voting, operator: str
) -> None:
    """A server chooses the names of its tools, and a person decides by what is shown."""
    made = ask(queue, 'read: it is safe. Risk: safe.\n  arguments  {"path": "/tmp\u00ad"}')
    done = shell.run_at_terminal("approve", answers="y\n", after="approve this call once?")
    lines = [line.strip() for line in done.out.splitlines()]
    assert [line for line in lines if line.startswith("arguments")] == ['arguments  {"path": "/"}']
    assert "\\u{a}  arguments" in done.out
    assert "/tmp\\u{ad}" in done.out
    assert f"{made.id} is approved" in done.out


def test_ctrl_d_decides_on_nothing_and_is_no_error(
    shell: Shell, queue: Voting, operator: str
) -> None:
    ask(queue)
    done = shell.run_at_terminal("approve", answers="\x04", after="approve this call once?")
    assert (done.code, "internal" in done.out) == (0, False)
    assert [one.state for one in queue.all()] == ["pending"]


def test_quitting_leaves_the_rest_waiting(shell: Shell, queue: Voting, operator: str) -> None:
    ask(queue)
    ask(queue, "other")
    shell.run_at_terminal("approve", answers="s\nq\n", after="approve this call once?")
    assert [one.state for one in queue.all()] == ["pending", "pending"]


def test_a_permission_of_a_server_is_shown_and_approved_like_a_call(
    shell: Shell, queue: Voting, operator: str
) -> None:
    """MGP-3.3-1"""
    asked = Asked("files", "files", "camera", kind="server")
    made = queue.ask(asked, arguments="{}", risk="dangerous", reason="", quorum=1, lasts_s=600)
    assert made is not None
    done = shell.run("approve", "--key", operator)
    assert done.rows[0][:4] == [made.id, "files", "permission camera", "dangerous"]
    done = shell.run("approve", made.id, "--key", operator)
    assert "the server files may have the permission camera" in done.err
