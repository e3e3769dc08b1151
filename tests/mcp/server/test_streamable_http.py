"""One URL for both eras: who is served as what, and in which order a modern request is refused."""

from __future__ import annotations

from typing import Any

import pytest

from gatewright.call import Failure, Refusal
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.headers_and_meta import (
    META_CLIENT_CAPABILITIES,
    META_CLIENT_INFO,
    META_VERSION,
)
from gatewright.mcp.wire.versions import LEGACY
from tests.dialects.client import MODERN, Sent, modern, rpc
from tests.dialects.house import INFO, House, text

SERVER = {"io.modelcontextprotocol/serverInfo": INFO}
CALL = {"name": "echo", "arguments": {"text": "hi"}}


def without(sent: Sent, *names: str) -> Sent:
    return Sent(sent.body, {k: v for k, v in sent.headers.items() if k.lower() not in names})


def changed(sent: Sent, **headers: str) -> Sent:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Sent(sent.body, {k.lower(): v for k, v in sent.headers.items()} | named)


def meta_without(key: str) -> Sent:
    message = jsonrpc.decode(modern("tools/call", CALL, ident=7).body)
    del message["params"]["_meta"][key]
    return Sent(jsonrpc.encode(message), modern("tools/call", CALL).headers)


async def test_both_eras_are_served_on_one_url() -> None:
    """MGP-1.1-1: neither sees a member of MGP."""
    async with House() as house:
        house.script.does("echo", text("hi"))
        session = await house.session()
        old = await session.ask("tools/call", CALL, ident="a")
        new = await house.modern("tools/call", CALL, ident="b")
        hello = await house.modern("server/discover", ident=3)
        content = [{"type": "text", "text": "hi"}]
        assert old == {"jsonrpc": "2.0", "id": "a", "result": {"content": content}}
        result = {"content": content, "resultType": "complete", "_meta": SERVER}
        assert (new.status, new.kind) == (200, "application/json")
        assert new.json == {"jsonrpc": "2.0", "id": "b", "result": result}
        assert session.hello == {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {"listChanged": True}, "logging": {}},
            "serverInfo": INFO,
        }
        assert hello.json["result"] == {
            "resultType": "complete",
            "supportedVersions": [MODERN, *LEGACY],
            "capabilities": {"tools": {"listChanged": True}, "logging": {}},
            "ttlMs": 0,
            "cacheScope": "private",
            "_meta": SERVER,
        }


@pytest.mark.parametrize("key", [META_VERSION, META_CLIENT_CAPABILITIES])
async def test_missing_metadata_is_refused_before_anything_else(key: str) -> None:
    async with House() as house:
        sent = changed(meta_without(key), mcp_method="wrong/method", mcp_protocol_version=MODERN)
        answered = await house.post(sent)
        assert answered.status == 400
        assert (answered.json["id"], answered.json["error"]["code"]) == (7, -32602)


async def test_params_without_metadata_are_refused_with_the_id() -> None:
    async with House() as house:
        for body in (rpc("server/discover", {}, 101), rpc("server/discover", None, 101)):
            headers = {"mcp-protocol-version": MODERN, "mcp-method": "server/discover"}
            answered = await house.post(Sent(body, headers))
            assert (answered.status, answered.json["id"]) == (400, 101)
            assert answered.json["error"]["code"] == -32602


async def test_a_client_may_keep_its_name_to_itself() -> None:
    async with House() as house:
        house.script.does("echo", text("hi"))
        answered = await house.post(meta_without(META_CLIENT_INFO))
        assert (answered.status, answered.json["id"]) == (200, 7)


GOOD = modern("tools/call", CALL, ident=9)


@pytest.mark.parametrize(
    "sent",
    [
        changed(GOOD, mcp_method="tools/list"),
        changed(GOOD, mcp_method="TOOLS/CALL"),
        changed(GOOD, mcp_name="other"),
        without(GOOD, "mcp-method"),
        without(GOOD, "mcp-name"),
        without(GOOD, "mcp-protocol-version"),
        changed(GOOD, mcp_protocol_version="2025-11-25"),
        changed(GOOD, mcp_protocol_version="2027-01-01"),
        Sent(modern("tools/call", CALL, ident=9, meta={META_VERSION: "v999"}).body, GOOD.headers),
    ],
)
async def test_headers_that_do_not_repeat_the_body_are_refused(sent: Sent) -> None:
    async with House() as house:
        house.script.does("echo", text("never"))
        answered = await house.post(sent)
        assert answered.status == 400
        assert (answered.json["id"], answered.json["error"]["code"]) == (9, -32020)
        assert house.script.calls == []


