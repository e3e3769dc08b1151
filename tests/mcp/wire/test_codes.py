"""The table of reasons: complete for every door, and true to the specification's own numbers."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.mcp.wire.codes import REASONS, reason_of, recovery

CANONICAL = {
    "parse_error": (-32700, -32700, -32700),
    "invalid_request": (-32600, -32600, -32600),
    "unsupported_version": (-32600, -32600, -32022),
    "method_not_found": (-32601, -32601, -32601),
    "invalid_params": (-32602, -32602, -32602),
    "internal": (-32603, -32603, -32603),
    "auth_required": (1002, -32004, 1002),
    "auth_failed": (1002, -32004, 1002),
    "auth_expired": (1003, -32004, 1003),
    "bad_security_context": (1000, -32005, "isError"),
    "permission_denied": (1000, -32005, "isError"),
    "access_denied": (1001, -32005, "isError"),
    "policy_violation": (1010, -32001, "isError"),
    "path_not_allowed": (1010, -32001, "isError"),
    "validation_blocked": (1010, -32001, "isError"),
    "code_safety": (1011, -32001, "isError"),
    "destructive_gate": (1000, -32005, "isError"),
    "server_not_ready": (2000, -32003, "isError"),
    "draining": (2001, -32003, "isError"),
    "restarting": (2002, -32003, "isError"),
    "rate_limited": (3000, -32003, "isError"),
    "resource_exhausted": (3001, -32003, "isError"),
    "quota_exceeded": (3002, -32005, "isError"),
    "timeout": (3003, -32003, "isError"),
    "invalid_args": (4000, -32001, -32602),
    "tool_not_found": (4001, -32002, -32602),
    "tool_disabled": (4002, -32002, "isError"),
    "tool_failed": (5000, -32003, "isError"),
    "output_invalid": (5000, -32003, "isError"),
    "upstream_error": (5000, -32003, "isError"),
    "upstream_timeout": (5001, -32003, "isError"),
    "upstream_unavailable": (5002, -32003, "isError"),
    "registration_conflict": (4000, -32001, -32602),
}
"""Decision record, table 2.3: kind → MGP, ggen, plain MCP form of a tool call."""

GATEWAY = [
    "audit_unavailable",
    "cancelled",
    "not_found",
    "session_unknown",
    "origin_refused",
    "host_refused",
    "too_large",
    "header_mismatch",
    "missing_capability",
    "question_unattributable",
    "schema_unusable",
    "limit_exceeded",
]

RETRYABLE = [
    "internal",
    "server_not_ready",
    "draining",
    "restarting",
    "rate_limited",
    "resource_exhausted",
    "timeout",
    "tool_failed",
    "upstream_error",
    "upstream_timeout",
    "upstream_unavailable",
    "permission_deferred",
    "audit_unavailable",
]

RANGES = {1: "security", 2: "lifecycle", 3: "resource", 4: "validation", 5: "external"}

every_reason = pytest.mark.parametrize("name", sorted(REASONS))


@every_reason
def test_every_reason_is_spelled_for_every_door(name: str) -> None:
    row = REASONS[name]
    assert row.name == name
    assert row.mgp_name.isupper()
    assert row.mgp_code
    assert row.tool_result or row.mcp_code
    assert row.mcp_legacy_code
    assert row.ggen_code in {-32700, *range(-32603, -32599), *range(-32005, -32000)}
    assert row.groundhog_type in {f"{kind}_error" for kind in _GROUNDHOG}
    assert row.groundhog_code
    assert row.codomyrmex == "isError" or row.codomyrmex.endswith("Error")
    assert row.codomyrmex_code in {-32700, -32600, -32601, -32602, -32603, -32000}
    assert 400 <= row.http <= 599
    assert row.mcp_http in {200, row.http}
    assert row.exit in {1, 2, 3, 4, 5, 6, 7, 8, 130}


_GROUNDHOG = ("protocol", "security", "tool", "validation", "system")


@pytest.mark.parametrize("name", sorted(CANONICAL))
def test_canonical_kinds_have_the_codes_of_the_decision_record(name: str) -> None:
    row = REASONS[name]
    plain = "isError" if row.tool_result else row.mcp_code
    assert (row.mgp_code, row.ggen_code, plain) == CANONICAL[name]


def test_the_gateway_has_a_reason_for_everything_that_only_a_gateway_meets() -> None:
    assert set(GATEWAY) <= set(REASONS)
    assert REASONS["audit_unavailable"].mgp_code == 3001
    assert REASONS["not_found"].mcp_code == -32602
    assert REASONS["not_found"].mcp_legacy_code == -32002
    assert REASONS["header_mismatch"].mcp_code == -32020
    assert REASONS["missing_capability"].mcp_code == -32021
    assert REASONS["unsupported_version"].mcp_code == -32022
    statuses = {
        "session_unknown": 404,
        "origin_refused": 403,
        "host_refused": 403,
        "too_large": 413,
        "header_mismatch": 400,
        "unsupported_version": 400,
        "method_not_found": 404,
        "auth_required": 401,
    }
    assert {name: REASONS[name].mcp_http for name in statuses} == statuses


def test_the_standard_codes_of_mgp_all_have_a_reason() -> None:
    """MGP-14.3-1 MGP-14.3-2 MGP-14.3-3 MGP-14.3-4 MGP-14.3-5 MGP-14.3-6: the names of the codes."""
    named = {row.mgp_code: row.mgp_name for row in REASONS.values() if row.mgp_code > 0}
    assert named == {
        1000: "PERMISSION_DENIED",
        1001: "ACCESS_DENIED",
        1002: "AUTH_REQUIRED",
        1003: "AUTH_EXPIRED",
        1010: "VALIDATION_BLOCKED",
        1011: "CODE_SAFETY_VIOLATION",
        2000: "SERVER_NOT_READY",
        2001: "SERVER_DRAINING",
        2002: "SERVER_RESTARTING",
        2099: "CANCELLED",
        3000: "RATE_LIMITED",
        3001: "RESOURCE_EXHAUSTED",
        3002: "QUOTA_EXCEEDED",
        3003: "TIMEOUT",
        4000: "INVALID_TOOL_ARGS",
        4001: "TOOL_NOT_FOUND",
        4002: "TOOL_DISABLED",
        5000: "UPSTREAM_ERROR",
        5001: "UPSTREAM_TIMEOUT",
        5002: "UPSTREAM_UNAVAILABLE",
    }


@every_reason
def test_a_code_lies_in_the_range_of_its_category(name: str) -> None:
    """MGP-14.2-2"""
    row = REASONS[name]
    if row.mgp_code > 0:
        assert row.category == RANGES[row.mgp_code // 1000]
    else:
        assert -32768 <= row.mgp_code <= -32000


@every_reason
def test_codes_of_our_own_stay_outside_the_range_that_mcp_reserves(name: str) -> None:
    row = REASONS[name]
    specified = {-32700, -32600, -32601, -32602, -32603, -32020, -32021, -32022}
    assert row.mcp_code in specified or 1000 <= row.mcp_code <= 5099


@every_reason
def test_codes_of_earlier_revisions_are_in_the_ranges_of_json_rpc(name: str) -> None:
    """CDM-con-7: there -32000 to -32099 are a server's, and MCP has taken -32002."""
    row = REASONS[name]
    assert row.mcp_legacy_code in {-32700, *range(-32603, -32599), -32000, -32002}
    assert (row.mcp_legacy_code == -32000) is (row.mcp_code > 0)


