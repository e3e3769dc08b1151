"""How an outcome is spelled: for plain MCP, for each era of it, and for who negotiated MGP."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gatewright.call import Answer, Client, Failure, Mgp, Refusal
from gatewright.mcp.protocol.outcomes import Spelled, spell, spell_error, spell_reason
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.codes import REASONS, recovery
from gatewright.mcp.wire.headers_and_meta import ERROR_ORIGIN, META_SERVER_INFO

OLD, NEW = Client("2025-11-25"), Client("2026-07-28")
MGP = Mgp("0.2.0", ("security",))
OLD_MGP, NEW_MGP = Client("2025-11-25", mgp=MGP), Client("2026-07-28", mgp=MGP)
ALL = [OLD, NEW, OLD_MGP, NEW_MGP]
INFO = {"name": "gw", "version": "1"}
CATEGORIES = {"security", "lifecycle", "resource", "validation", "external"}
STRATEGIES = {"immediate", "fixed_delay", "exponential_backoff"}


def spelled(outcome: Any, client: Client, method: str = "tools/call") -> Spelled:
    return spell(outcome, method, client, "t-1", INFO)


def error(outcome: Any, client: Client, method: str = "tools/call") -> Any:
    found = spelled(outcome, client, method)
    assert not found.result
    return jsonrpc.decode(found.error)


def result(outcome: Any, client: Client) -> Any:
    found = spelled(outcome, client)
    assert (found.error, found.http) == (b"", 200)
    return jsonrpc.decode(found.result)


# -- refusals


def test_a_model_reads_a_refused_tool_call_as_a_tool_error() -> None:
    refusal = Refusal("access_denied", "not for you", {"tool": "x"})
    text = 'not for you\n{"reason":"access_denied","trace_id":"t-1","details":{"tool":"x"}}'
    plain = {"content": [{"type": "text", "text": text}], "isError": True}
    assert result(refusal, OLD) == plain
    modern = {"resultType": "complete", **plain, "_meta": {META_SERVER_INFO: INFO}}
    assert result(refusal, NEW) == modern


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18"])
def test_revisions_before_2025_11_25_have_flawed_arguments_as_an_error(revision: str) -> None:
    """Decision C-61. Whatever else a model should read it reads there too."""
    client = Client(revision)
    assert error(Refusal("invalid_args", "no"), client)["code"] == -32602
    assert result(Refusal("access_denied", "no"), client)["isError"] is True


@pytest.mark.parametrize("method", ["prompts/get", "resources/read", "tools/list", "x/y"])
def test_what_is_no_tool_call_is_refused_with_an_error(method: str) -> None:
    refusal = Refusal("access_denied", "not for you")
    data = {"reason": "access_denied", "trace_id": "t-1"}
    for client, code, more in ((OLD, -32000, {"error_type": "AccessError"}), (NEW, 1001, {})):
        assert error(refusal, client, method) == {
            "code": code,
            "message": "not for you",
            "data": data | more,
        }


def test_who_negotiated_mgp_reads_every_refusal_as_an_error_that_says_what_to_do() -> None:
    """MGP-14.4-1 and MGP-14.5-1: the example of the specification, a rate limit."""
    details = {"limit": 60, "window_secs": 60, "current": 61}
    refusal = Refusal("rate_limited", "slow down", details, retry_after_ms=1500)
    for client in (OLD_MGP, NEW_MGP):
        assert error(refusal, client) == {
            "code": 3000,
            "message": "slow down",
            "data": {
                "reason": "rate_limited",
                "trace_id": "t-1",
                "_mgp": {
                    "category": "resource",
                    "retryable": True,
                    "retry_after_ms": 1500,
                    "retry_strategy": "exponential_backoff",
                    "max_retries": 3,
                    "details": details,
                },
            },
        }


@pytest.mark.parametrize("reason", sorted(REASONS))
def test_every_reason_is_spelled_for_every_caller(reason: str) -> None:
    """MGP-14.4-1 and MGP-14.5-2."""
    row = REASONS[reason]
    for client in ALL:
        found = spelled(Refusal(reason, "why"), client)
        if client.mgp is not None:
            body = jsonrpc.decode(found.error)
            help_ = body["data"]["_mgp"]
            assert body["code"] == row.mgp_code
            assert help_["category"] in CATEGORIES
            assert help_.get("retry_strategy", "immediate") in STRATEGIES
            assert ("retry_after_ms" in help_) is help_["retryable"] is row.retryable
        elif row.tool_result or reason == "invalid_args":
            assert jsonrpc.decode(found.result)["isError"] is True
        else:
            code = row.mcp_code if client is NEW else row.mcp_legacy_code
            if reason == "not_found":
                code = -32602  # a tool is no resource
            body = jsonrpc.decode(found.error)
            assert (body["code"], "_mgp" in body["data"]) == (code, False)
        assert b"_mgp" not in found.result
        told = client in (NEW, NEW_MGP) or reason == "insufficient_scope"
        assert found.http == (row.mcp_http if told and found.error else 200)


def test_a_token_that_is_not_enough_is_told_what_would_be_in_every_revision() -> None:
    """RFC 6750 §3.1: the scopes stand in a header, so they leave the body."""
    for client in ALL:
        found = spelled(Refusal("insufficient_scope", "why", {"scope": "a b"}), client)
        assert (found.http, found.scope) == (403, "a b")
        assert spelled(Refusal("access_denied", "why", {"scope": "a b"}), client).scope == ""


def test_a_reason_that_nobody_defined_is_an_internal_error() -> None:
    assert error(Refusal("no_such_reason", ""), OLD)["code"] == -32603


def test_a_retryable_refusal_says_when() -> None:
    """CDM-con-7: with the class of the error where the number says nothing."""
    data = {"reason": "server_not_ready", "trace_id": "t", "retry_after_ms": 1000}
    for client, code, more in ((NEW, 2000, {}), (OLD, -32000, {"error_type": "TransportError"})):
        soon = spell_reason(Failure("server_not_ready"), "tools/list", client, "t", INFO)
        assert jsonrpc.decode(soon.error) == {
            "code": code,
            "message": "server not ready",
            "data": data | more,
        }


@pytest.mark.parametrize("client", ALL)
def test_a_missing_resource_is_named_where_mcp_says(client: Client) -> None:
    """MGP-1.2-1: by the code of the caller's revision, with MGP and without it."""
    found = error(Failure("not_found", "no", {"uri": "u"}), client, "resources/read")
    assert found["code"] == (-32602 if client in (NEW, NEW_MGP) else -32002)
    assert found["data"]["uri"] == "u"


