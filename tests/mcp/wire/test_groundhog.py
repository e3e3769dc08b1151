from __future__ import annotations

from typing import Any

import pytest

from gatewright.mcp.wire import groundhog as hog
from gatewright.mcp.wire.codes import REASONS
from gatewright.mcp.wire.groundhog import Claims, Flaw, Hello, Invoke, Listing, Register, read

INVOKE: dict[str, Any] = {
    "tool_id": "directory_list",
    "tool_version": "1.0.0",
    "parameters": {"path": "./src", "recursive": True, "max_depth": 3},
    "security_context": {
        "user_id": "user123",
        "session_id": "session456",
        "permissions": ["read:filesystem"],
    },
}


def asked(method: str, params: Any) -> Any:
    return read(method, params, hog.VERSION)


def flaw(method: str, params: Any) -> Flaw:
    found = asked(method, params)
    assert isinstance(found, Flaw), found
    return found


def test_the_requests_of_the_specification_are_read_whole() -> None:
    """GRH-msg-2, GRH-msg-3 and GRH-msg-5."""
    claims = Claims("user123", "session456", ("read:filesystem",))
    assert asked("tools/invoke", INVOKE) == Invoke(
        "directory_list", "1.0.0", INVOKE["parameters"], claims
    )
    listing = {"category": "filesystem", "trust_level": "verified"}
    assert asked("tools/list", listing) == Listing(listing, Claims())
    register: dict[str, Any] = {"tool_metadata": {}, "security_profile": {}, "schema": {}}
    around = {**register, "protocol_version": "1.0.0", "security_context": {"user_id": "u"}}
    assert asked("tools/register", around) == Register(register, Claims("u"))


def test_what_is_left_out_or_null_is_not_there() -> None:
    assert asked("tools/invoke", {"tool_id": "t"}) == Invoke("t", None, {}, Claims())
    nulls = {"tool_version": None, "parameters": None, "security_context": None}
    assert asked("tools/invoke", {"tool_id": "t", **nulls}) == Invoke("t", None, {}, Claims())
    nulls = {"category": None, "trust_level": None, "query": None, "limit": None}
    assert asked("tools/list", nulls) == Listing({}, Claims())
    mine = Claims(session="s")
    context = {"security_context": {"session_id": "s"}}
    assert asked("session/get", {"session_id": None, **context}) == Hello(None, mine)
    assert asked("tools/list", {"query": None}) == Listing({}, Claims())


def test_permissions_that_are_not_named_are_not_none() -> None:
    """GRH-sec-9: no member asks for whatever is held, an empty list for nothing."""
    assert asked("tools/list", {"security_context": {}}).claims.permissions is None
    assert asked("tools/list", {"security_context": {"permissions": []}}).claims.permissions == ()


def test_a_session_is_named_beside_or_in_the_context() -> None:
    assert asked("session/create", {"token": "k"}) == Hello("k", Claims())
    named = asked("session/get", {"session_id": "s"})
    assert named == asked("session/get", {"security_context": {"session_id": "s"}})
    assert named.claims.session == "s"


@pytest.mark.parametrize("method", ["tools/call", "", "TOOLS/LIST", "tools/list "])
def test_a_method_that_nobody_knows_is_named_with_those_that_there_are(method: str) -> None:
    """GRH-err-5."""
    found = flaw(method, {})
    assert found.reason == "method_not_found"
    assert "tools/invoke" in found.message


@pytest.mark.parametrize("version", ["0.9", "2.0.0", "", 1, None, ["1.0.0"]])
def test_another_protocol_version_is_not_spoken(version: Any) -> None:
    """GRH-err-3 and GRH-cfg-1."""
    found = flaw("tools/list", {"protocol_version": version})
    assert (found.reason, found.details["supported"]) == ("unsupported_version", ["1.0.0"])
    assert isinstance(read("tools/list", {"protocol_version": "7"}, "7"), Listing)


@pytest.mark.parametrize("params", [{}, {"tool_id": ""}, {"tool_id": 7}, {"tool_id": None}])
def test_missing_fields_are_named(params: dict[str, Any]) -> None:
    """GRH-err-4."""
    found = flaw("tools/invoke", params)
    assert (found.reason, found.details) == ("invalid_params", {"missing_fields": ["tool_id"]})
    assert "tool_id" in found.message


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/list", []),
        ("tools/list", "x"),
        ("tools/list", {"category": 1}),
        ("tools/list", {"limit": 0}),
        ("tools/list", {"limit": "1"}),
        ("tools/list", {"limit": True}),
        ("tools/list", {"limit": hog.LISTED_MOST + 1}),
        ("tools/list", {"security_context": "me"}),
        ("tools/list", {"security_context": {"user_id": 1}}),
        ("tools/list", {"security_context": {"session_id": "x" * 129}}),
        ("tools/list", {"security_context": {"session_id": "a\nb"}}),
        ("tools/list", {"security_context": {"permissions": "all"}}),
        ("tools/list", {"security_context": {"permissions": [1]}}),
        ("tools/list", {"security_context": {"permissions": ["x"] * 257}}),
        ("tools/invoke", {"tool_id": "t", "parameters": [1]}),
        ("tools/invoke", {"tool_id": "t", "tool_version": 1}),
        ("tools/invoke", {"tool_id": "t" * 300}),
        ("session/create", {"token": 1}),
        ("session/create", {"session_id": ""}),
        ("session/create", {"session_id": 7}),
    ],
)
def test_a_member_of_a_wrong_kind_is_an_invalid_message(method: str, params: Any) -> None:
    """GRH-err-2 and GRH-test-4."""
    assert flaw(method, params).reason == "invalid_request"


def test_numbers_of_errors_are_those_of_the_example() -> None:
    """GRH-msg-9: tool and security failures alike (decision C-02)."""
    found = {
        (row.groundhog_type, row.groundhog_code): hog.code_of(
            row.groundhog_type, row.groundhog_code
        )
        for row in REASONS.values()
    }
    for (kind, code), number in found.items():
        if kind in {"tool_error", "security_error"}:
            assert number == -32601, code
    assert found["protocol_error", "invalid_method"] == -32601
    assert found["protocol_error", "missing_fields"] == -32602
    assert found["validation_error", "schema"] == -32602
    assert found["system_error", "internal"] == -32603


def test_every_reason_has_one_of_the_five_categories() -> None:
    """GRH-err-1."""
    kinds = {row.groundhog_type for row in REASONS.values()}
    assert kinds == {
        "protocol_error",
        "security_error",
        "tool_error",
        "validation_error",
        "system_error",
    }
