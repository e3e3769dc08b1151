"""`to_event`: the Groundhog audit event of a record, or None, and its event classes (`CLASSES`); filtering by class is the caller's. Pure.

An event has seven members: `timestamp`, `event_type`, `source`, `user_context`, `details`, `risk_level` and
`correlation_id`. Each belongs to one class, which the configuration can switch off. What was refused for a
reason of security is a `SecurityViolation` of high risk, whatever was asked for; it has a `severity`, and a
`Critical` one belongs to the class `critical` as well, which raises alerts.
Source: Groundhog, "Audit Event Generation".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from gatewright.mcp.wire.codes import REASONS

__all__ = ["CLASSES", "Event", "to_event"]

CLASSES = (
    "tool_invocations",
    "security_events",
    "performance_events",
    "protocol_errors",
    "critical",
)

_PROTOCOL, _SECURITY = "mcp_protocol", "mcp_security"
_RISKS = {"safe": "Low", "moderate": "Medium", "dangerous": "High"}
_ORDER = ("Low", "Medium", "High")
_STATUS = {
    "success": "success",
    "failure": "error",
    "error": "error",
    "denied": "denied",
    "cancelled": "cancelled",
    "pending": "pending",
}
_REJECTED = frozenset({"VALIDATION_FAILED", "CODE_REJECTED"})
_FORGED = frozenset({"bad_security_context"})
_SERIOUS = frozenset({"permission_denied", "access_denied", "path_not_allowed", "code_safety"})
_OWN = "dev.gatewright."


class Event(NamedTuple):
    """One event, and the classes it belongs to."""

    classes: frozenset[str]
    body: dict[str, Any]


def to_event(record: Mapping[str, Any]) -> Event | None:
    """The event of a decoded record; None for what Groundhog knows no event of."""
    kind = record["event_type"]
    if kind == f"{_OWN}intent":  # the end of the same call says all of it
        return None
    # Before the kinds: a refused tool call is a violation and no ToolInvocation.
    if _is_violation(record):
        severity = _severity(record)
        classes = frozenset(
            {"security_events"} | ({"critical"} if severity == "Critical" else set())
        )
        body = _body(record, "SecurityViolation", _SECURITY, "High")
        body["details"]["severity"] = severity
        return Event(classes, body)
    if kind.startswith("TOOL_"):
        body = _body(record, "ToolInvocation", _PROTOCOL, _risk(record))
        return Event(frozenset({"tool_invocations"}), body)
    return _other(record, kind)


def _other(record: Mapping[str, Any], kind: str) -> Event | None:
    failed = record["outcome"] in {"denied", "error"}
    if kind == f"{_OWN}method" and record.get("method") == "tools/register" and not failed:
        body = _body(record, "ToolRegistration", _PROTOCOL, "Medium")
        return Event(frozenset({"tool_invocations"}), body)
    if kind.startswith((f"{_OWN}performance", "SERVER_")):
        return Event(
            frozenset({"performance_events"}), _body(record, "PerformanceEvent", _PROTOCOL, "Low")
        )
    if kind.startswith(("ACCESS_", "PERMISSION_", f"{_OWN}key.")):
        body = _body(record, "SecurityEvent", _SECURITY, "Medium")
        return Event(frozenset({"security_events"}), body)
    if failed:
        return Event(
            frozenset({"protocol_errors"}), _body(record, "ProtocolError", _PROTOCOL, "Low")
        )
    return None


def _reason(record: Mapping[str, Any]) -> str:
    decision, details = record.get("decision") or {}, record.get("details") or {}
    return str(decision.get("reason") or details.get("reason") or "")


def _is_violation(record: Mapping[str, Any]) -> bool:
    if record["event_type"] in _REJECTED:
        return True
    row = REASONS.get(_reason(record))
    return (
        record["outcome"] == "denied" and row is not None and row.groundhog_type == "security_error"
    )


def _severity(record: Mapping[str, Any]) -> str:
    """`Critical`: somebody says to be somebody else, or wanted something dangerous that he may not."""
    reason = _reason(record)
    dangerous = (record.get("details") or {}).get("risk_level") == "dangerous"
    if reason in _FORGED or (reason in _SERIOUS and dangerous):
        return "Critical"
    return "High" if reason in _SERIOUS else "Medium"


def _risk(record: Mapping[str, Any]) -> str:
    """The higher of what the tool is and what its arguments were."""
    details = record.get("details") or {}
    found = [_RISKS.get(str(details.get(name)), "Low") for name in ("risk_level", "argument_risk")]
    return max(found, key=_ORDER.index)


def _body(record: Mapping[str, Any], kind: str, source: str, risk: str) -> dict[str, Any]:
    actor, target = record["actor"], record.get("target") or {}
    constraints = (record.get("details") or {}).get("constraints") or {}
    user = {"user_id": actor["id"], "role": constraints.get("role", actor["type"])}
    if "trust_level" in constraints:
        user["trust_level"] = constraints["trust_level"]
    if record.get("session"):
        user["session"] = record["session"]
    details = {
        **(record.get("details") or {}),
        **(record.get("decision") or {}),
        "status": _STATUS.get(record["outcome"], record["outcome"]),
        "audit_id": record["trace_id"],
        "record_id": record["id"],
    }
    name = target.get("tool_name") or target.get("name")
    if name:
        details["tool_id"] = name
    if target.get("server_id"):
        details["server_id"] = target["server_id"]
    if record.get("call"):
        details["execution_id"] = f"exec-{record['call']}"
    return {
        "timestamp": record["time"],
        "event_type": kind,
        "source": source,
        "user_context": user,
        "details": details,
        "risk_level": risk,
        "correlation_id": record["trace_id"],
    }