# -- answers


def test_an_answer_is_the_very_bytes_of_its_owner() -> None:
    raw = b'{"content":[],"n":1.50,"x":null}'
    assert spelled(Answer(raw), OLD) == Spelled(raw)


def test_members_of_mgp_are_seen_by_who_asked_for_them() -> None:
    """MGP-1.3-2; mirrored where SDKs keep them (C-50)."""
    raw = b'{"content":[],"_mgp":{"n":1.50},"_meta":{"x":1}}'
    assert spelled(Answer(raw), OLD).result == b'{"content":[],"_meta":{"x":1}}'
    mirrored = b'"_meta":{"x":1,"dev.cloto/mgp":{"n":1.50}}}'
    assert spelled(Answer(raw), OLD_MGP).result == b'{"content":[],"_mgp":{"n":1.50},' + mirrored
    inside = b'{"content":[{"type":"text","text":"\\"_mgp\\" and \\"_mgp\\""}],"x":{"_mgp":1}}'
    assert spelled(Answer(inside), OLD).result == inside


@pytest.mark.parametrize(
    "raw", [b'{"_mgp":1,"_meta":null}', b'["_mgp"]', b'"_mgp"', b'{"x":"_mgp"}']
)
def test_a_result_of_odd_shape_does_not_break_the_spelling(raw: bytes) -> None:
    for client in ALL:
        found = spelled(Answer(raw), client, "x/y").result
        assert isinstance(jsonrpc.decode(found), type(jsonrpc.decode(raw)))
        if client.mgp is None and raw.startswith(b"{"):
            assert b'"_mgp":' not in found


