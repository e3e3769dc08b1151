"""MCP over WebSocket, on real sockets: who gets in, both eras, and how it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from websockets.asyncio.client import connect as dial
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Subprotocol

from gatewright.call import Answer, Back, Call, Outcome, Question
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.headers_and_meta import META_CLIENT_CAPABILITIES
from gatewright.transport.base import Limits
from gatewright.transport.http_server import serve
from gatewright.transport.websocket import Connected, connect
from tests.dialects.client import rpc, within
from tests.dialects.hosts import Host
from tests.dialects.house import ANN, INFO, MGP_OFFER, House, text
from tests.dialects.steps import CALL, TOLD, Hang, progress, progressed


@asynccontextmanager
async def served(house: House) -> AsyncIterator[str]:
    """The URL of the endpoint while the gateway is served."""
    limits = Limits(frame_bytes=house.front.frame_bytes)
    server = await serve(house.app, host="127.0.0.1", port=0, limits=limits)
    try:
        yield server.url.replace("http", "ws", 1) + "/mcp"
    finally:
        await server.stop(1.0)


async def connected(url: str, **headers: str) -> tuple[Host, Connected]:
    host = Host()
    pipe = await within(connect(url, receiver=host, headers=headers))
    host.send = pipe.send
    return host, pipe


async def gone(house: House) -> None:
    """Wait until no connection is left."""
    async with asyncio.timeout(5):
        while house.front.owners:
            await asyncio.sleep(0.01)


def asks(question: Question) -> Any:
    async def tool(call: Call, back: Back) -> Outcome:
        return Answer(jsonrpc.encode({"content": [], "learned": await back.ask(question)}))

    return tool


async def test_a_host_shakes_hands_and_calls() -> None:
    """MGP-1.1-1."""
    async with House(anonymous=False) as house, served(house) as url:
        house.script.does("echo", text("hi"))
        host, pipe = await connected(url, Authorization="Bearer key-ann")
        assert await host.hello() == {
            "protocolVersion": "2025-11-25",
            "capabilities": house.upstream.capabilities,
            "serverInfo": INFO,
        }
        answered = await host.ask("tools/call", CALL, "a")
        content = [{"type": "text", "text": "hi"}]
        assert answered == {"jsonrpc": "2.0", "id": "a", "result": {"content": content}}
        call = house.script.calls[0]
        assert (call.caller, call.credential) == (ANN, "key-ann")
        assert (call.door, call.profile) == ("websocket", "")
        assert house.front.owners == {call.session: ("agent", "ann")}
        pipe.close()
        await gone(house)


async def test_both_eras_and_mgp_come_through() -> None:
    """MGP-2.1-1 and MGP-2.3-1."""

    async def tool(call: Call, back: Back) -> Outcome:
        back.emit(progress(1))
        return text("done")

    async with House() as house, served(house) as url:
        house.script.does("echo", tool)
        host, pipe = await connected(url + "/small")
        host.modern("tools/call", CALL, progressToken="p-1")
        assert await host.next() == progressed(1)
        assert (await host.next())["result"]["resultType"] == "complete"
        hello = await host.hello(mgp=MGP_OFFER)
        assert hello["capabilities"]["mgp"] == MGP_OFFER
        ident = host.began("tools/call", TOLD)
        assert await host.next() == progressed(1)
        assert (await host.next())["id"] == ident
        assert {call.profile for call in house.script.calls} == {"small"}
        pipe.close()
        await gone(house)


async def test_questions_are_asked_in_both_eras() -> None:
    async with House() as house, served(house) as url:
        house.script.does("echo", asks(Question("elicitation/create", {"message": "?"})))
        host, pipe = await connected(url)
        able: dict[str, Any] = {META_CLIENT_CAPABILITIES: {"elicitation": {}}}
        host.modern("tools/call", CALL, **able)
        asked = (await host.next())["result"]
        again = {**CALL, "requestState": asked["requestState"], "inputResponses": {"q1": {"n": 1}}}
        host.modern("tools/call", again, **able)
        assert (await host.next())["result"]["learned"] == {"n": 1}
        await host.hello(elicitation={})
        host.began("tools/call", CALL)
        question = await host.next()
        host.send(jsonrpc.encode({"jsonrpc": "2.0", "id": question["id"], "result": {"n": 2}}))
        assert (await host.next())["result"]["learned"] == {"n": 2}
        pipe.close()
        await gone(house)


async def refused(url: str, *protocols: str, **headers: str) -> tuple[int, Any, str | None]:
    """Status, error and challenge of an upgrade that is refused."""
    offered = [Subprotocol(one) for one in protocols] or None
    with pytest.raises(InvalidStatus) as found:
        await dial(url, subprotocols=offered, additional_headers=headers, proxy=None)
    response = found.value.response
    body = jsonrpc.decode(bytes(response.body or b""))
    assert body.pop("jsonrpc") == "2.0"
    return response.status_code, body, response.headers.get("www-authenticate")


async def test_a_stranger_is_refused_before_the_upgrade() -> None:
    async with House(anonymous=False) as house, served(house) as url:
        status, body, challenge = await refused(url, "mcp")
        assert (status, challenge) == (401, 'Bearer realm="gatewright"')
        assert body == {
            "error": {
                "code": 1002,
                "message": "authentication is required",
                "data": {"reason": "auth_required"},
            }
        }
        status, body, challenge = await refused(url, "mcp", Authorization="Bearer key-eve")
        assert (status, challenge) == (401, 'Bearer realm="gatewright", error="invalid_token"')
        assert house.front.owners == {}


async def test_a_foreign_page_is_refused_before_anybody_asks_who_it_is() -> None:
    async with House(anonymous=False) as house, served(house) as url:
        status, body, challenge = await refused(url, "mcp", Origin="http://evil.example")
        assert (status, challenge) == (403, None)
        assert body["error"]["data"] == {"reason": "origin_refused"}


async def test_who_speaks_something_else_or_elsewhere_is_refused() -> None:
    async with House() as house, served(house) as url:
        assert (await refused(url))[0] == 400
        assert (await refused(url, "chat"))[0] == 400
        for path in ("/none", "/../sse", "/../metrics"):
            assert (await refused(url.replace("/mcp", "") + path.replace("/..", ""), "mcp"))[
                0
            ] == 404


async def test_a_broken_frame_is_answered_and_the_connection_goes_on() -> None:
    async with House() as house, served(house) as url:
        host, pipe = await connected(url)
        for frame in (b"nonsense", b"[]", b"7", b""):
            host.send(frame)
            assert (await host.next())["error"]["code"] in (-32700, -32600)
        assert (await host.ask("ping"))["result"] == {}
        pipe.close()
        await gone(house)


async def test_frames_that_are_too_long_or_no_text_end_the_connection() -> None:
    async with House(frame_bytes=1000) as house, served(house) as url:
        for frame, code in (("x" * 2000, 1009), (b"{}", 1003)):
            async with dial(url, subprotocols=[Subprotocol("mcp")], proxy=None) as connection:
                await connection.send(frame)
                with pytest.raises(ConnectionClosed) as closed:
                    await within(connection.recv())
                assert closed.value.rcvd is not None
                assert closed.value.rcvd.code == code
        await gone(house)


async def test_a_cancelled_request_is_not_answered() -> None:
    async with House() as house, served(house) as url:
        house.script.does("echo", hang := Hang())
        host, pipe = await connected(url)
        running = host.began("tools/call", CALL)
        await within(hang.began.wait())
        host.send(rpc("notifications/cancelled", {"requestId": running}))
        assert (await host.ask("ping"))["result"] == {}
        assert house.script.cancelled == ["echo"]
        pipe.close()
        await gone(house)


async def test_twenty_hosts_that_vanish_without_a_goodbye_leave_nothing_behind() -> None:
    async with House() as house, served(house) as url:
        house.script.does("echo", Hang())
        connections = []
        for _ in range(20):
            connection = await dial(url, subprotocols=[Subprotocol("mcp")], proxy=None)
            await connection.send(rpc("tools/call", CALL, 1).decode())
            connections.append(connection)
        for _ in connections:
            await house.began()
        for connection in connections:
            connection.transport.abort()
        await gone(house)
        async with asyncio.timeout(5):
            while len(house.script.cancelled) < 20:
                await asyncio.sleep(0.01)


async def test_the_gateway_closes_its_connections() -> None:
    async with House() as house, served(house) as url:
        host, _ = await connected(url)
        await host.hello()
        await house.app.close()
        assert await within(host.ended) == "closed by the peer"
        await gone(house)
