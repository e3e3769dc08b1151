"""Translation between the eras loses nothing, and a sealed state serves only whom it was made for."""

from __future__ import annotations

import base64
import math
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gatewright.call import Answer, Client, Mgp, Question
from gatewright.mcp.protocol import eras
from gatewright.mcp.protocol.eras import Sealer, State, request_digest
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.headers_and_meta import (
    META_CLIENT_CAPABILITIES,
    META_CLIENT_INFO,
    META_LOG_LEVEL,
    META_SERVER_INFO,
    META_SUBSCRIPTION,
    META_VERSION,
)
from gatewright.mcp.wire.json_bounds import DECODED_BYTES

OLD, NEW = Client("2025-11-25"), Client("2026-07-28")
INFO = {"name": "gw", "version": "1"}
OURS = ("resultType", "ttlMs", "cacheScope", "_meta")

texts = st.text(st.characters(codec="utf-8"), max_size=12)
numbers = st.one_of(
    st.integers(-(10**30), 10**30).map(str),
    st.sampled_from(
        ["1.0", "1.50", "1e400", "-0.0", "0.10000000000000000001", "9007199254740993.0"]
    ),
)
scalars = st.one_of(
    numbers,
    st.sampled_from(["null", "true", "false"]),
    texts.map(lambda one: jsonrpc.encode(one).decode()),
)


def _object(members: dict[str, str]) -> str:
    inner = ",".join(f"{jsonrpc.encode(key).decode()}:{value}" for key, value in members.items())
    return "{" + inner + "}"


values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda one: "[" + ",".join(one) + "]"),
        st.dictionaries(texts, inner, max_size=3).map(_object),
    ),
    max_leaves=8,
)
objects = st.dictionaries(texts, values, max_size=5)
"""JSON objects as text, spelled in ways that a value would not keep."""


def unknown(members: dict[str, str]) -> dict[str, str]:
    return {key: value for key, value in members.items() if key not in OURS}


def raw(result: bytes) -> dict[str, str]:
    return {key: bytes(one).decode() for key, one in jsonrpc.decode_members(result).items()}


# -- results


@given(objects, st.sampled_from(["tools/call", "tools/list", "x/y"]), objects)
def test_up_and_down_keep_every_unknown_member_byte_for_byte(
    members: dict[str, str], method: str, meta: dict[str, str]
) -> None:
    mine = unknown(members)
    full = {**mine, "_meta": _object(unknown(meta))} if meta else mine
    text = _object(full).encode()
    up = eras.to_caller(Answer(text), method, NEW, INFO)
    assert unknown(raw(up)) == mine
    down = eras.to_caller(Answer(up, modern=True), method, OLD, INFO)
    assert raw(down) == full


@given(objects)
def test_within_one_era_a_result_is_the_very_bytes_that_came(members: dict[str, str]) -> None:
    text = _object(members).encode()
    assert eras.to_caller(Answer(text), "tools/call", OLD, INFO) is text
    assert eras.to_caller(Answer(text, modern=True), "tools/call", NEW, INFO) is text


def test_a_legacy_result_gets_what_a_modern_client_requires() -> None:
    listed = jsonrpc.decode(eras.to_caller(Answer(b'{"tools":[]}'), "tools/list", NEW, INFO))
    called = jsonrpc.decode(eras.to_caller(Answer(b'{"content":[]}'), "tools/call", NEW, INFO))
    meta = {META_SERVER_INFO: INFO}
    fresh = {"ttlMs": 0, "cacheScope": "private"}
    assert listed == {"tools": [], "resultType": "complete", **fresh, "_meta": meta}
    assert called == {"content": [], "resultType": "complete", "_meta": meta}


def test_a_modern_result_loses_what_a_legacy_client_never_heard_of() -> None:
    full = {
        "tools": [],
        "resultType": "complete",
        "ttlMs": 5,
        "cacheScope": "public",
        "_meta": {META_SERVER_INFO: INFO, "x": 1},
    }
    down = eras.to_caller(Answer(jsonrpc.encode(full), modern=True), "tools/list", OLD, INFO)
    assert jsonrpc.decode(down) == {"tools": [], "_meta": {"x": 1}}


