from __future__ import annotations

from typing import Any

import pytest

from gatewright.audit.groundhog_events import CLASSES, to_event

MEMBERS = {
    "timestamp",
    "event_type",
    "source",
    "user_context",
    "details",
    "risk_level",
    "correlation_id",
}


def record(
    event_type: str = "TOOL_EXECUTED", outcome: str = "success", **more: Any
) -> dict[str, Any]:
    return {
        "seq": 1,
        "id": "r1",
        "time": "2024-01-01T12:00:00.000Z",
        "event_type": event_type,
        "outcome": outcome,
        "actor": {"type": "agent", "id": "ann"},
        "target": {"server_id": "files", "tool_name": "list"},
        "trace_id": "t1",
        "call": "c1",
        "details": {"risk_level": "moderate", "duration_ms": 1.5},
        **more,
    }


def denied(reason: str, gate: str = "access", **details: Any) -> dict[str, Any]:
    more = {"decision": {"gate": gate, "reason": reason}}
    return record("TOOL_BLOCKED", "denied", details={"risk_level": "moderate", **details}, **more)


def body(found: dict[str, Any]) -> dict[str, Any]:
    event = to_event(found)
    assert event is not None
    return event.body


def classes(found: dict[str, Any]) -> frozenset[str]:
    event = to_event(found)
    return frozenset() if event is None else event.classes


def test_an_event_has_the_seven_members_of_the_specification() -> None:
    """GRH-aud-1."""
    for one in (record(), denied("access_denied"), record("SERVER_CONNECTED")):
        assert set(body(one)) == MEMBERS


def test_a_call_of_a_tool_is_a_tool_invocation_of_the_protocol() -> None:
    """GRH-aud-2."""
    constraints = {"role": "reader", "trust_level": "community"}
    found = body(record(details={"constraints": constraints, "risk_level": "safe"}))
    assert found == {
        "timestamp": "2024-01-01T12:00:00.000Z",
        "event_type": "ToolInvocation",
        "source": "mcp_protocol",
        "user_context": {"user_id": "ann", "role": "reader", "trust_level": "community"},
        "details": {
            "constraints": constraints,
            "risk_level": "safe",
            "status": "success",
            "audit_id": "t1",
            "record_id": "r1",
            "tool_id": "list",
            "server_id": "files",
            "execution_id": "exec-c1",
        },
        "risk_level": "Low",
        "correlation_id": "t1",
    }
    assert body(record(outcome="failure"))["details"]["status"] == "error"
    assert body(record(outcome="error"))["details"]["status"] == "error"


@pytest.mark.parametrize(
    "reason",
    [
        "access_denied",
        "permission_denied",
        "path_not_allowed",
        "rate_limited",
        "bad_security_context",
        "auth_failed",
        "validation_blocked",
        "code_safety",
    ],
)
def test_what_is_refused_for_security_is_a_violation_of_high_risk(reason: str) -> None:
    """GRH-aud-3."""
    found = body(denied(reason))
    assert (found["event_type"], found["source"]) == ("SecurityViolation", "mcp_security")
    assert found["risk_level"] == "High"
    assert found["details"]["severity"] in {"Medium", "High", "Critical"}
    assert "security_events" in classes(denied(reason))


def test_a_name_that_nobody_has_and_arguments_of_a_wrong_shape_are_no_violation() -> None:
    """GRH-aud-2."""
    for reason in ("tool_not_found", "invalid_args"):
        found = body(denied(reason, "resolve"))
        assert (found["event_type"], found["details"]["status"]) == ("ToolInvocation", "denied")


@pytest.mark.parametrize(
    ("found", "critical"),
    [
        (denied("bad_security_context", "session"), True),
        (denied("access_denied", risk_level="dangerous"), True),
        (denied("path_not_allowed", risk_level="dangerous"), True),
        (denied("access_denied"), False),
        (denied("rate_limited", risk_level="dangerous"), False),
        (record(), False),
    ],
)
def test_somebody_elses_name_and_what_is_dangerous_are_critical(
    found: dict[str, Any], critical: bool
) -> None:
    """GRH-aud-4."""
    assert ("critical" in classes(found)) is critical


@pytest.mark.parametrize(
    ("static", "argument", "risk"),
    [
        ("safe", None, "Low"),
        ("moderate", None, "Medium"),
        ("dangerous", None, "High"),
        ("safe", "dangerous", "High"),
        ("moderate", "safe", "Medium"),
        ("safe", "moderate", "Medium"),
        ("unknown", None, "Low"),
    ],
)
def test_the_risk_is_that_of_the_tool_or_of_the_arguments(
    static: str, argument: str | None, risk: str
) -> None:
    """GRH-aud-5."""
    details = {"risk_level": static} | ({} if argument is None else {"argument_risk": argument})
    assert body(record(details=details))["risk_level"] == risk


@pytest.mark.parametrize(
    ("found", "kind", "of"),
    [
        (record("SERVER_CONNECTED"), "PerformanceEvent", "performance_events"),
        (record("dev.gatewright.performance"), "PerformanceEvent", "performance_events"),
        (record("ACCESS_GRANTED"), "SecurityEvent", "security_events"),
        (record("dev.gatewright.key.created"), "SecurityEvent", "security_events"),
        (
            record("dev.gatewright.refused", "error", details={"reason": "method_not_found"}),
            "ProtocolError",
            "protocol_errors",
        ),
        (
            record("dev.gatewright.refused", "denied", details={"reason": "auth_required"}),
            "SecurityViolation",
            "security_events",
        ),
        (
            record("dev.gatewright.method", method="tools/register"),
            "ToolRegistration",
            "tool_invocations",
        ),
    ],
)
def test_everything_else_has_its_class(found: dict[str, Any], kind: str, of: str) -> None:
    """GRH-cfg-9."""
    assert body(found)["event_type"] == kind
    assert classes(found) == {of}
    assert of in CLASSES


def test_intents_and_plain_questions_are_no_events() -> None:
    for one in (record("dev.gatewright.intent", "pending"), record("dev.gatewright.list")):
        assert to_event(one) is None
