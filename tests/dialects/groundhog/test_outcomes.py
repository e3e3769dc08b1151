from __future__ import annotations

import json
from typing import Any

import pytest

from gatewright.call import Answer, Failure, Refusal
from gatewright.dialects.groundhog.outcomes import (
    Written,
    data_of,
    failure_of,
    listed,
    said_by_tool,
    spell_error,
    succeeded,
)
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.codes import REASONS
from gatewright.mcp.wire.groundhog import META_TOOL

WRITTEN = Written("audit-xyz789", "2024-01-01T12:00:00Z")
LEVELS = ("system", "verified", "community", "untrusted")
REFUSED = Refusal(
    "path_not_allowed",
    "Access to the specified path is not permitted",
    {
        "requested_path": "/etc/passwd",
        "reason": "Path not in allowed list",
        "suggestion": "Request access to an allowed directory",
        "server": "files",
    },
    gate="roots",
)


def spelled(outcome: Refusal | Failure, trust: str = "verified", **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(spell_error(outcome, trust, WRITTEN, **more))
    return found


def answer(result: Any, error: bool = False) -> Answer:
    return Answer(jsonrpc.encode(result), error)


def test_the_error_of_the_specification_is_spelled_as_it_is_printed() -> None:
    """GRH-msg-8 and GRH-msg-9."""
    assert spelled(REFUSED) == {
        "code": -32601,
        "message": "Tool execution failed",
        "data": {
            "error_type": "security_error",
            "error_code": "path_not_allowed",
            "error_message": "Access to the specified path is not permitted",
            "details": {
                "requested_path": "/etc/passwd",
                "reason": "Path not in allowed list",
                "suggestion": "Request access to an allowed directory",
            },
            "security_context": {
                "violation_type": "unauthorized_access",
                "audit_id": "audit-xyz789",
            },
            "timestamp": "2024-01-01T12:00:00Z",
        },
    }


def test_four_users_read_four_bodies_each_less_than_the_one_before() -> None:
    """GRH-err-12, GRH-err-13, GRH-err-14 and GRH-err-15."""
    full, verified, community, minimal = (spelled(REFUSED, one)["data"] for one in LEVELS)
    assert full["details"]["server"] == "files"
    assert full["details"]["gate"] == "roots"
    assert full["details"]["requested_path"] == "/etc/passwd"
    assert "server" not in verified["details"]
    assert "gate" not in verified["details"]
    assert set(community) == {"error_type", "error_code", "error_message"}
    assert set(minimal) == {"error_type", "error_code"}
    for less, more in ((minimal, community), (community, verified), (verified, full)):
        assert set(less) <= set(more)
        assert len(json.dumps(less)) < len(json.dumps(more))
    assert spelled(REFUSED, "untrusted")["message"] == "Request failed"


@pytest.mark.parametrize("reason", sorted(REASONS))
@pytest.mark.parametrize("level", LEVELS)
def test_every_reason_can_be_told_at_every_level(reason: str, level: str) -> None:
    """GRH-err-1."""
    row = REASONS[reason]
    details = {"host": "10.0.0.1", "stack": "trace", "grant": "config"}
    found = spelled(Failure(reason, "what happened", details), level)
    assert found["data"]["error_type"] == row.groundhog_type
    assert found["data"]["error_code"] == row.groundhog_code
    if level != "system":
        assert not {"10.0.0.1", "trace", "config"} & {*_words(found)}


def _words(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [word for one in value.values() for word in _words(one)]
    return [str(value)]


@pytest.mark.parametrize(
    ("reason", "violation"),
    [
        ("auth_failed", "authentication_failure"),
        ("auth_expired", "authentication_failure"),
        ("bad_security_context", "forged_context"),
        ("rate_limited", "rate_limit"),
        ("policy_violation", "policy_violation"),
        ("permission_denied", "unauthorized_access"),
        ("access_denied", "unauthorized_access"),
        ("timeout", None),
        ("internal", None),
    ],
)
def test_the_kind_of_violation_is_told_of_security_errors_alone(
    reason: str, violation: str | None
) -> None:
    """GRH-err-6, GRH-err-7, GRH-err-8, GRH-err-9 and GRH-err-10."""
    context = spelled(Refusal(reason, "no"))["data"]["security_context"]
    assert context.get("violation_type") == violation
    assert context["audit_id"] == "audit-xyz789"


def test_who_may_repeat_a_request_is_told_when() -> None:
    """GRH-err-8."""
    limited = Refusal("rate_limited", "slow down", retry_after_ms=1500)
    assert spelled(limited)["data"]["details"]["retry_after_ms"] == 1500
    assert "retry_after_ms" not in spelled(REFUSED)["data"]["details"]
    lost = Failure("upstream_timeout", "no answer", once=True)
    assert "retry_after_ms" not in spelled(lost)["data"]["details"]


def test_numbers_are_mgps_with_the_strict_switch() -> None:
    assert spelled(REFUSED, strict=True)["code"] == 1010
    assert spelled(Refusal("rate_limited", "no"), strict=True)["code"] == 3000


def test_success_has_the_members_of_the_specification_and_no_others() -> None:
    """GRH-msg-6."""
    said, facts = answer({"structuredContent": {"n": 1}}), {"permissions_used": ["filesystem.read"]}
    expected = {
        "tool_id": "t",
        "execution_id": "exec-789",
        "status": "success",
        "data": {"n": 1},
        "security_context": {
            "access_granted": True,
            "permissions_used": ["read:filesystem"],
            "audit_id": "a",
        },
    }
    assert json.loads(succeeded(said, "t", facts, "exec-789", "a")) == expected
    cleaned = {**facts, "redaction": {"original_size": 2}}
    assert json.loads(succeeded(said, "t", cleaned, "exec-789", "a")) == {
        **expected,
        "metadata": {"original_size": 2},
    }


@pytest.mark.parametrize(
    ("fact", "told"),
    [
        ({"signals": {"b": "words", "a": "more"}, "says": ["it"]}, {"signals": ["a", "b"]}),
        ({"unread": "too many wait"}, {"unread": True}),
    ],
)
def test_what_speaks_to_the_model_is_told_beside_what_was_taken_out(
    fact: dict[str, Any], told: dict[str, Any]
) -> None:
    facts = {"injection": fact, "redaction": {"original_size": 2}}
    said = json.loads(succeeded(answer({}), "t", facts, "e", "a"))
    assert said["metadata"] == {"original_size": 2, "injection": told}


@pytest.mark.parametrize(
    ("result", "data"),
    [
        (
            {"content": [{"type": "text", "text": "x"}]},
            {"content": [{"type": "text", "text": "x"}]},
        ),
        ({"content": [], "structuredContent": {"a": [1]}}, {"a": [1]}),
        ({"structuredContent": None}, None),
        ({}, {"content": []}),
        ([1], [1]),
    ],
)
def test_data_is_the_structure_or_else_the_content(result: Any, data: Any) -> None:
    assert jsonrpc.decode(jsonrpc.encode(data_of(jsonrpc.encode(result)))) == data


def test_a_failure_is_told_in_the_words_of_whoever_failed() -> None:
    """GRH-err-1."""
    blocks = [{"type": "text", "text": "one"}, {"type": "image"}, {"type": "text", "text": "two"}]
    failed = said_by_tool(answer({"content": blocks, "isError": True}, True))
    assert (failed.reason, failed.message) == ("tool_failed", "one\ntwo")
    assert failed.details == {"content": blocks}
    assert said_by_tool(answer({}, True)).message == "the tool failed and did not say why"
    own = failure_of(Failure("upstream_error", error=b'{"code":-1,"message":"gone fishing"}'))
    assert own.message == "gone fishing"
    assert failure_of(Failure("upstream_error", error=b"7")).message == "the tool's server failed"
    assert failure_of(REFUSED) is REFUSED


def test_a_listed_tool_has_groundhogs_members() -> None:
    """GRH-msg-2."""
    meta = {"name": "list", "version": "1.0.0", "permissions": ["filesystem.read"]}
    tools = [
        {
            "name": "srv__list",
            "description": "d",
            "inputSchema": {"a": 1},
            "_meta": {META_TOOL: meta},
        },
        {"name": "bare"},
    ]
    found = json.loads(listed(answer({"tools": tools, "total_matches": 2, "search_time": 0.1})))
    assert (found["total_matches"], found["search_time"]) == (2, 0.1)
    assert found["tools"][0] == {
        "tool_id": "srv__list",
        "name": "list",
        "version": "1.0.0",
        "description": "d",
        "author": "",
        "categories": [],
        "trust_level": "untrusted",
        "security_profile": {
            "permissions": ["read:filesystem"],
            "sandbox_level": "none",
            "resource_limits": {},
        },
        "schema": {"input": {"a": 1}, "output": {}},
    }
    assert found["tools"][1]["name"] == "bare"