@pytest.mark.parametrize("odd", [b'{"_meta":null}', b'{"_meta":[1]}', b'{"_meta":"x"}'])
def test_metadata_of_an_odd_shape_passes_as_it_is(odd: bytes) -> None:
    up = raw(eras.to_caller(Answer(odd), "tools/call", NEW, INFO))
    assert up == {**raw(odd), "resultType": '"complete"'}
    assert raw(eras.to_caller(Answer(odd, modern=True), "tools/call", OLD, INFO)) == raw(odd)


@pytest.mark.parametrize("odd", [b"5", b"[1]", b'"x"', b"null"])
def test_a_result_that_is_no_object_passes_as_it_is(odd: bytes) -> None:
    for client, modern in ((NEW, False), (OLD, True)):
        assert eras.to_caller(Answer(odd, modern=modern), "x/y", client, INFO) == odd


def test_only_the_modern_era_renumbers_a_resource_that_was_not_found() -> None:
    codes = [
        eras.error_code(-32002, method, client)
        for method in ("resources/read", "tools/call")
        for client in (OLD, NEW)
    ]
    assert codes == [-32002, -32602, -32002, -32002]
    assert eras.error_code(-32000, "resources/read", NEW) == -32000


# -- requests


@given(st.dictionaries(texts, st.integers(), max_size=4), st.dictionaries(texts, st.integers()))
def test_params_become_modern_and_legacy_again(
    params: dict[str, Any], meta: dict[str, Any]
) -> None:
    assume("_meta" not in params)
    given_ = {**params, "_meta": meta} if meta else params
    client = Client("2025-11-25", {"sampling": {}}, log_level="info")
    up = eras.modern_params(given_, client, revision="2026-07-28", info=INFO)
    own = {
        META_VERSION: "2026-07-28",
        META_CLIENT_INFO: INFO,
        META_CLIENT_CAPABILITIES: {"sampling": {}},
        META_LOG_LEVEL: "info",
    }
    assert up == {**params, "_meta": {**meta, **own}}
    assert eras.legacy_params(up) == given_


def test_params_that_were_never_modern_stay_the_same_object() -> None:
    for params in ({"a": 1}, {"_meta": {"x": 1}}, {"_meta": None}):
        assert eras.legacy_params(params) is params


def test_a_request_without_a_log_level_asks_for_no_log_lines() -> None:
    up = eras.modern_params({"_meta": None}, OLD, revision="2026-07-28", info=INFO)
    assert META_LOG_LEVEL not in up["_meta"]


# -- questions


def test_questions_of_a_modern_server_are_read_and_those_of_odd_shape_left_out() -> None:
    wanted = {"a": {"method": "m", "params": {"n": 2**60}}, "b": {"method": "r"}, "c": 5, "d": {}}
    result = {"resultType": "input_required", "inputRequests": wanted, "requestState": "s"}
    found = eras.read_interim(jsonrpc.encode(result))
    assert found == eras.Interim({"a": Question("m", {"n": 2**60}), "b": Question("r")}, "s")


@pytest.mark.parametrize(
    "result",
    [
        b'{"resultType":"complete","text":"input_required"}',
        b'{"text":"input_required"}',
        b'["input_required"]',
        b'{"resultType":"input_required"',
    ],
)
def test_a_result_that_only_mentions_the_word_is_final(result: bytes) -> None:
    assert eras.read_interim(result) is None


def test_an_interim_result_may_carry_questions_or_a_state_alone() -> None:
    state = eras.read_interim(b'{"resultType":"input_required","requestState":"s"}')
    odd = eras.read_interim(b'{"resultType":"input_required","inputRequests":[],"requestState":1}')
    assert (state, odd) == (eras.Interim({}, "s"), eras.Interim({}, None))


def test_questions_of_any_size_are_not_decoded() -> None:
    text = b'{"x":"\\u0041","resultType":%b,"inputRequests":[%b1]}'
    for odd in (b"[" + b"1," * 100 + b"1]", b'"input_required' + b" " * 100 + b'"', b'""', b"null"):
        assert eras.read_interim(text % (odd, b"1," * DECODED_BYTES)) is None