# -- errors of servers


def failed(body: bytes) -> Failure:
    return Failure("upstream_error", "the server answered with an error", error=body)


def test_a_servers_own_error_stays_as_it_is() -> None:
    body = b'{"code":-32000,"message":"m","data":{"n":1.50},"x":null}'
    assert spelled(failed(body), OLD) == Spelled(error=body)
    assert spelled(failed(body), NEW) == Spelled(error=body)


@pytest.mark.parametrize(
    ("code", "http"),
    [
        (-32601, 404),
        (-32602, 400),
        (-32020, 400),
        (-32021, 400),
        (-32022, 400),
        (-32603, 200),
        (7, 200),
    ],
)
def test_a_servers_error_has_the_status_of_its_code_in_the_modern_revision(
    code: int, http: int
) -> None:
    body = jsonrpc.encode({"code": code, "message": "m", "data": {"requiredCapabilities": {}}})
    assert spelled(failed(body), NEW) == Spelled(error=body, http=http)
    assert spelled(failed(body), OLD).http == 200


def test_a_legacy_servers_missing_resource_has_its_modern_number() -> None:
    body = b'{"code":-32002,"message":"m","data":{"uri":"u"}}'
    moved = spelled(failed(body), NEW, "resources/read")
    assert moved == Spelled(error=body.replace(b"-32002", b"-32602"), http=400)
    assert spelled(failed(body), OLD, "resources/read").error == body
    assert spelled(failed(body), NEW, "tools/call").error == body


def test_help_in_a_servers_error_is_for_who_negotiated_mgp() -> None:
    """MGP-1.1-1 and MGP-14.4-1."""
    body = b'{"code":3000,"message":"m","data":{"_mgp":{"n":1.50},"x":1}}'
    for plain in (OLD, NEW):
        bare = {"code": 3000, "message": "m", "data": {"x": 1}}
        assert error(failed(body), plain) == bare
    for mgp in (OLD_MGP, NEW_MGP):
        assert spelled(replace(failed(body), mgp=True), mgp).error == body
        assert error(failed(body), mgp)["data"] == {"_mgp": {"n": 1.5}, "x": 1, "_meta": THEIRS}


THEIRS = {ERROR_ORIGIN: "server"}


@pytest.mark.parametrize("code", sorted({one.mgp_code for one in REASONS.values()} - {-32603}))
@pytest.mark.parametrize("said", ["charged", [1], 7, True, {"_mgp": None}, {"x": 1.5}, None])
def test_a_number_of_a_server_without_mgp_is_not_taken_for_one_of_ours(
    code: int, said: Any
) -> None:
    """Nothing that it says is lost, and nobody is told that asking again helps."""
    body = jsonrpc.encode({"code": code, "message": "m", "data": said})
    outcome = replace(failed(body), once=True)
    for plain in (OLD, NEW):
        mine = {"data": {}} if said == {"_mgp": None} else {"data": said}
        assert error(outcome, plain) == {"code": code, "message": "m", **mine}
    if code <= 0:
        return
    kept = said if isinstance(said, dict) else {} if said is None else {"data": said}
    help_ = recovery("upstream_error", once=True)
    for mgp in (OLD_MGP, NEW_MGP):
        data = {"trace_id": "t-1", **kept, "_mgp": help_, "_meta": THEIRS}
        assert error(outcome, mgp) == {"code": code, "message": "m", "data": data}
        own = replace(outcome, mgp=True)
        if not isinstance(said, dict) and said is not None:
            assert spelled(own, mgp).error == body


@pytest.mark.parametrize(
    ("code", "reason"),
    [(-32601, "method_not_found"), (-32602, "invalid_params"), (-1, "upstream_error")],
)
@pytest.mark.parametrize("data", [{}, {"data": None}, {"data": {"x": 1.5}}])
def test_a_servers_error_gets_help_on_an_mgp_connection(
    code: int, reason: str, data: dict[str, Any]
) -> None:
    """MGP-14.4-1: any error."""
    body = jsonrpc.encode({"code": code, "message": "m", **data})
    found = error(failed(body), OLD_MGP)
    inner = data.get("data") or {}
    help_ = {"trace_id": "t-1", **inner, "_mgp": recovery(reason)}
    assert found == {"code": code, "message": "m", "data": help_}


