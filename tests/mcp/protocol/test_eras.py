"""Translation between the eras loses nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gatewright.call import Answer, Client
from gatewright.mcp.protocol import eras
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.headers_and_meta import (
    META_CLIENT_CAPABILITIES,
    META_CLIENT_INFO,
    META_LOG_LEVEL,
    META_SERVER_INFO,
    META_VERSION,
)

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