def test_questions_of_a_legacy_server_become_an_interim_result() -> None:
    questions = {"q1": Question("m", {"n": 2**60}), "q2": Question("roots/list")}
    assert jsonrpc.decode(eras.interim_result(questions, "sealed", INFO)) == {
        "resultType": "input_required",
        "inputRequests": {
            "q1": {"method": "m", "params": {"n": 2**60}},
            "q2": {"method": "roots/list"},
        },
        "requestState": "sealed",
        "_meta": {META_SERVER_INFO: INFO},
    }


def test_a_retry_repeats_the_request_with_answers_and_state() -> None:
    params = {"name": "x", "requestState": "old", "inputResponses": {"z": 1}}
    with_state = eras.retry_params(params, {"a": {"b": 1}}, "new")
    assert with_state == {"name": "x", "inputResponses": {"a": {"b": 1}}, "requestState": "new"}
    assert eras.retry_params(params, {}, None) == {"name": "x", "inputResponses": {}}


# -- sealed states

SEALER = Sealer(b"k" * 32)
NONCE = b"n" * 12
DIGEST = request_digest("tools/call", {"name": "x", "arguments": {"a": 1}})
STATE = State("parked", "ann", DIGEST, 100.0, "handle")
SEALED = SEALER.seal(STATE, NONCE)


def opened(text: str, **other: Any) -> State:
    known: dict[str, Any] = {"principal": "ann", "digest": DIGEST, "now": 100.0}
    return SEALER.open(text, **(known | other))


@given(st.builds(State, st.sampled_from(["parked", "upstream"]), texts, texts, st.floats(0), texts))
def test_a_state_opens_to_what_was_sealed(state: State) -> None:
    assume(math.isfinite(state.expires))
    text = SEALER.seal(state, NONCE)
    again = SEALER.open(text, principal=state.principal, digest=state.digest, now=state.expires)
    assert again == state


