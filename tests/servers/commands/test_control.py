"""`server restart`, `start`, `stop` and `logs`, at a gateway that runs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

import pytest

from gatewright.cli.running import Endpoint
from gatewright.servers.commands import control
from tests.cli.gateways import DEMO, serving
from tests.cli.shell import Shell

TALKS = f"""\
[[servers]]
id = "talks"
command = {json.dumps(sys.executable)}
args = ["-c", "import sys; [print('word', n, file=sys.stderr, flush=True) for n in range(3)]"]
[servers.mgp]
restart_policy = "never"
"""


@pytest.fixture
def beside(shell: Shell) -> Iterator[Shell]:
    """A shell beside a gateway with the example's server, and one that talks and leaves."""
    shell.write("mgp.toml", DEMO + TALKS)
    with serving(shell):
        yield shell


def test_a_server_is_stopped_and_started_and_the_record_says_who_did_it(beside: Shell) -> None:
    done = beside.run("server", "stop", "demo")
    assert (done.code, done.rows, done.err) == (0, [["demo", "disconnected"]], "")
    refused = beside.run("tool", "call", "demo__echo", "text=x")
    assert (refused.code, refused.error["code"]) == (4, "upstream_unavailable")
    listed = {row[0]: row[1] for row in beside.run("server", "list").rows}
    assert listed["demo"] == "disconnected"
    shown = beside.run("server", "show", "demo", "--json").document["running"]
    assert "gatewright server start demo" in shown["reason"]
    started = beside.run("server", "start", "demo", "--json")
    assert started.document == {"id": "demo", "status": "connected", "reason": ""}
    assert beside.run("tool", "call", "demo__echo", "text=x").out == "x\n"
    again = beside.run("server", "restart", "demo")
    assert (again.code, again.rows) == (0, [["demo", "connected"]])
    done = beside.run("audit", "query", "--json", "--limit", "100")
    records = [json.loads(line) for line in done.out.splitlines()]
    acted = [
        (one["event_type"].rpartition(".")[2], one["actor"]["type"], one["target"]["server_id"])
        for one in sorted(records, key=lambda record: record["seq"])
        if one["event_type"].startswith("dev.gatewright.server.")
    ]
    assert acted == [
        ("stopped", "operator", "demo"),
        ("started", "operator", "demo"),
        ("restarted", "operator", "demo"),
    ]


def test_a_server_that_does_not_come_up_is_told_with_its_reason(beside: Shell) -> None:
    done = beside.run("server", "restart", "talks")
    assert (done.code, done.rows) == (4, [["talks", "error"]])
    assert done.err.startswith("talks: ")


def test_what_a_server_wrote_is_shown_across_its_restarts(beside: Shell) -> None:
    beside.run("server", "restart", "talks")
    done = beside.run("server", "logs", "talks")
    assert done.code == 0
    assert done.out.splitlines() == ["word 0", "word 1", "word 2"] * (
        len(done.out.splitlines()) // 3
    )
    assert len(done.out.splitlines()) >= 6
    last = beside.run("server", "logs", "talks", "-n", "1", "--json")
    assert last.document == {"id": "talks", "line": "word 2"}


def test_a_server_drains_stays_down_and_is_started(beside: Shell) -> None:
    """MGP-11.4-1"""
    done = beside.run("server", "drain", "demo", "--timeout", "5")
    assert (done.code, done.rows, done.err) == (0, [["demo", "yes", "0", "0"]], "")
    refused = beside.run("tool", "call", "demo__echo", "text=x")
    assert refused.error["code"] in ("draining", "upstream_unavailable")
    assert beside.run("server", "start", "demo").rows == [["demo", "connected"]]
    assert beside.run("tool", "call", "demo__echo", "text=x").out == "x\n"
    made = beside.run("key", "create", "bot", "--key", _operator(beside))
    agent = beside.run("server", "drain", "demo", "--key", made.out.strip())
    assert agent.error["code"] == "access_denied"


def test_of_a_server_that_still_ends_it_is_said_what_it_waits_for(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    said = {"status": "draining", "reason": "2 calls run"}
    monkeypatch.setattr(control, "ask", lambda *_, **__: said)
    monkeypatch.setattr(control, "endpoint", lambda *_, **__: Endpoint("http://127.0.0.1:1"))
    control.stop("demo")
    assert capfd.readouterr() == ("demo\tdraining\n", "demo: 2 calls run\n")


@pytest.mark.parametrize("verb", ["restart", "drain", "start", "stop", "logs"])
def test_an_unknown_server_is_told_with_the_way_out(beside: Shell, verb: str) -> None:
    done = beside.run("server", verb, "nobody")
    assert (done.code, done.error["code"]) == (2, "not_found")
    assert "server list" in done.error["hint"]


def test_who_is_no_operator_has_no_such_command(beside: Shell) -> None:
    made = beside.run("key", "create", "bot", "--key", _operator(beside))
    for verb in ("restart", "stop", "logs"):
        done = beside.run("server", verb, "demo", "--key", made.out.strip())
        assert done.error["code"] == "method_not_found"
        assert "operator" in done.error["hint"]
    assert beside.run("server", "list").rows[0][1] == "connected"


def _operator(shell: Shell) -> str:
    found: str = json.loads((shell.state / "gateway.json").read_text())["operator_token"]
    return found
