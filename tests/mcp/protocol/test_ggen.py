"""What ggen's requests mean, and how results and errors read there."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.call import Answer, Failure, Refusal
from gatewright.mcp.protocol import ggen
from gatewright.mcp.wire.codes import REASONS
from gatewright.mcp.wire.json_bounds import Limits
from gatewright.transport.slices import whole

LIMITS = Limits()


def request(method: str = "tools/list", params: Any = None, **more: Any) -> bytes:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}, **more}
    return json.dumps(body).encode()


def asked(body: bytes, header: str | None = None) -> ggen.Asked:
    found = ggen.read(body, LIMITS, header)
    assert isinstance(found, ggen.Asked), found
    return found


def refused(body: bytes, header: str | None = None) -> str:
    found = ggen.read(body, LIMITS, header)
    assert isinstance(found, ggen.Flawed), found
    return found.refusal.reason


def test_the_credential_stands_beside_the_call_and_not_in_it() -> None:
    """GGEN-auth-12, GGEN-auth-13: what goes on to the kernel has no such member, nor has a repr."""
    auth = {"type": "bearer", "token": "sk-secret"}
    found = asked(request("tools/call", {"name": "x"}, auth=auth))
    assert found.credential == "sk-secret"
    assert found.inbound.params == {"name": "x"}
    assert "sk-secret" not in repr(found.inbound)
    assert "sk-secret" not in repr(found)


@pytest.mark.parametrize(
    ("auth", "header", "credential"),
    [
        (None, None, None),
        (None, "k", "k"),
        ({"type": "bearer", "token": "k"}, None, "k"),
        ({"type": "Bearer", "token": "k"}, "k", "k"),
    ],
)
def test_one_credential_counts_wherever_it_stands(
    auth: Any, header: str | None, credential: str | None
) -> None:
    """GGEN-auth-12."""
    assert asked(request(auth=auth), header).credential == credential


@pytest.mark.parametrize(
    "auth",
    [
        "sk-1",
        7,
        [],
        {},
        {"type": "bearer"},
        {"token": "k"},
        {"type": "basic", "token": "k"},
        {"type": "bearer", "token": 7},
        {"type": "bearer", "token": ""},
        {"type": "bearer", "token": "other"},
    ],
)
def test_an_auth_that_is_none_is_no_reason_to_look_elsewhere(auth: Any) -> None:
    """GGEN-auth-12: fail closed, and never say what was sent."""
    found = ggen.read(request(auth=auth), LIMITS, "k")
    assert isinstance(found, ggen.Flawed)
    assert found.refusal.reason == "auth_failed"
    assert "sk-1" not in found.refusal.message


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"{", "parse_error"),
        (b"7", "invalid_request"),
        (b'{"jsonrpc":"2.0","id":1}', "invalid_request"),
        (b'{"jsonrpc":"2.0","id":1,"result":{}}', "invalid_request"),
        (request("initialize"), "method_not_found"),
        (request("prompts/list"), "method_not_found"),
        (request("tools/list", [1]), "invalid_params"),
        (request("tools/call"), "invalid_params"),
        (request("tools/call", {"name": 7}), "invalid_params"),
        (request("tools/call", {"name": "x", "arguments": [1]}), "invalid_params"),
        (request("tools/call", {"name": "x", "_meta": 1}), "invalid_params"),
        (request("tools/validate", {"name": "x", "arguments": "AAPL"}), "invalid_params"),
        (request("tools/validate", {"arguments": {}}), "invalid_params"),
        (request("resources/read", {"uri": 7}), "invalid_params"),
    ],
)
def test_what_cannot_be_meant_is_named(body: bytes, reason: str) -> None:
    """GGEN-err-1, GGEN-err-2, GGEN-err-3, GGEN-err-4."""
    assert refused(body) == reason


def test_a_notification_is_not_answered() -> None:
    assert ggen.read(b'{"jsonrpc":"2.0","method":"tools/list"}', LIMITS, None) is None


@given(st.binary(max_size=200))
def test_whatever_comes_in_is_read(body: bytes) -> None:
    ggen.read(body, LIMITS, None)
    assert isinstance(ggen.says_auth(body), bool)


@pytest.mark.parametrize(
    ("body", "is_ggen"),
    [
        (request(auth={}), True),
        (request(), False),
        (request(params={"auth": 1}), False),
        (b'{"auth":{}}', False),
        (b"[" + request(auth={}) + b"]", True),
        (b"[]", False),
        (b'["auth"]', False),
        (b'{"auth"', False),
    ],
)
def test_a_message_is_known_by_its_auth(body: bytes, is_ggen: bool) -> None:
    assert ggen.says_auth(body) is is_ggen


@pytest.mark.parametrize(
    ("result", "output"),
    [
        ('{"content":[],"structuredContent":{"a": 1.10}}', '{"a": 1.10}'),
        ('{"content":[{"type":"text","text":"hi"}]}', '"hi"'),
        ('{"content":[{"type":"text","text":"{}"}]}', '"{}"'),
        ('{"content":[]}', "[]"),
        ('{"content":[{"type":"image","data":""}]}', '[{"type":"image","data":""}]'),
        ('{"content":7}', "7"),
    ],
)
def test_a_result_is_what_the_tool_gave(result: str, output: str) -> None:
    """GGEN-core-3, decision C-35: unwrapped, and otherwise as it was written."""
    assert ggen.output_of(result.encode()) == output.encode()


def test_each_tool_of_a_list_has_the_three_promised_members() -> None:
    """GGEN-core-2."""
    raw = b'{"tools":[{"name":"a","title":"A"},{"name":"b","description":"B","inputSchema":{}}]}'
    found = json.loads(whole(ggen.described(raw)))
    bare = {"description": "", "inputSchema": {"type": "object"}}
    assert found["tools"] == [
        {"name": "a", "title": "A", **bare},
        {"name": "b", "description": "B", "inputSchema": {}},
    ]


@pytest.mark.parametrize("reason", sorted(REASONS))
def test_every_reason_has_a_code_and_a_type_of_ggens(reason: str) -> None:
    """GGEN-err-1 … GGEN-err-10, CDM-con-7: JSON-RPC's own numbers, or one of its range for servers."""
    text, row = ggen.error_of(Refusal(reason, "because"), "t-1", tool="x")
    error = json.loads(text)
    assert error["code"] == row.ggen_code
    for code in (error["code"], row.codomyrmex_code):
        assert code in (-32700, *range(-32603, -32599)) or -32099 <= code <= -32000
    assert error["data"] | {"reason": "because", "trace_id": "t-1", "kind": reason} == error["data"]
    assert error["data"]["retryable"] is row.retryable