@given(st.integers(0, len(base64.urlsafe_b64decode(SEALED)) * 8 - 1))
def test_a_state_with_any_bit_flipped_is_refused(bit: int) -> None:
    sealed = bytearray(base64.urlsafe_b64decode(SEALED))
    sealed[bit // 8] ^= 1 << bit % 8
    with pytest.raises(ValueError, match="not given out"):
        opened(base64.urlsafe_b64encode(sealed).decode())


@given(st.integers(0, len(SEALED) - 1), st.characters(codec="utf-8"))
def test_a_state_with_any_character_changed_is_refused(place: int, other: str) -> None:
    assume(SEALED[place] != other)
    with pytest.raises(ValueError, match="not given out"):
        opened(SEALED[:place] + other + SEALED[place + 1 :])


@given(
    st.one_of(texts, st.binary(max_size=80).map(lambda one: base64.urlsafe_b64encode(one).decode()))
)
def test_what_was_never_sealed_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not given out"):
        opened(text)


def test_one_state_has_one_spelling() -> None:
    state = SEALER.seal(State("parked", "ann", DIGEST, 100.0, "handle??"), b"\xff" * 12)
    assert "_" in state
    for spelled in (
        state.replace("_", "/"),
        state.rstrip("="),
        state + "=",
        state + "\n",
        state + " ",
    ):
        if spelled != state:
            with pytest.raises(ValueError, match="not given out"):
                opened(spelled)


@given(texts)
def test_another_principal_is_refused(who: str) -> None:
    with pytest.raises(ValueError, match="not given out"):
        opened(SEALED, principal=who)


@given(st.dictionaries(st.sampled_from(["name", "uri", "arguments"]), st.integers(), min_size=1))
def test_another_request_is_refused(params: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="another request"):
        opened(SEALED, digest=request_digest("tools/call", params))


@given(st.floats(100.0, exclude_min=True, allow_infinity=False))
def test_a_state_is_refused_after_its_time(now: float) -> None:
    with pytest.raises(ValueError, match="expired"):
        opened(SEALED, now=now)


def test_another_key_opens_nothing() -> None:
    with pytest.raises(ValueError, match="not given out"):
        Sealer(b"j" * 32).open(SEALED, principal="ann", digest=DIGEST, now=0)


def test_the_state_of_a_server_is_wrapped_and_the_rest_of_its_result_untouched() -> None:
    result = b'{"resultType":"input_required","n":1.50,"requestState":"theirs","x":null}'
    sealed = SEALER.reseal(result, principal="ann", digest=DIGEST, expires=5.0, nonce=NONCE)
    members = raw(sealed)
    state = opened(jsonrpc.decode(members.pop("requestState").encode()), now=0)
    assert state == State("upstream", "ann", DIGEST, 5.0, "theirs")
    assert members == {"resultType": '"input_required"', "n": "1.50", "x": "null"}


@pytest.mark.parametrize("state", [b"", b',"requestState":5', b',"requestState":null'])
def test_a_result_without_a_state_stays_as_it_is(state: bytes) -> None:
    result = b'{"resultType":"input_required"' + state + b"}"
    assert SEALER.reseal(result, principal="", digest="", expires=0, nonce=NONCE) == result


# -- digests

SALIENT = {"name": "x", "arguments": {"a": 1, "b": [1, {"c": None}]}}


def test_what_a_client_adds_to_a_retry_does_not_change_the_digest() -> None:
    more = {**SALIENT, "_meta": {"x": 1}, "inputResponses": {}, "requestState": "s"}
    assert request_digest("tools/call", more) == request_digest("tools/call", SALIENT)


@given(st.dictionaries(texts, st.dictionaries(texts, st.integers()), max_size=4))
def test_the_order_of_members_does_not_change_the_digest(arguments: dict[str, Any]) -> None:
    turned = {key: dict(reversed(arguments[key].items())) for key in reversed(list(arguments))}
    digests = [request_digest("m", {"arguments": one}) for one in (arguments, turned)]
    assert digests[0] == digests[1]


@given(values, values)
def test_other_arguments_have_another_digest(one: str, other: str) -> None:
    first, second = (jsonrpc.decode(text.encode()) for text in (one, other))
    same = jsonrpc.encode(first) == jsonrpc.encode(second)
    digests = [request_digest("m", {"arguments": value}) for value in (first, second)]
    assert (digests[0] == digests[1]) is same or _reordered(first, second)


def _reordered(one: Any, other: Any) -> bool:
    order = msgspec.json.Encoder(enc_hook=lambda number: {"": number.text}, order="deterministic")
    return order.encode(one) == order.encode(other)


def test_the_parts_of_a_request_are_not_mistaken_for_each_other() -> None:
    found = {
        request_digest("a", {"name": "b"}),
        request_digest("a", {"uri": "b"}),
        request_digest("a", {"arguments": "b"}),
        request_digest("ab", {}),
    }
    assert len(found) == 4


# -- subscriptions


def test_a_notification_is_marked_beside_what_it_carries() -> None:
    assert eras.tag({"uri": "u", "_meta": {"x": 1}}, 7) == {
        "uri": "u",
        "_meta": {"x": 1, META_SUBSCRIPTION: 7},
    }
    for odd in (None, {}, {"_meta": None}, {"_meta": 5}):
        assert eras.tag(odd, "s") == {"_meta": {META_SUBSCRIPTION: "s"}}
    assert jsonrpc.decode(eras.listened(0)) == {
        "resultType": "complete",
        "_meta": {META_SUBSCRIPTION: 0},
    }


def test_only_what_we_can_tell_is_acknowledged() -> None:
    wanted = {
        "toolsListChanged": True,
        "promptsListChanged": 1,
        "x": True,
        "resourceSubscriptions": [],
    }
    assert eras.acknowledgement(wanted, 2) == {"toolsListChanged": True}
    uris = {"resourceSubscriptions": ["a", "b"]}
    assert eras.acknowledgement(uris, 2) == uris
    with pytest.raises(ValueError, match="at most 1"):
        eras.acknowledgement(uris, 1)


@pytest.mark.parametrize("wanted", [True, False, "yes", 1])
def test_what_an_extension_brings_is_for_those_who_negotiated_it(wanted: object) -> None:
    """MGP-6.3-1: `audit` in a filter, by the name that it has among MCP's own members."""
    asked = {"dev.cloto/audit": wanted}
    having, lacking = (Mgp("0.2.0", (name,), "mgp") for name in ("audit", "security"))
    assert eras.acknowledgement(asked, 2, having) == (asked if wanted is True else {})
    for mgp in (None, lacking):
        assert eras.acknowledgement(asked, 2, mgp) == {}
