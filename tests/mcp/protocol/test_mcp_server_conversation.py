"""A conversation with one host: what its messages mean, in any order, one effect for each request."""

from __future__ import annotations

from os import urandom
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.call import Client, Mgp, Question
from gatewright.mcp.protocol import mcp_server as mcp
from gatewright.mcp.protocol.client_params import Dropped, Notice, Rejected
from gatewright.mcp.protocol.mcp_server import Conversation, Inbound
from gatewright.mcp.protocol.negotiate import EXTENSIONS, Face
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.headers_and_meta import META_CLIENT_CAPABILITIES, META_VERSION
from gatewright.mcp.wire.versions import LEGACY, METHODS, Method

FACE = Face(EXTENSIONS)
META = {META_VERSION: "2026-07-28", META_CLIENT_CAPABILITIES: {}}
NEW = Client("2026-07-28")


def request(method: str, params: Any = None, ident: bytes = b"1") -> jsonrpc.Request:
    return jsonrpc.Request(ident, method, b"" if params is None else jsonrpc.encode(params))


def started() -> Conversation:
    conversation = Conversation(FACE)
    params = {"protocolVersion": "2025-11-25", "capabilities": {}}
    assert isinstance(conversation.receive(request("initialize", params)), mcp.Hello)
    return conversation


def test_a_legacy_request_becomes_a_call_of_its_client() -> None:
    conversation = started()
    effect = conversation.receive(
        jsonrpc.Request(b'"a"', "tools/call", b'{"name":"x","n":1.50}', "t-1")
    )
    assert isinstance(effect, Inbound)
    assert jsonrpc.encode(effect.params) == b'{"name":"x","n":1.50}'
    assert (effect.id, effect.client, effect.trace_id) == (b'"a"', conversation.client, "t-1")


@pytest.mark.parametrize("method", ["unknown/x", "mgp/health/ping", "tasks/get"])
def test_an_unknown_method_is_somebody_elses(method: str) -> None:
    effect = started().receive(request(method, {"uri": 5}))
    assert isinstance(effect, Inbound)
    assert effect.spec == Method("method")


def test_what_a_connection_is_asked_about_itself_is_nobody_elses() -> None:
    conversation = started()
    assert conversation.receive(request("ping")) == mcp.Reply(b"1", b"{}")
    for method in ("subscriptions/listen", "server/discover"):
        effect = conversation.receive(request(method, {}))
        assert isinstance(effect, Rejected)
        assert effect.code in (-32601, -32602)


def test_both_eras_may_come_on_one_pipe() -> None:
    conversation = Conversation(FACE)
    params = {"name": "x", "_meta": META}
    effect = conversation.receive(request("tools/call", params))
    assert isinstance(effect, Inbound)
    assert effect.client == NEW
    assert conversation.client is None
    legacy = conversation.receive(request("tools/call", {"name": "x"}))
    assert isinstance(legacy, Inbound)
    assert legacy.client.revision in LEGACY
    ping = conversation.receive(request("ping", {"_meta": META}))
    assert isinstance(ping, Rejected)
    assert ping.http == 404


def test_a_level_is_remembered_for_lines_and_for_later_calls() -> None:
    conversation = started()
    client = conversation.client
    assert client is not None
    assert conversation.wants_log(client, "debug")
    conversation.set_level("error")
    heard = [level for level in mcp.LOG_LEVELS if conversation.wants_log(client, level)]
    assert heard == ["error", "critical", "alert", "emergency"]
    odds: list[object] = ["odd", "EMERGENCY", " error", 7, None, ["error"], {}]
    for odd in odds:
        assert not conversation.wants_log(client, odd)
    later = conversation.receive(request("tools/list"))
    assert isinstance(later, Inbound)
    assert later.client.log_level == "error"
    asked = Client("2026-07-28", log_level="alert")
    assert [conversation.wants_log(one, "alert") for one in (NEW, asked)] == [False, True]
    curious = Client("2026-07-28", log_level="info")
    assert [conversation.wants_log(one, 7) for one in (curious, asked)] == [True, False]


def notice(method: str, params: Any = None) -> jsonrpc.Notification:
    return jsonrpc.Notification(method, b"" if params is None else jsonrpc.encode(params))