def test_a_fault_of_ours_may_be_asked_for_again_unless_it_may_have_run() -> None:
    """GGEN-err-5: `InternalError` is retryable, with the time after which; decision 0039 takes that back for what may have run."""
    for failure, again in ((Failure("internal"), True), (Failure("internal", once=True), False)):
        error = json.loads(ggen.error_of(failure, "t")[0])
        assert (error["code"], error["data"]["error_type"]) == (-32603, "InternalError")
        assert error["data"]["retryable"] is again
        assert ("retry_after_ms" in error["data"]) is again


def test_a_time_limit_reads_as_in_the_specification() -> None:
    """GGEN-to-6."""
    failure = Failure("upstream_timeout", "too long", {"timeout_ms": 30000})
    error = json.loads(ggen.error_of(failure, "req-12345", tool="FinancialAnalyzer")[0])
    example: dict[str, Any] = {
        "code": -32003,
        "message": "Tool execution timeout",
        "data": {
            "error_type": "ToolTimeout",
            "tool_name": "FinancialAnalyzer",
            "timeout_ms": 30000,
            "trace_id": "req-12345",
            "suggestions": [
                "Increase timeout for long-running analysis",
                "Check tool server health",
                "Break request into smaller chunks",
            ],
        },
    }
    assert error | {"data": error["data"] | example["data"]} == error
    assert {name: error[name] for name in ("code", "message")} == {
        name: example[name] for name in ("code", "message")
    }


