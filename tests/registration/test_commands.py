"""`server register` and `server deregister`, at a gateway that runs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

import pytest

from tests.cli.gateways import DEMO, EXAMPLES, serving
from tests.cli.shell import Shell

SERVER = str(EXAMPLES / "demo_server.py")


@pytest.fixture
def beside(shell: Shell) -> Iterator[Shell]:
    shell.write("mgp.toml", DEMO)
    with serving(shell):
        yield shell


def test_a_server_is_registered_listed_granted_and_deregistered(beside: Shell) -> None:
    start = ("--", sys.executable, SERVER)
    done = beside.run("server", "register", "more", "--why", "a second one", *start)
    assert (done.code, done.rows[0][:4]) == (0, ["more", "connected", "standard", "persistent"])
    listed = beside.run("server", "list")
    assert "more: registered by" in listed.err
    assert beside.run("tool", "call", "more__echo", "text=x").out == "x\n"
    twice = beside.run("server", "register", "more", "--why", "again", *start)
    assert twice.error["code"] == "registration_conflict"
    named = ("server", "register", "third", "--why", "json", "--json", "--env", "A=b")
    third = beside.run(*named, *start).document
    assert (third["id"], third["status"], third["reason"]) == ("third", "connected", "")
    gone = beside.run("server", "deregister", "third", "--reason", "done", "--json")
    assert gone.document == {"id": "third", "status": "deregistered"}
    ended = beside.run("server", "deregister", "more")
    assert ended.rows == [["more", "deregistered"]]
    assert beside.run("server", "deregister", "demo").error["code"] == "registration_conflict"
    assert "more" not in [row[0] for row in beside.run("server", "list").rows]


def test_without_a_reason_or_a_command_nothing_is_asked(beside: Shell) -> None:
    assert beside.run("server", "register", "more", "--why", "x").code == 2
    done = beside.run("server", "register", "more", "--", sys.executable, SERVER)
    assert done.error["code"] == "invalid_params"
    assert json.dumps(done.error).count("justification")
