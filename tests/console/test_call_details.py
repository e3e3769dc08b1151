"""One call as the console opens it: gates, time, what was taken out, from its record alone."""

from __future__ import annotations

from typing import Any

import pytest

from gatewright.console.call_details import Share, detail_of

GATES = ("authenticate", "access", "confirm")
RECORD: dict[str, Any] = {
    "id": "i",
    "time": "2026-01-01T00:00:00.000Z",
    "event_type": "TOOL_EXECUTED",
    "outcome": "success",
    "actor": {"type": "agent", "id": "ann", "key_id": "k1"},
    "target": {"server_id": "files", "tool_name": "read"},
    "trace_id": "t",
    "call": "c",
    "door": "http",
    "client": {"name": "host", "version": "1"},
    "details": {
        "duration_ms": 100.0,
        "waited_ms": 60.0,
        "confirmed_by": "olga",
        "redacted": {"api_key": 2},
        "sanitized": {"removed": 3},
        "flow": {"untrusted": "a", "private": "b"},
    },
}


def test_all_of_a_call_is_said() -> None:
    found = detail_of(RECORD, GATES)
    assert found is not None
    assert found.call.decision == "approved"
    assert [one.word for one in found.gates] == ["key k1", "", "olga agreed after 0.1 s"]
    assert found.time == [
        Share("waited for a person", 60.0),
        Share("gates, server and network", 40.0),
    ]
    assert found.removed == {"api_key": 2, "hidden characters": 3}
    assert found.flow == {"untrusted": "a", "private": "b"}
    assert (found.client, found.door) == ("host 1", "http")
    assert '\n  "call": "c"' in found.record


def test_a_refused_call_names_its_gate() -> None:
    said = {"outcome": "denied", "decision": {"gate": "access", "reason": "no"}, "details": {}}
    found = detail_of({**RECORD, **said}, GATES)
    assert found is not None
    assert [one.state for one in found.gates] == ["passed", "refused", "not_asked"]
    assert (found.time, found.removed, found.flow) == ([], {}, {})


@pytest.mark.parametrize(
    ("gate", "reason", "spent"),
    [
        ("access", "access_denied", "gates"),
        ("confirm", "permission_deferred", "waited for a person"),
        ("confirm", "permission_denied", "waited for a person"),
        ("confirm", "confirmation_required", "gates"),
        # Stopped by an operator, or by somebody who is no gate: it may have come to its server.
        ("operator", "cancelled", "gates, server and network"),
        ("kernel", "shutting_down", "gates, server and network"),
    ],
)
def test_no_server_had_time_of_a_call_that_a_gate_refused(
    gate: str, reason: str, spent: str
) -> None:
    said = {"outcome": "denied", "decision": {"gate": gate, "reason": reason}}
    found = detail_of({**RECORD, **said, "details": {"duration_ms": 45_000.0}}, GATES)
    assert found is not None
    assert found.time == [Share(spent, 45_000.0)]
    assert found.call.deferred == (reason == "permission_deferred")


def test_what_is_not_as_expected_is_left_out() -> None:
    """Records of other versions, and those that were cut."""
    details = {"redacted": 3, "sanitized": "x", "flow": ["a"], "duration_ms": "long", "cut": True}
    found = detail_of({**RECORD, "details": details, "client": None}, GATES)
    assert found is not None
    assert (found.time, found.removed, found.flow, found.client) == ([], {}, {}, "")
    assert detail_of({**RECORD, "event_type": "SERVER_CONNECTED"}, GATES) is None