def test_the_short_example_is_part_of_what_is_said() -> None:
    """GGEN-err-12, decision C-03: its data, under the code of the table."""
    flaw: dict[str, Any] = {
        "error_type": "ValidationError",
        "field": "ticker_symbol",
        "reason": "Pattern mismatch: expected ^[A-Z]{1,5}$, got 'invalid123'",
        "suggestions": [],
        "documentation_url": None,
    }
    refusal = Refusal("invalid_args", "no")
    error = json.loads(ggen.error_of(refusal, "req-12345", flaws=[flaw])[0])
    short = {name: flaw[name] for name in ("error_type", "field", "reason")}
    assert error["code"] == -32001
    assert error["data"] | short | {"trace_id": "req-12345"} == error["data"]


def test_a_servers_own_error_keeps_its_words() -> None:
    """GGEN-err-8."""
    own = Failure("upstream_error", "x", error=b'{"code":-32050,"message":"no analyst today"}')
    error = json.loads(ggen.error_of(own, "t", method="tools/call")[0])
    assert (error["code"], error["data"]["reason"]) == (-32003, "no analyst today")
    gone = Failure("upstream_error", "x", error=b'{"code":-32602,"message":"gone"}')
    error = json.loads(ggen.error_of(gone, "t", method="resources/read")[0])
    assert (error["code"], error["data"]["kind"]) == (-32002, "not_found")
    for raw in (b"[1]", b'"no"', b"null"):
        none = Failure("upstream_error", "it broke", error=raw)
        found = json.loads(ggen.error_of(none, "t", method="resources/read")[0])
        assert found["data"]["reason"] == "it broke"
    odd = Failure("upstream_error", "it broke", error=b"7")
    assert json.loads(ggen.error_of(odd, "t")[0])["data"]["reason"] == "it broke"


@pytest.mark.parametrize(
    ("data", "limit"),
    [
        ({"_mgp": {"details": {"timeout_ms": 1000, "tool_name": "x"}}}, 1000),
        ({"_mgp": {"details": {"timeout_ms": "soon"}}}, None),
        ({"_mgp": {"details": 7}}, None),
        ([1], None),
        (None, None),
    ],
)
def test_a_time_limit_of_the_server_itself_is_one(data: Any, limit: int | None) -> None:
    """GGEN-to-6, for a server that speaks MGP and stopped its tool before the gateway did."""
    raw = json.dumps({"code": 3003, "message": "slow did not end within 1 s", "data": data})
    late = Failure("upstream_error", "x", error=raw.encode(), mgp=True)
    error = json.loads(ggen.error_of(late, "t", method="tools/call", tool="slow")[0])
    assert (error["code"], error["message"]) == (-32003, "Tool execution timeout")
    told = {name: error["data"][name] for name in ("error_type", "tool_name", "timeout_ms")}
    assert told == {"error_type": "ToolTimeout", "tool_name": "slow", "timeout_ms": limit}
    assert len(error["data"]["suggestions"]) == 3
    foreign = Failure("upstream_error", "x", error=raw.encode())
    error = json.loads(ggen.error_of(foreign, "t", method="tools/call", tool="slow")[0])
    assert error["data"]["error_type"] != "ToolTimeout"  # 3003 of a server that never heard of MGP


def test_a_tool_that_says_it_failed_is_an_execution_error() -> None:
    """GGEN-err-8: its own words are the reason."""
    said = msgspec.json.encode({"content": [{"type": "text", "text": "boom"}], "isError": True})
    failure = ggen.tool_error_of(Answer(said, tool_error=True))
    assert (failure.reason, failure.message) == ("tool_failed", "boom")
