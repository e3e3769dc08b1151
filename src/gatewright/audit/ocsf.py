"""Converts audit records to OCSF events. Pure.

The mapping is data and has a version of its own, since the schema has no settled class for calls of
agents: they are API Activity (6003), changes of what an agent may do are User Access Management
(3005), starts and ends of servers are Application Lifecycle (6002). What the schema has no place for
stands in `unmapped`, so that nothing of a record is lost. Source: the public schema, version 1.6.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

__all__ = ["MAPPING", "SCHEMA", "to_ocsf"]

SCHEMA = "1.6.0"
MAPPING = "1"
"""The version of this mapping: it is the `log_version` of each event."""


class _Kind(NamedTuple):
    class_uid: int
    class_name: str
    activity_id: int
    activity_name: str


_API = (6003, "API Activity")
_ACCESS = (3005, "User Access Management")
_LIFE = (6002, "Application Lifecycle")
_CATEGORIES = {3: "Identity & Access Management", 6: "Application Activity"}

_OTHER = 99
_CALL = _Kind(*_API, _OTHER, "Call")
_READ = _Kind(*_API, 2, "Read")
_KINDS = {
    "ACCESS_GRANTED": _Kind(*_ACCESS, 1, "Assign Privileges"),
    "ACCESS_REVOKED": _Kind(*_ACCESS, 2, "Revoke Privileges"),
    "PERMISSION_GRANTED": _Kind(*_ACCESS, 1, "Assign Privileges"),
    "PERMISSION_REVOKED": _Kind(*_ACCESS, 2, "Revoke Privileges"),
    "PERMISSION_DENIED": _Kind(*_ACCESS, _OTHER, "Deny"),
    "SERVER_CONNECTED": _Kind(*_LIFE, 3, "Start"),
    "SERVER_DISCONNECTED": _Kind(*_LIFE, 4, "Stop"),
    "dev.gatewright.list": _READ,
    "dev.gatewright.prompt": _READ,
    "dev.gatewright.resource": _READ,
    "dev.gatewright.config.applied": _Kind(*_API, 3, "Update"),
    "dev.gatewright.key.created": _Kind(*_API, 1, "Create"),
    "dev.gatewright.key.revoked": _Kind(*_API, 4, "Delete"),
    "dev.gatewright.audit.pruned": _Kind(*_API, 4, "Delete"),
}
_SEVERITIES = {  # informational, low, medium, high
    "success": 1,
    "pending": 1,
    "cancelled": 1,
    "failure": 2,
    "error": 3,
    "denied": 3,
}
_SEVERITY_NAMES = {1: "Informational", 2: "Low", 3: "Medium", 4: "High"}
_STATUSES = {"success": (1, "Success"), "pending": (0, "Unknown"), "cancelled": (99, "Cancelled")}
_FAILED = (2, "Failure")
_USERS = {"agent": (1, "User"), "operator": (2, "Admin"), "system": (3, "System")}
_MAPPED = frozenset(
    "seq id time event_type outcome actor target trace_id call method session decision".split()
)


def to_ocsf(record: Mapping[str, Any], gateway: str) -> dict[str, Any]:
    """One OCSF event of a decoded record of the gateway of that name."""
    kind = _KINDS.get(record["event_type"], _CALL)
    category = kind.class_uid // 1000
    outcome = record["outcome"]
    severity = _severity(record)
    status_id, status = _STATUSES.get(outcome, _FAILED)
    return {
        "class_uid": kind.class_uid,
        "class_name": kind.class_name,
        "category_uid": category,
        "category_name": _CATEGORIES[category],
        "activity_id": kind.activity_id,
        "activity_name": kind.activity_name,
        "type_uid": kind.class_uid * 100 + kind.activity_id,
        "type_name": f"{kind.class_name}: {kind.activity_name}",
        "time": _millis(record["time"]),
        "severity_id": severity,
        "severity": _SEVERITY_NAMES[severity],
        "status_id": status_id,
        "status": status,
        **_reason(record),
        "metadata": _metadata(record, gateway),
        "actor": _actor(record),
        **_about(kind, record),
        "unmapped": {name: value for name, value in record.items() if name not in _MAPPED},
    }


def _severity(record: Mapping[str, Any]) -> int:
    """What was refused or broke of a dangerous tool counts one more."""
    found = _SEVERITIES.get(record["outcome"], 1)
    dangerous = record.get("details", {}).get("risk_level") == "dangerous"
    return found + 1 if dangerous and found == _SEVERITIES["denied"] else found


def _metadata(record: Mapping[str, Any], gateway: str) -> dict[str, Any]:
    return {
        "version": SCHEMA,
        "product": {"name": "Gatewright", "vendor_name": "Gatewright", "uid": gateway},
        "uid": record["id"],
        "sequence": record["seq"],
        "correlation_uid": record["trace_id"],
        "event_code": record["event_type"],
        "log_name": "audit",
        "log_version": MAPPING,
    }


def _actor(record: Mapping[str, Any]) -> dict[str, Any]:
    who = record["actor"]
    type_id, named = _USERS.get(who["type"], (_OTHER, who["type"]))
    user = {"name": who["id"], "uid": who["id"], "type_id": type_id, "type": named}
    if "key_id" in who:
        user["credential_uid"] = who["key_id"]
    session = {"session": {"uid": record["session"]}} if record.get("session") else {}
    return {"user": user, **session}


def _reason(record: Mapping[str, Any]) -> dict[str, Any]:
    decision, details = record.get("decision", {}), record.get("details", {})
    reason = decision.get("reason") or details.get("reason")
    gate = {"status_detail": f"refused by the gate {decision['gate']}"} if decision else {}
    return {**({"status_code": str(reason)} if reason else {}), **gate}


def _about(kind: _Kind, record: Mapping[str, Any]) -> dict[str, Any]:
    """The members that only events of this class have."""
    target = record.get("target", {})
    server, tool = target.get("server_id"), target.get("tool_name") or target.get("name")
    if kind.class_uid == _LIFE[0]:
        return {"app": {"name": server or "", "uid": server or "", "vendor_name": "unknown"}}
    if kind.class_uid == _ACCESS[0]:
        return _privileges(record, server, tool)
    asked = record.get("call")
    return {
        "api": {
            "operation": tool or record.get("method") or record["event_type"],
            **({"service": {"name": server}} if server else {}),
            **({"request": {"uid": asked}} if asked else {}),
        },
        "src_endpoint": {"svc_name": record.get("door") or "gatewright"},
        **({"dst_endpoint": {"svc_name": server}} if server else {}),
    }


def _privileges(record: Mapping[str, Any], server: str | None, tool: str | None) -> dict[str, Any]:
    details = record.get("details", {})
    named = details.get("permissions") or [details.get("permission") or tool or "use"]
    whom = str(details.get("agent_id") or server or "")
    place = "/".join(part for part in (server, tool) if part)
    return {
        "user": {"name": whom, "uid": whom},
        "privileges": [str(each) for each in named] if isinstance(named, list) else [str(named)],
        **({"resources": [{"name": place, "uid": place}]} if place else {}),
    }


def _millis(moment: str) -> int:
    return round(datetime.fromisoformat(moment).timestamp() * 1000)
