"""The short way of modern requests under a head that came before: the same as the long way, for whatever comes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from gatewright.call import Call
from gatewright.mcp.server.modern_http import ModernHttp
from gatewright.mcp.wire.headers_and_meta import (
    META_CLIENT_CAPABILITIES,
    META_CLIENT_INFO,
    META_LOG_LEVEL,
    META_VERSION,
)
from gatewright.transport.http_server import HttpServer
from tests.dialects.client import Sent, modern, rpc
from tests.dialects.house import House, text
from tests.dialects.steps import CALL
from tests.mcp.server.test_http_app_served import raw, served
from tests.transport.raw_http import dialled

USUAL = modern("tools/call", CALL)
OWN = {META_VERSION: "2026-07-28", META_CLIENT_INFO: {"name": "test"}, META_CLIENT_CAPABILITIES: {}}
ABOUT = {*OWN, META_LOG_LEVEL}


def bodies() -> Iterator[tuple[str, bytes]]:
    """What may come under the head of a call of `echo`."""
    yield "the same", USUAL.body
    yield "other arguments", modern("tools/call", {**CALL, "arguments": {"a": [1, {}]}}).body
    yield "no arguments", modern("tools/call", {"name": CALL["name"]}).body
    yield "another tool", modern("tools/call", {**CALL, "name": "other"}).body
    yield "no tool", modern("tools/call", {}).body
    yield "no text", modern("tools/call", {**CALL, "name": 7}).body
    for method in ("prompts/get", "tools/list", "server/discover", "nobody/knows", "initialize"):
        yield method, modern(method, CALL).body
    for name, meta in metas():
        yield name, modern("tools/call", CALL, meta=meta).body
    for left in OWN:
        said = {key: one for key, one in OWN.items() if key != left}
        yield f"without {left}", rpc("tools/call", {**CALL, "_meta": said}, 1)
    yield "no _meta", rpc("tools/call", CALL, 1)
    yield "_meta is a list", rpc("tools/call", {**CALL, "_meta": []}, 1)
    yield "params are a list", rpc("tools/call", [1], 1)
    yield "no params", b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}'
    yield "a notification", b'{"jsonrpc":"2.0","method":"tools/call","params":{}}'
    yield "a notification of MCP", b'{"jsonrpc":"2.0","method":"notifications/cancelled"}'
    yield "an answer", b'{"jsonrpc":"2.0","id":1,"result":{}}'
    yield "a batch", b"[" + USUAL.body + b"]"
    yield "no JSON", b"nonsense"
    yield "nothing", b""
    yield "a state", modern("tools/call", {**CALL, "requestState": "forged"}).body
    yield "a second spelling", rpc("tools/call", {**CALL, "Name": "other", "_meta": OWN}, 1)


def metas() -> Iterator[tuple[str, dict[str, Any]]]:
    """What `_meta` may say besides, or otherwise."""
    yield "a token", {"progressToken": "p"}
    yield "a trace", {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
    yield "a level", {META_LOG_LEVEL: "debug"}
    yield "no level", {META_LOG_LEVEL: "loud"}
    yield "another revision", {META_VERSION: "2025-11-25"}
    yield "no revision", {META_VERSION: "tomorrow"}
    yield "somebody else", {META_CLIENT_INFO: {"name": "another"}}
    yield "more", {META_CLIENT_CAPABILITIES: {"elicitation": {}}}
    yield "MGP", {META_CLIENT_CAPABILITIES: {"mgp": {"version": "0.2.0", "extensions": []}}}
    yield "a flawed offer", {META_CLIENT_CAPABILITIES: {"mgp": 7}}
    yield "nothing said", {META_CLIENT_CAPABILITIES: []}


async def exchanged(server: HttpServer, *sent: Sent) -> list[tuple[int, bytes]]:
    """What is answered on one connection, one request after the other: status and body."""
    async with dialled(server) as line:
        found = []
        for one in sent:
            line.say(raw(one))
            found.append(await line.hear())
        return found


def seen(call: Call) -> tuple[Any, ...]:
    """What the kernel is asked, but for what only says who asks: that stands in `client`."""
    params = {key: one for key, one in call.params.items() if key != "_meta"}
    rest = {key: one for key, one in (call.params.get("_meta") or {}).items() if key not in ABOUT}
    return call.method, call.name, params, rest, call.client


async def asked(before: tuple[Sent, ...], sent: Sent, **headers: Any) -> tuple[Any, ...]:
    """The last of two answers to a request behind some others, and the calls that it led to."""
    async with House() as house, served(house) as server:
        house.script.does("echo", text("hi"))
        house.upstream.headers.update(headers)
        found = await exchanged(server, *before, sent, sent)
        return found[-1], [seen(one) for one in house.script.calls[len(before) :]]


@pytest.mark.parametrize("body", [pytest.param(body, id=name) for name, body in bodies()])
async def test_the_short_way_is_the_long_one(body: bytes) -> None:
    sent = Sent(body, USUAL.headers)
    assert await asked((USUAL, USUAL), sent) == await asked((), sent)


@pytest.mark.parametrize(
    "headers",
    [
        {"Mcp-Name": "other"},
        {"Mcp-Name": "=?base64?ZWNobw==?="},
        {"Mcp-Name": "=?base64?ZWNob?="},
        {"Mcp-Method": "prompts/get"},
        {"MCP-Protocol-Version": "2025-11-25"},
        {"content-type": "text/plain"},
        {"accept": "text/plain"},
    ],
)
async def test_a_head_that_says_otherwise_is_refused_however_often_it_comes(
    headers: dict[str, str],
) -> None:
    sent = Sent(USUAL.body, {**USUAL.headers, **headers})
    first = await asked((), sent)
    async with House() as house, served(house) as server:
        house.script.does("echo", text("hi"))
        found = await exchanged(server, *[sent] * 5)
    assert set(found) == {first[0]}


async def test_arguments_that_stand_in_the_head_are_compared_each_time() -> None:
    marks: Any = {("text",): "Text"}
    said = {**CALL, "arguments": {"text": "a"}}
    good = modern("tools/call", said, annotations=marks)
    other = Sent(modern("tools/call", {**CALL, "arguments": {"text": "b"}}).body, good.headers)
    (status, body), calls = await asked((good, good), other, echo=marks)
    assert (status, calls) == (400, [])
    assert b"-32020" in body


@pytest.mark.parametrize("before", [0, 2])
async def test_a_call_waits_for_the_names_before_its_head_is_compared(before: int) -> None:
    async with House() as house, served(house) as server:
        house.script.does("echo", text("hi"))
        usual = await exchanged(server, *[USUAL] * (before + 1))
        waited: list[str] = []

        async def named() -> None:
            waited.append("long")
            house.upstream.headers["echo"] = {("text",): "Text"}

        house.upstream.waits.append(named)
        said = modern("tools/call", {**CALL, "arguments": {"text": "a"}})
        ((status, body),) = await exchanged(server, said)
    assert usual[-1][0] == 200
    assert (waited, status) == (["long"], 400)
    assert b"-32020" in body


async def test_a_short_way_was_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the others compare is there."""
    gone = []
    again = ModernHttp.again

    def counted(self: ModernHttp, *said: Any) -> Any:
        gone.append(said)
        return again(self, *said)

    monkeypatch.setattr(ModernHttp, "again", counted)
    async with House() as house, served(house) as server:
        house.script.does("echo", text("hi"))
        await exchanged(server, *[USUAL] * 4)
        clients = [one.client for one in house.script.calls]
    assert len(gone) >= 2
    assert clients[-1] is clients[-2]


async def test_a_long_introduction_is_not_kept() -> None:
    long = modern("tools/call", CALL, meta={META_CLIENT_INFO: {"name": "a" * 5000}})
    async with House() as house, served(house) as server:
        house.script.does("echo", text("hi"))
        await exchanged(server, *[long] * 4)
        clients = [one.client for one in house.script.calls]
    assert clients[-1] is not clients[-2]


async def test_a_call_waits_once_for_names_that_are_others_again_and_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else whoever changes its lists without end keeps all calls from being judged."""
    waited = []

    async def made() -> None:
        waited.append(1)
        if len(waited) > 10:
            raise RuntimeError("it waits for ever")

    async with House() as house, served(house) as server:
        house.script.does("echo", text("hi"))
        monkeypatch.setattr(house.upstream, "making", lambda profile: made())
        found = await exchanged(server, USUAL)
    assert (found[-1][0], len(waited)) == (200, 1)