@pytest.mark.parametrize("reason", sorted(REASONS))
def test_a_reason_of_ours_in_a_servers_error_is_marked_for_who_acts_on_reasons(reason: str) -> None:
    data = {"reason": reason, "_meta": {"x": 1, ERROR_ORIGIN: "gateway"}}
    body = jsonrpc.encode({"code": -1, "message": "m", "data": data})
    for mgp in (OLD_MGP, NEW_MGP):
        assert error(failed(body), mgp)["data"]["_meta"] == {"x": 1, ERROR_ORIGIN: "server"}
    for plain in (OLD, NEW):
        assert error(failed(body), plain)["data"] == data


@pytest.mark.parametrize("reason", ["of its own", 5, None, ["rate_limited"]])
def test_another_reason_of_a_server_is_its_own_business(reason: Any) -> None:
    body = jsonrpc.encode({"code": -1, "message": "m", "data": {"reason": reason}})
    assert "_meta" not in error(failed(body), NEW_MGP)["data"]


@pytest.mark.parametrize(
    "body",
    [b"5", b"{}", b'{"code":"x"}', b'{"code":1,"data":"_mgp"}', b'{"code":null}', b'{"code":1.5}'],
)
def test_a_servers_error_of_odd_shape_passes_as_it_is(body: bytes) -> None:
    for client in (OLD, NEW):
        assert spelled(failed(body), client) == Spelled(error=body)


@pytest.mark.parametrize("code", [[], {}, None, "x", 1.5])
def test_an_odd_code_does_not_keep_help_from_who_needs_it_nor_show_it_to_others(code: Any) -> None:
    body = {"code": code, "message": "m", "data": {"_mgp": 1, "x": 2}}
    for client in (OLD, NEW):
        assert error(failed(jsonrpc.encode(body)), client) == body | {"data": {"x": 2}}
    bare = {"code": code, "message": "m"}
    found = error(failed(jsonrpc.encode(bare)), NEW_MGP)
    assert found == bare | {"data": {"trace_id": "t-1", "_mgp": recovery("upstream_error")}}


# -- errors of the protocol itself


def test_an_error_before_any_call_says_no_more_than_it_must() -> None:
    for client in (None, OLD, NEW):
        found = spell_error(-32602, "m", client, http=400)
        assert found == Spelled(error=b'{"code":-32602,"message":"m"}', http=400)


def test_an_error_before_any_call_helps_on_an_mgp_connection_too() -> None:
    """MGP-14.4-1."""
    found = spell_error(-32022, "m", NEW_MGP, data={"supported": []}, http=400)
    reason = "unsupported_version"
    help_ = {"supported": [], "reason": reason, "_mgp": recovery(reason)}
    assert jsonrpc.decode(found.error) == {"code": -32022, "message": "m", "data": help_}


def test_a_frame_is_an_answer_with_one_of_result_and_error() -> None:
    assert Spelled(b"{}").frame(b'"a"') == b'{"jsonrpc":"2.0","id":"a","result":{}}'
    assert Spelled(error=b"{}").frame(b"1") == b'{"jsonrpc":"2.0","id":1,"error":{}}'


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=6)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.one_of(st.sampled_from(["_mgp", "_meta", "data", "code"]), st.text()), inner
        ),
    ),
    max_leaves=8,
)


@given(json_values, st.sampled_from(ALL), st.booleans(), st.booleans())
def test_whatever_a_server_says_is_spelled(
    value: Any, client: Client, modern: bool, broken: bool
) -> None:
    raw = jsonrpc.encode(value)
    outcome = failed(raw) if broken else Answer(raw, modern=modern)
    found = spelled(outcome, client, "resources/read")
    assert bool(found.result) is not bool(found.error)
    again = jsonrpc.decode(found.result or found.error)
    assert isinstance(again, type(value))
    if client.mgp is None and not broken and isinstance(again, dict):
        assert "_mgp" not in again