def test_notifications_are_heard_or_passed_on_but_never_answered() -> None:
    conversation = started()
    client = conversation.client
    assert client is not None
    assert conversation.receive(notice("notifications/initialized")) is None
    assert conversation.initialized
    cancelled = conversation.receive(notice("notifications/cancelled", {"requestId": "ü"}))
    assert cancelled == mcp.Cancelled('"ü"'.encode())
    for ident in (True, None, 1.5, [1]):
        assert conversation.receive(notice("notifications/cancelled", {"requestId": ident})) is None
    passed = conversation.receive(notice("notifications/roots/list_changed", {"x": 1}))
    assert passed == Notice("notifications/roots/list_changed", {"x": 1}, client)
    assert conversation.receive(notice("notifications/x", [1])) is None
    assert conversation.receive(notice("notifications/x", {"_meta": 1})) is None


def test_answers_and_broken_frames_keep_their_ids() -> None:
    conversation = started()
    answered = conversation.receive(jsonrpc.Response(b'"gw-1"', b"{}"))
    assert answered == mcp.Answered(b'"gw-1"', b"{}")
    broken = conversation.receive(jsonrpc.Malformed(-32700, "Parse error", b"3"))
    assert broken == Rejected(b"3", -32700, "Parse error")


def test_questions_have_ids_of_their_own() -> None:
    conversation = started()
    questions = Question("roots/list", None), Question("x", {"n": 2**60})
    asked = [conversation.ask(one, urandom) for one in questions]
    assert len({ident for ident, _ in asked}) == 2
    ident, frame = asked[1]
    expected = {"jsonrpc": "2.0", "method": "x", "params": {"n": 2**60}}
    assert jsonrpc.decode(frame) == expected | {"id": jsonrpc.decode(ident)}


def test_who_can_be_asked_what() -> None:
    able = Client("2025-11-25", {"elicitation": {}, "roots": {}})
    methods = ["elicitation/create", "sampling/createMessage", "roots/list", "com.example/ask"]
    assert [mcp.can_answer(able, one) for one in methods] == [True, False, True, True]
    kept = ["mgp/permission/request", "mgp/anything", "gatewright/approve", "tools/call"]
    assert [mcp.can_answer(able, one) for one in kept] == [False] * 4
    mgp = Client("2025-11-25", {}, mgp=Mgp("0.2.0", ("security",)))
    assert [mcp.can_answer(mgp, one) for one in kept] == [True, False, False, False]


def test_a_session_may_be_assumed_for_who_has_none() -> None:
    conversation = Conversation(FACE)
    conversation.assume("2025-03-26")
    assert (conversation.client, conversation.initialized) == (Client("2025-03-26"), True)


@pytest.mark.parametrize(
    ("spelled", "same"), [(rb'"\u0061"', b'"a"'), (b'"a"', b'"a"'), (b"1", b"1")]
)
def test_an_id_has_one_key_however_it_is_spelled(spelled: bytes, same: bytes) -> None:
    assert mcp.request_key(spelled) == same


# -- any sequence of messages

json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)
names = [
    "initialize",
    "ping",
    "server/discover",
    "subscriptions/listen",
    *METHODS,
    "x",
    "notifications/x",
]
metas = st.one_of(
    json_values,
    st.just(META),
    st.fixed_dictionaries({META_VERSION: json_values, META_CLIENT_CAPABILITIES: json_values}),
)
params_ = st.one_of(
    st.none(),
    json_values,
    st.dictionaries(
        st.sampled_from(["name", "uri", "level", "requestId", "capabilities"]), json_values
    ),
    st.fixed_dictionaries({"_meta": metas, "name": st.text(max_size=3), "uri": st.just("u")}),
    st.just({"protocolVersion": "2025-11-25", "capabilities": {}}),
)
frames = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0")},
    optional={
        "id": st.one_of(st.integers(), st.text(max_size=5), json_values),
        "method": st.one_of(st.sampled_from([*names, "notifications/cancelled"]), json_values),
        "params": params_,
        "result": json_values,
        "error": json_values,
    },
)


@given(st.lists(st.one_of(frames.map(jsonrpc.encode), st.binary(max_size=30)), max_size=12))
def test_any_sequence_of_messages_has_one_effect_for_each_request(sequence: list[bytes]) -> None:
    conversation = Conversation(FACE)
    for data in sequence:
        message = jsonrpc.parse(data)
        effect = conversation.receive(message)
        if isinstance(message, jsonrpc.Request):
            assert isinstance(effect, (Inbound, mcp.Hello, mcp.Listen, mcp.Reply, Rejected))
            assert effect.id == message.id
        elif isinstance(message, jsonrpc.Notification):
            assert effect is None or isinstance(effect, (mcp.Cancelled, Notice, Dropped))
        elif isinstance(message, jsonrpc.Response):
            assert effect == mcp.Answered(message.id, message.result, message.error)
        else:
            assert effect == Rejected(message.id, message.code, message.message)