async def test_blanks_around_a_header_and_its_spelling_do_not_count() -> None:
    async with House() as house:
        house.script.does("naïve", text("hi"))
        sent = modern("tools/call", {"name": "naïve"})
        assert sent.headers["Mcp-Name"].startswith("=?base64?")
        assert (await house.post(sent)).status == 200


@pytest.mark.parametrize("name", ["mcp-method", "mcp-name", "mcp-protocol-version"])
async def test_a_routing_header_that_stands_twice_is_refused(name: str) -> None:
    async with House() as house:
        value = {k.lower(): v for k, v in GOOD.headers.items()}[name]
        answered = await house.open(GOOD, extra=[(name.encode(), value.encode())]).whole()
        assert answered.status == 400
        assert answered.json == {
            "jsonrpc": "2.0",
            "id": 9,
            "error": {"code": -32020, "message": f"{name} appears more than once"},
        }


async def test_an_unknown_version_is_answered_with_those_that_are_known() -> None:
    async with House() as house:
        sent = modern("tools/call", CALL, ident=301, meta={META_VERSION: "v999.0.0"})
        answered = await house.post(changed(sent, mcp_protocol_version="v999.0.0"))
        assert answered.status == 400
        assert answered.json == {
            "jsonrpc": "2.0",
            "id": 301,
            "error": {
                "code": -32022,
                "message": "Unsupported protocol version",
                "data": {"supported": [MODERN, *LEGACY], "requested": "v999.0.0"},
            },
        }


async def test_a_legacy_request_of_an_unknown_version_is_refused_with_its_id() -> None:
    async with House() as house:
        body = rpc("tools/list", {}, "x")
        answered = await house.post(body, headers={"mcp-protocol-version": "1999-01-01"})
        assert (answered.status, answered.json["id"]) == (400, "x")
        assert answered.json["error"]["code"] == -32022


REMOVED = [
    "initialize",
    "ping",
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
]


@pytest.mark.parametrize("method", [*REMOVED, "unknown/method"])
async def test_removed_and_unknown_methods_are_not_found(method: str) -> None:
    """The era is decided by header and metadata, never by the method."""
    async with House() as house:
        answered = await house.modern(method, {"uri": "u", "level": "info"}, ident=500)
        assert (answered.status, answered.json["id"]) == (404, 500)
        assert answered.json["error"]["code"] == -32601
        assert [call.method for call in house.script.calls] == (
            [] if method in REMOVED else [method]
        )


async def test_no_error_of_the_modern_revision_has_a_null_id() -> None:
    async with House() as house:
        headers = {"mcp-protocol-version": MODERN, "mcp-method": "x"}
        bodies = [b"nonsense", b"[]", b"{}", b'{"jsonrpc":"2.0","id":null,"method":"x"}', b'"x"']
        bodies.append(b'{"jsonrpc":"2.0","result":{}}')
        for body in bodies:
            answered = await house.post(Sent(body, headers))
            assert answered.status == 400, body
            assert sorted(answered.json) == ["error", "jsonrpc"], body
        big = await house.post(Sent(b"x" * (1 << 21), headers))
        assert (big.status, sorted(big.json)) == (413, ["error", "jsonrpc"])


async def test_an_id_that_can_be_read_is_echoed_whatever_else_is_wrong() -> None:
    async with House() as house:
        headers = {"mcp-protocol-version": MODERN, "mcp-method": "x"}
        wide = ",".join(f'"k{n}":1' for n in range(10_001))
        flawed = b'{"jsonrpc":"2.0","id":"i-1","method":"x","params":{%b}}' % wide.encode()
        answered = await house.post(Sent(flawed, headers))
        assert (answered.status, answered.json["id"]) == (400, "i-1")
        posted = await house.post(Sent(b'{"jsonrpc":"2.0","id":4,"result":{}}', headers))
        assert (posted.status, "id" in posted.json) == (400, False)


@pytest.mark.parametrize("ident", [0, -1, 1762000000000, "", "ü", '"\\', "x" * 100, 2**70])
async def test_every_id_comes_back_with_its_type(ident: Any) -> None:
    """C-46."""
    async with House() as house:
        house.script.does("echo", text("hi"))
        assert (await house.modern("tools/call", CALL, ident=ident)).json["id"] == ident
        session = await house.session()
        assert (await session.ask("tools/call", CALL, ident=ident))["id"] == ident