def test_exactly_these_reasons_may_be_retried() -> None:
    assert {name for name, row in REASONS.items() if row.retryable} == set(RETRYABLE)


def test_a_rate_limit_error_has_the_recovery_object_of_the_specification() -> None:
    """MGP-14.4-1 MGP-14.5-1: the object of the specification's own example."""
    details = {"limit": 10, "window_secs": 60, "current": 12}
    assert recovery("rate_limited", details=details, retry_after_ms=5000) == {
        "category": "resource",
        "retryable": True,
        "retry_after_ms": 5000,
        "retry_strategy": "exponential_backoff",
        "max_retries": 3,
        "details": {"limit": 10, "window_secs": 60, "current": 12},
    }


@every_reason
def test_every_recovery_object_uses_the_words_of_the_specification(name: str) -> None:
    """MGP-14.5-2"""
    found = recovery(name, retry_after_ms=7, fallback_tool="other")
    assert found["category"] in RANGES.values()
    assert found["fallback_tool"] == "other"
    assert found["details"] == {}
    if found["retryable"]:
        assert found["retry_after_ms"] == 7
        assert found["retry_strategy"] in {"immediate", "fixed_delay", "exponential_backoff"}
        assert found["max_retries"] >= 1
    else:
        assert not found.keys() & {"retry_after_ms", "retry_strategy", "max_retries"}


def test_without_advice_a_retryable_reason_still_says_how_long_to_wait() -> None:
    assert recovery("restarting")["retry_after_ms"] == 1000


def test_details_are_copied_so_that_no_caller_can_change_a_record() -> None:
    details = {"tool": "echo"}
    found = recovery("access_denied", details=details)
    details["tool"] = "other"
    assert found["details"] == {"tool": "echo"}


@given(st.text())
def test_a_reason_that_nobody_defined_is_an_internal_error(name: str) -> None:
    assert reason_of(name) is REASONS.get(name, REASONS["internal"])


def test_the_table_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        REASONS["internal"] = REASONS["cancelled"]  # type: ignore[index]
    with pytest.raises(AttributeError):
        REASONS["internal"].http = 200  # type: ignore[misc]


def test_a_recovery_object_is_json() -> None:
    for name in REASONS:
        assert msgspec.json.decode(msgspec.json.encode(recovery(name))) == recovery(name)
