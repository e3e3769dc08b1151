"""OCSF events of records."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gatewright.audit.ocsf import MAPPING, SCHEMA, to_ocsf
from tests.audit.parts import body


def an_event(**more: Any) -> dict[str, Any]:
    """The event of one record."""
    record = msgspec.json.decode(body(1, **more)) | {"seq": 1, "prev_hash": "0", "hash": "1"}
    return to_ocsf(record, "gw")


@pytest.mark.parametrize(
    ("named", "class_uid", "activity"),
    [
        ("TOOL_EXECUTED", 6003, 99),
        ("TOOL_BLOCKED", 6003, 99),
        ("dev.gatewright.list", 6003, 2),
        ("dev.gatewright.config.applied", 6003, 3),
        ("ACCESS_GRANTED", 3005, 1),
        ("ACCESS_REVOKED", 3005, 2),
        ("PERMISSION_DENIED", 3005, 99),
        ("SERVER_CONNECTED", 6002, 3),
        ("SERVER_DISCONNECTED", 6002, 4),
        ("com.example.custom", 6003, 99),
    ],
)
def test_class_and_activity_follow_from_the_event_type(
    named: str, class_uid: int, activity: int
) -> None:
    event = an_event(event_type=named)
    assert (event["class_uid"], event["activity_id"]) == (class_uid, activity)
    assert event["type_uid"] == class_uid * 100 + activity
    assert event["category_uid"] == class_uid // 1000


def test_every_required_member_of_api_activity_is_there() -> None:
    event = an_event(door="http", method="tools/call", call="c-1")
    assert event["actor"]["user"] == {"name": "ann", "uid": "ann", "type_id": 1, "type": "User"}
    assert event["api"] == {
        "operation": "write_file",
        "service": {"name": "files"},
        "request": {"uid": "c-1"},
    }
    assert event["src_endpoint"] == {"svc_name": "http"}
    assert event["dst_endpoint"] == {"svc_name": "files"}
    assert event["time"] == 1_789_992_000_000
    assert (event["severity_id"], event["status_id"]) == (1, 1)
    metadata = event["metadata"]
    assert (metadata["version"], metadata["log_version"]) == (SCHEMA, MAPPING)
    assert (metadata["uid"], metadata["correlation_uid"]) == ("id-1", "trace-1")
    assert metadata["product"]["name"] == "Gatewright"


def test_a_grant_names_the_user_the_privileges_and_the_resource() -> None:
    event = an_event(
        event_type="ACCESS_GRANTED", details={"agent_id": "bob", "permission": "allow"}
    )
    assert event["user"] == {"name": "bob", "uid": "bob"}
    assert event["privileges"] == ["allow"]
    assert event["resources"] == [{"name": "files/write_file", "uid": "files/write_file"}]


def test_a_server_is_the_application_that_starts() -> None:
    event = an_event(event_type="SERVER_CONNECTED", target={"server_id": "files"})
    assert event["app"]["name"] == "files"


def test_a_refusal_of_a_dangerous_tool_is_high_and_says_why() -> None:
    event = an_event(
        event_type="TOOL_BLOCKED",
        outcome="denied",
        decision={"gate": "access", "reason": "access_denied"},
        details={"risk_level": "dangerous"},
    )
    assert (event["severity"], event["status"]) == ("High", "Failure")
    assert event["status_code"] == "access_denied"
    assert event["status_detail"] == "refused by the gate access"


def test_nothing_of_a_record_is_lost() -> None:
    event = an_event(request={"digest": "d", "bytes": 2}, details={"duration_ms": 2.5})
    assert event["unmapped"] == {
        "request": {"digest": "d", "bytes": 2},
        "details": {"duration_ms": 2.5},
        "prev_hash": "0",
        "hash": "1",
    }