async def test_a_modern_notification_is_acknowledged_and_goes_no_further() -> None:
    async with House() as house:
        sent = modern("notifications/roots/list_changed", ident=None)
        answered = await house.post(sent)
        assert (answered.status, answered.body) == (202, b"")
        assert house.script.calls == []


async def test_a_modern_notification_of_no_revision_is_a_call_that_nobody_waits_for() -> None:
    async with House() as house:
        for method, status in (
            ("notifications/acme.x", 202),
            ("tools/call", 400),
            ("Notifications/acme", 400),
        ):
            answered = await house.post(modern(method, {"n": 1}, ident=None))
            assert answered.status == status
        await house.quiet()
        assert [one.method for one in house.script.calls] == ["notifications/acme.x"]
        sent = modern("notifications/acme.x", ident=None)
        wrong = Sent(sent.body, {**sent.headers, "Mcp-Method": "tools/call"})
        answered = await house.post(wrong)
        assert (answered.status, answered.json["error"]["code"]) == (400, -32020)


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "HEAD", "OPTIONS"])
async def test_the_modern_revision_has_no_method_but_post(method: str) -> None:
    async with House() as house:
        wire = house.open(method=method, headers={"mcp-protocol-version": MODERN})
        answered = await wire.whole()
        assert (answered.status, answered.headers["allow"]) == (405, "POST")


async def test_legacy_knows_three_methods() -> None:
    async with House() as house:
        answered = await house.open(method="PUT").whole()
        assert (answered.status, answered.headers["allow"]) == (405, "GET, POST, DELETE")
        bare = await house.open(method="GET").whole()
        assert (bare.status, bare.headers["allow"]) == (405, "POST")


async def test_a_legacy_call_may_speak_about_the_modern_metadata() -> None:
    """Its text names the key that modern requests carry, and means nothing by it."""
    async with House() as house:
        house.script.does("echo", text("hi"))
        params = {"name": "echo", "arguments": {"text": f"what is {META_VERSION}?"}}
        answered = await house.post(rpc("tools/call", params, 1))
        assert (answered.status, "result" in answered.json) == (200, True)


async def test_a_session_header_means_nothing_in_a_modern_request() -> None:
    async with House() as house:
        house.script.does("echo", text("hi"))
        session = await house.session()
        for ident in (session.ident, "unknown"):
            answered = await house.modern("tools/call", CALL, headers={"mcp-session-id": ident})
            assert answered.status == 200
            assert "mcp-session-id" not in answered.headers
        assert [call.session for call in house.script.calls] == [None, None]


async def test_parameters_that_a_tool_mirrors_into_headers_must_agree() -> None:
    async with House() as house:
        house.script.does("sql", text("hi"))
        notes: dict[tuple[str, ...], str] = {("region",): "Region"}
        house.upstream.headers["sql"] = notes
        params = {"name": "sql", "arguments": {"region": "Zürich"}}
        good = modern("tools/call", params, annotations=notes)
        assert (await house.post(good)).status == 200
        broken = ["x", "=?base64?WsO8cmljaA?=", "=?base64?####?=", "WsO8cmljaA=="]
        bad = [changed(good, mcp_param_region=value) for value in broken]
        for sent in [*bad, without(good, "mcp-param-region")]:
            answered = await house.post(sent)
            assert (answered.status, answered.json["error"]["code"]) == (400, -32020)
        assert len(house.script.calls) == 1


async def test_a_refusal_is_spelled_for_its_era() -> None:
    async with House() as house:
        house.script.does("echo", Refusal("tool_not_found", "no such tool"))
        house.script.does("resources/read", Failure("not_found", "no", {"uri": "u"}))
        session = await house.session()
        old = await session.ask("resources/read", {"uri": "u"})
        new = await house.modern("resources/read", {"uri": "u"})
        tool = await house.modern("tools/call", CALL)
        assert (old["error"]["code"], old["error"]["data"]["uri"]) == (-32002, "u")
        assert new.json["error"]["code"] == -32602
        assert new.json["error"]["data"]["uri"] == "u"
        assert (new.status, tool.status) == (200, 200)
        assert tool.json["error"]["code"] == -32602
