"""What a call that waits is told, by the state of its server."""

from __future__ import annotations

from typing import Any

import pytest

from gatewright.mcp.wire.codes import reason_of
from gatewright.servers.connection_wait import Wait, brief, explained, hopeless
from gatewright.servers.spec import ServerSpec
from gatewright.servers.states import State

SPEC = ServerSpec(id="s", command="x")


def wait(state: State, **more: Any) -> Wait:
    parts: dict[str, Any] = {
        "spec": SPEC,
        "state": state,
        "reason": "why",
        "holding": False,
        "ended": False,
        "stopped": False,
        "pausing": True,
        "next_s": 0.0,
        "left_s": 5.0,
        "tried": False,
        "fresh": False,
        "agreed": False,
    }
    return Wait(**parts | more)


def test_who_has_a_prospect_waits() -> None:
    assert hopeless(wait("connecting", fresh=True)) is None
    assert hopeless(wait("restarting", next_s=2.0)) is None


@pytest.mark.parametrize(
    ("one", "code"),
    [
        (wait("connecting", fresh=True, left_s=0.0), 2000),
        (wait("draining"), 2001),
        (wait("restarting", left_s=0.0), 2002),
        (wait("restarting", next_s=9.0), 2002),
        (wait("error", next_s=9.0), 5002),
        (wait("disconnected", stopped=True), 5002),
        (wait("connecting", holding=True), 1000),
        (wait("disconnected", ended=True), -32600),
    ],
)
def test_who_has_none_is_told_by_the_code_of_the_state(one: Wait, code: int) -> None:
    """MGP-11.2-8, MGP-14.3-8 and MGP-14.3-9"""
    found = hopeless(one)
    assert found is not None
    assert reason_of(found.reason).mgp_code == code


def test_a_call_that_an_operator_agreed_to_waits_for_one_attempt_at_a_server_elsewhere() -> None:
    web: dict[str, Any] = {"spec": ServerSpec(id="s", transport="http"), "next_s": 1.0}
    assert hopeless(wait("disconnected", agreed=True, **web)) is None
    for more in ({}, {"agreed": True, "tried": True}, {"agreed": True, "left_s": 0.5}):
        found = hopeless(wait("disconnected", **web, **more))
        assert found is not None
        assert found.reason == "upstream_unavailable"


def test_a_server_that_drains_says_so_whoever_could_start_it() -> None:
    found = hopeless(wait("draining", stopped=True))
    assert found is not None
    assert (found.reason, found.retry_after_ms) == ("draining", 1000)


def test_the_configurations_own_word_comes_first() -> None:
    found = hopeless(wait("error", next_s=9.0))
    assert found is not None
    assert explained(SPEC, found) is found
    told = explained(ServerSpec(id="s", command="x", problem="no such variable"), found)
    assert told.message == "server s: no such variable"
    assert "server enable s" in explained(ServerSpec(id="s", enabled=False), found).message


def test_a_reason_is_no_page_long() -> None:
    assert brief("x") == "x"
    assert len(brief("x" * 5000)) == 801
    assert "\x1b" not in brief("\x1b[2J")
