"""Which record is an event of which channel, who hears it, and what a name of a channel means."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gatewright.call import ANONYMOUS, Caller
from gatewright.events.channels import (
    CHANNELS,
    FAMILIES,
    event_of,
    is_channel,
    matches,
    severity_of,
)

ROOT = Path(__file__).parents[2]
ANN, BOB, OLGA = Caller("ann"), Caller("bob"), Caller("olga", "operator")


def record(kind: str, outcome: str = "success", **more: Any) -> dict[str, Any]:
    """A record of the trail, decoded."""
    return {
        "time": "2026-01-01T00:00:00.000Z",
        "event_type": kind,
        "outcome": outcome,
        "actor": {"type": "agent", "id": "ann"},
        "target": {"server_id": "s", "tool_name": "t"},
        "trace_id": "x",
        **more,
    }


@pytest.mark.parametrize(
    ("said", "channel"),
    [
        (record("TOOL_EXECUTED"), "tool.completed"),
        (record("TOOL_EXECUTED", "failure"), "tool.failed"),
        (record("TOOL_EXECUTED", "error"), "tool.failed"),
        (record("TOOL_EXECUTED", "cancelled"), "tool.cancelled"),
        (record("TOOL_BLOCKED", "denied", decision={"gate": "rate", "reason": "rate_limited"}), "tool.blocked"),
        (record("TOOL_BLOCKED", "denied", decision={"gate": "access", "reason": "access_denied"}), "security.access_denied"),
        (record("dev.gatewright.list", "denied", decision={"gate": "rate", "reason": "rate_limited"}), "security.request_refused"),
        (record("VALIDATION_FAILED", "denied"), "security.validation_failed"),
        (record("CODE_REJECTED", "denied"), "security.code_rejected"),
        (record("ACCESS_GRANTED"), "security.access_changed"),
        (record("PERMISSION_DENIED"), "security.permission_changed"),
        (record("SERVER_CONNECTED"), "system.server_connected"),
        (record("SERVER_DISCONNECTED"), "system.server_disconnected"),
        (record("dev.gatewright.approval.requested"), "security.approval"),
        (record("dev.gatewright.callback.asked"), "security.callback"),
        (record("dev.gatewright.tool.changed"), "security.definition_changed"),
        (record("dev.gatewright.key.created"), "security.key_changed"),
        (record("dev.gatewright.server.restarted"), "system.server_changed"),
        (record("dev.gatewright.config.applied"), "system.configuration"),
        (record("dev.gatewright.audit.pruned"), "system.record"),
    ],
)  # fmt: skip
def test_each_record_has_its_channel(said: dict[str, Any], channel: str) -> None:
    """MGP-13.5-1."""
    found = event_of(said)
    assert found is not None
    assert found.channel == channel
    assert found.severity == CHANNELS[channel].severity
    assert "timestamp" not in found.data


def test_what_is_no_event() -> None:
    for kind in ("dev.gatewright.intent", "dev.gatewright.list", "dev.gatewright.unheard.of"):
        assert event_of(record(kind)) is None


def test_own_calls_are_heard_by_whose_they_are_and_by_operators() -> None:
    found = event_of(record("TOOL_EXECUTED", session="s1"))
    assert found is not None
    assert found.is_for(ANN, None, sees=True)
    assert found.is_for(OLGA, None, sees=False)
    assert not found.is_for(BOB, "s1", sees=True)
    assert not found.is_for(Caller("ann", "owner"), "s1", sees=True)
    assert not found.is_for(ANONYMOUS, "s2", sees=True)
    assert not found.is_for(ANONYMOUS, None, sees=True)
    assert found.is_for(ANONYMOUS, "s1", sees=True)


def test_servers_are_heard_of_by_those_who_see_them_and_why_by_operators() -> None:
    said = record(
        "SERVER_DISCONNECTED", actor={"type": "system", "id": "g"}, details={"reason": "/x"}
    )
    found = event_of(said)
    assert found is not None
    assert found.is_for(BOB, None, sees=True)
    assert not found.is_for(BOB, None, sees=False)
    assert "details" not in found.data_for(BOB)
    assert found.data_for(OLGA)["details"]["reason"] == "/x"


def test_whom_a_decision_is_about_hears_of_it() -> None:
    by: dict[str, Any] = {"actor": {"type": "operator", "id": "olga"}}
    granted = event_of(record("ACCESS_GRANTED", details={"agent_id": "bob"}, **by))
    asked = {"agent": "bob", "agent_kind": "agent"}
    approved = event_of(record("dev.gatewright.approval.approved", details=asked, **by))
    for found in (granted, approved):
        assert found is not None
        assert found.is_for(BOB, None, sees=False)
        assert not found.is_for(ANN, None, sees=True)
    everybody = event_of(
        record(
            "dev.gatewright.approval.approved", details={"agent": "*", "agent_kind": "agent"}, **by
        )
    )
    assert everybody is not None
    assert not everybody.is_for(BOB, None, sees=True)


def test_a_host_and_a_key_of_one_name_hear_of_their_own_approvals_and_both_of_grants() -> None:
    """Grants are given by name alone; what a request for approval is about is one caller's."""
    by: dict[str, Any] = {"actor": {"type": "operator", "id": "olga"}}
    agent, owner = Caller("cursor"), Caller("cursor", "owner")
    for kind, hears in (("agent", [True, False]), ("owner", [False, True]), (None, [False, False])):
        details = {"agent": "cursor", "agent_kind": kind}
        found = event_of(record("dev.gatewright.approval.approved", details=details, **by))
        assert found is not None
        assert [found.is_for(one, None, sees=True) for one in (agent, owner)] == hears
    granted = event_of(record("ACCESS_GRANTED", details={"agent_id": "cursor"}, **by))
    assert granted is not None
    assert all(granted.is_for(one, None, sees=False) for one in (agent, owner))


def test_operators_alone_hear_of_keys() -> None:
    found = event_of(record("dev.gatewright.key.created"))
    assert found is not None
    assert not found.is_for(ANN, None, sees=True)
    assert found.is_for(OLGA, None, sees=False)


def test_names_and_patterns() -> None:
    for name in ("tool.completed", "tool.*", "model.a.b", "model.a.*", "security.x-y_1"):
        assert is_channel(name), name
    for name in ("*", "tool", "tool.", "weather.rain", "tool.*.x", "Tool.x", f"tool.{'x' * 200}", "toolx.y", "tool.x\n"):  # fmt: skip
        assert not is_channel(name), name
    assert matches("tool.*", "tool.completed")
    assert not matches("tool.*", "toolbox.completed")
    assert not matches("tool.completed", "tool.completed.more")
    assert matches("tool.completed", "tool.completed")


def test_severities_are_those_of_log_levels() -> None:
    """MGP-13.2-3."""
    info, warning = severity_of("info"), severity_of("warning")
    assert info is not None
    assert warning is not None
    assert info < warning
    assert severity_of("loud") is severity_of(3) is severity_of(None) is None


def test_the_page_shows_the_table() -> None:
    page = (ROOT / "docs" / "events.md").read_text()
    for one in CHANNELS.values():
        assert is_channel(one.name)
        assert one.name.partition(".")[0] in FAMILIES
        who = {"own": "own", "server": "of servers that it may see", "operators": "operators"}[
            one.hears
        ]
        assert f"| `{one.name}` | {one.severity} | {who} | {one.what} |" in page
