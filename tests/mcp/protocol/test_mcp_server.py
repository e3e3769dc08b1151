"""What a host's message means, in both eras: one effect for each request, whatever it says."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from gatewright.call import Client, Mgp
from gatewright.mcp.protocol import mcp_server as mcp
from gatewright.mcp.protocol.client_params import Rejected
from gatewright.mcp.protocol.mcp_server import Conversation, Inbound
from gatewright.mcp.protocol.negotiate import EXTENSIONS, Face
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.headers_and_meta import (
    META_CLIENT_CAPABILITIES,
    META_CLIENT_INFO,
    META_LOG_LEVEL,
    META_SERVER_INFO,
    META_VERSION,
)
from gatewright.mcp.wire.versions import LEGACY, METHODS, MODERN

FACE = Face(EXTENSIONS)
INFO = {"name": "gw", "version": "1"}
META = {META_VERSION: "2026-07-28", META_CLIENT_CAPABILITIES: {}}
NEW = Client("2026-07-28")


def request(method: str, params: Any = None, ident: bytes = b"1") -> jsonrpc.Request:
    return jsonrpc.Request(ident, method, b"" if params is None else jsonrpc.encode(params))


def modern(method: str, params: Any = None, meta: Any = None) -> Any:
    full = {**(params or {}), "_meta": {**META, **(meta or {})}}
    return mcp.read_modern(request(method, full), FACE)


def started(revision: str = "2025-11-25", capabilities: Any = None) -> Conversation:
    conversation = Conversation(FACE)
    params = {"protocolVersion": revision, "capabilities": capabilities or {}}
    assert isinstance(conversation.receive(request("initialize", params)), mcp.Hello)
    return conversation


# -- modern requests


def test_a_modern_request_says_everything_itself() -> None:
    meta: dict[str, Any] = {
        META_CLIENT_CAPABILITIES: {
            "sampling": {},
            "mgp": {"version": "0.2.0", "extensions": ["audit"]},
        },
        META_CLIENT_INFO: {"name": "me"},
        META_LOG_LEVEL: "info",
    }
    effect = modern("tools/call", {"name": "x", "n": 2**60}, meta)
    client = Client(
        "2026-07-28",
        meta[META_CLIENT_CAPABILITIES],
        {"name": "me"},
        Mgp("0.2.0", ("audit",), "mgp"),
        "info",
    )
    params = {"name": "x", "n": 2**60, "_meta": {**META, **meta}}
    assert isinstance(effect, Inbound)
    assert effect.size == len(jsonrpc.encode(params))
    assert replace(effect, size=0) == Inbound(
        b"1", "tools/call", params, client, METHODS["tools/call"]
    )


def test_the_connections_own_requests_of_the_modern_era() -> None:
    assert modern("server/discover") == mcp.Hello(b"1", NEW, modern=True)
    wanted = {"toolsListChanged": True}
    listen = modern("subscriptions/listen", {"notifications": wanted})
    assert listen == mcp.Listen(b"1", NEW, wanted)


@pytest.mark.parametrize(
    "params",
    [
        None,
        {},
        [],
        {"_meta": None},
        {"_meta": 5},
        {"_meta": {}},
        {"_meta": {META_VERSION: "2026-07-28"}},
        {"_meta": {META_CLIENT_CAPABILITIES: {}}},
        {"_meta": {META_VERSION: 5, META_CLIENT_CAPABILITIES: {}}},
        {"_meta": {META_VERSION: "2026-07-28", META_CLIENT_CAPABILITIES: []}},
    ],
)
def test_missing_metadata_comes_before_everything_else(params: Any) -> None:
    effect = mcp.read_modern(request("initialize", params), FACE, "v999")
    assert isinstance(effect, Rejected)
    assert (effect.code, effect.http) == (-32602, 400)


def test_a_header_that_differs_comes_before_a_version_that_nobody_knows() -> None:
    params = {"_meta": {**META, META_VERSION: "v999"}}
    codes = []
    for header in ("2026-07-28", "", "v999", None):
        effect = mcp.read_modern(request("tools/list", params), FACE, header)
        assert isinstance(effect, Rejected)
        codes.append(effect.code)
    assert codes == [-32020, -32020, -32022, -32022]


def test_an_unknown_version_comes_before_an_unknown_method() -> None:
    for version in ("v999", "2025-11-25", ""):
        effect = modern("initialize", meta={META_VERSION: version})
        data = {"supported": [*MODERN, *LEGACY], "requested": version}
        assert effect == Rejected(b"1", -32022, "Unsupported protocol version", data)


@pytest.mark.parametrize(
    "method",
    ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"],
)
def test_what_the_modern_revision_removed_does_not_exist(method: str) -> None:
    effect = modern(method, {"uri": "u"})
    assert isinstance(effect, Rejected)
    assert (effect.code, effect.http) == (-32601, 404)


@pytest.mark.parametrize(
    ("method", "name"), [("tools/call", "name"), ("prompts/get", "name"), ("resources/read", "uri")]
)
@pytest.mark.parametrize("value", [None, 5, ["x"]])
def test_a_target_is_named_by_a_string(method: str, name: str, value: Any) -> None:
    new = modern(method, {name: value})
    assert isinstance(new, Rejected)
    assert (new.code, new.http, new.client) == (-32602, 400, NEW)
    old = started().receive(request(method, {name: value}))
    assert isinstance(old, Rejected)
    assert (old.code, old.http) == (-32602, 200)


def test_a_log_level_that_does_not_exist_asks_for_nothing() -> None:
    for level in ("loud", 5, ["info"], None):
        assert modern("tools/list", meta={META_LOG_LEVEL: level}).client.log_level is None


def test_who_we_are_is_told_to_each_who_asks_and_never_shared() -> None:
    """MGP-2.4-3: and nothing of MGP to who did not offer it."""
    hello = mcp.Hello(b"1", NEW, modern=True)
    bare = jsonrpc.decode(mcp.discovered(hello, {"tools": {}}, "", INFO, FACE))
    assert bare == {
        "resultType": "complete",
        "supportedVersions": [*MODERN, *LEGACY],
        "capabilities": {"tools": {}},
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": {META_SERVER_INFO: INFO},
    }
    told = jsonrpc.decode(mcp.discovered(hello, {}, "read me", INFO, FACE))
    assert told["instructions"] == "read me"


# -- the handshake


@pytest.mark.parametrize("revision", LEGACY)
def test_a_known_legacy_revision_is_agreed_to(revision: str) -> None:
    conversation = started(revision)
    assert conversation.client == Client(revision)
    hello = mcp.Hello(b"1", Client(revision), modern=False)
    assert jsonrpc.decode(conversation.welcome(hello, {"tools": {}}, "", INFO)) == {
        "protocolVersion": revision,
        "capabilities": {"tools": {}},
        "serverInfo": INFO,
    }


@pytest.mark.parametrize("asked", ["2026-07-28", "1999-01-01", ""])
def test_any_other_revision_is_answered_with_our_latest(asked: str) -> None:
    assert started(asked).client == Client(LEGACY[-1])


@pytest.mark.parametrize("place", ["mgp", "experimental", "extensions"])
def test_mgp_is_answered_in_the_place_where_it_was_offered(place: str) -> None:
    """MGP-2.1-1, MGP-2.3-1, MGP-2.3-4 and MGP-2.4-6."""
    offer = {"version": "0.1.0", "extensions": ["security", "access_control", "audit"]}
    key = "dev.cloto/mgp" if place == "extensions" else "mgp"
    offered = {"mgp": offer} if place == "mgp" else {place: {key: offer}}
    face = Face(("security", "audit"))
    conversation = Conversation(face)
    params = {"protocolVersion": "2025-11-25", "capabilities": offered}
    hello = conversation.receive(request("initialize", params))
    assert isinstance(hello, mcp.Hello)
    result = jsonrpc.decode(conversation.welcome(hello, {"experimental": {"x": 1}}, "", INFO))
    agreed = {"version": "0.1.0", "extensions": ["security", "audit"]}
    expected: dict[str, Any] = {"experimental": {"x": 1}}
    if place == "mgp":
        expected["mgp"] = agreed
    else:
        expected[place] = {**expected.get(place, {}), key: agreed}
    assert result["capabilities"] == expected


@pytest.mark.parametrize(
    "offer",
    [None, 5, {}, {"version": "abc", "extensions": []}, {"version": "1.0.0", "extensions": []}],
)
def test_an_unusable_offer_of_mgp_leaves_plain_mcp(offer: Any) -> None:
    """MGP-1.1-2, MGP-2.2-3, MGP-2.2-4 and MGP-2.4-4."""
    conversation = started(capabilities={"mgp": offer})
    assert conversation.client is not None
    assert conversation.client.mgp is None
    hello = mcp.Hello(b"1", conversation.client, modern=False)
    welcome = jsonrpc.decode(conversation.welcome(hello, {}, "", INFO))
    assert welcome["capabilities"] == {}


def test_a_handshake_needs_a_version_and_happens_once() -> None:
    conversation = Conversation(FACE)
    flawed: list[Any] = [None, {}, [], {"protocolVersion": 5}, {"protocolVersion": "x", "_meta": 5}]
    for params in flawed:
        effect = conversation.receive(request("initialize", params))
        assert isinstance(effect, Rejected)
        assert effect.code == -32602
    good = {"protocolVersion": "2025-11-25", "capabilities": "odd", "clientInfo": "odd"}
    assert isinstance(conversation.receive(request("initialize", good)), mcp.Hello)
    again = conversation.receive(request("initialize", good))
    assert again == Rejected(b"1", -32600, "this session is initialized already")


@pytest.mark.parametrize(
    ("params", "says"),
    [
        (b'{"_meta":{"%b":"x"}}' % META_VERSION.encode(), True),
        (b'{"_meta":{"%b":null},"x":[1e1,{}]}' % META_VERSION.encode(), True),
        (b'{"_meta":{"x":"%b"}}' % META_VERSION.encode(), False),
        (b'{"%b":"x","_meta":{}}' % META_VERSION.encode(), False),
        (b'{"_meta":"%b"}' % META_VERSION.encode(), False),
        (b'{"arguments":{"_meta":{"%b":"x"}}}' % META_VERSION.encode(), False),
        (b'["%b"]' % META_VERSION.encode(), False),
        (b'{"_meta":{"%b":"x"},"_meta":{}}' % META_VERSION.encode(), False),
    ],
)
def test_whether_params_are_modern_is_read_from_their_metadata_alone(
    params: bytes, says: bool
) -> None:
    assert mcp.is_modern_params(params) is says
