"""The application on real sockets: what only shows when there is a network in between."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from gatewright.call import Answer, Back, Call, Event, Outcome, Question
from gatewright.command_text import Typed, is_heard_elsewhere, typed_as
from gatewright.mcp.server.guard import Guard
from gatewright.mcp.wire import jsonrpc
from gatewright.transport.base import Limits
from gatewright.transport.http_server import HttpServer, serve
from gatewright.web.sse import SseEvent, SseParser
from tests.dialects.client import Sent, modern, rpc, within
from tests.dialects.house import House, text
from tests.dialects.steps import CALL, TOLD, Hang, progress, progressed
from tests.transport.raw_http import dialled

BOTH = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
ABLE: dict[str, Any] = {"elicitation": {}}


@asynccontextmanager
async def served(house: House, **limits: Any) -> AsyncIterator[HttpServer]:
    server = await serve(house.app, host="127.0.0.1", port=0, limits=Limits(**limits))
    try:
        yield server
    finally:
        await house.app.close()
        await server.stop(1.0)


@asynccontextmanager
async def client(server: HttpServer, **options: Any) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(server.url, trust_env=False, **options) as session:
        yield session


async def posted(session: aiohttp.ClientSession, sent: Sent) -> tuple[int, Any]:
    """Status and last message."""
    headers = {**BOTH, **sent.headers}
    async with session.post("/mcp", data=sent.body, headers=headers) as response:
        body = await within(response.read())
        if response.content_type == "text/event-stream":
            return response.status, jsonrpc.decode(SseParser(1 << 24).feed(body)[-1].data)
        return response.status, jsonrpc.decode(body)


def raw(sent: Sent, length: int | None = None, path: str = "/mcp", **more: str) -> bytes:
    """A request as bytes."""
    size = len(sent.body) if length is None else length
    headers = {"host": "localhost", **BOTH, **sent.headers, **more, "content-length": str(size)}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"POST {path} HTTP/1.1\r\n{lines}\r\n".encode() + sent.body


async def connected(server: HttpServer, receive_buffer: int = 0) -> socket.socket:
    """A connection that reads only when it is told to."""
    raw_socket = socket.socket()
    raw_socket.setblocking(False)
    if receive_buffer:
        raw_socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    await asyncio.get_running_loop().sock_connect(raw_socket, ("127.0.0.1", server.port))
    return raw_socket


async def everything(raw_socket: socket.socket) -> bytes:
    """What comes until the other side closes."""
    pieces = []
    loop = asyncio.get_running_loop()
    try:
        while piece := await within(loop.sock_recv(raw_socket, 1 << 16)):
            pieces.append(piece)
    except ConnectionError:
        pass  # cut in the middle
    return b"".join(pieces)


async def eventually(found: Any) -> None:
    async with asyncio.timeout(10):
        while not found():
            await asyncio.sleep(0.005)


async def test_one_kept_connection_serves_calls_of_both_eras_and_refusals() -> None:
    async with House() as house, served(house) as server:
        house.script.does("echo", text("hi"))
        one = aiohttp.TCPConnector(limit=1)
        async with client(server, connector=one) as session:
            for number in range(5):
                status, found = await posted(session, modern("tools/call", CALL, ident=number))
                assert (status, found["id"]) == (200, number)
                status, found = await posted(session, Sent(rpc("tools/call", CALL, number), {}))
                assert (status, found["id"]) == (200, number)
                assert (await posted(session, Sent(b"nonsense", {})))[0] == 400
        assert len(house.script.calls) == 10


async def test_what_goes_before_the_answer_arrives_before_it() -> None:
    async with House() as house, served(house) as server:
        hang = Hang()

        async def tool(call: Call, back: Back) -> Outcome:
            back.emit(progress(1))
            return await hang(call, back)

        house.script.does("echo", tool)
        sent = modern("tools/call", TOLD, meta={"progressToken": "p-1"})
        async with client(server) as session:
            headers = {**BOTH, **sent.headers}
            async with session.post("/mcp", data=sent.body, headers=headers) as response:
                parser = SseParser(1 << 20)
                events: list[SseEvent] = []
                while not events:
                    events = parser.feed(await within(response.content.readany()))
                assert jsonrpc.decode(events[0].data) == progressed(1)
                assert not hang.end.is_set()
                hang.end.set()
                assert b'"resultType":"complete"' in await within(response.read())


async def test_a_listener_hears_at_once() -> None:
    async with House() as house, served(house) as server, client(server) as session:
        sent = modern("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        headers = {**BOTH, **sent.headers}
        async with session.post("/mcp", data=sent.body, headers=headers) as response:
            assert b"acknowledged" in await within(response.content.readany())
            house.upstream.tell("notifications/tools/list_changed")
            assert b"list_changed" in await within(response.content.readany())
        await eventually(lambda: house.upstream.watching == {})


async def test_a_modern_call_ends_with_its_connection() -> None:
    async with House() as house, served(house) as server:
        house.script.does("echo", Hang())
        connections = [await connected(server) for _ in range(20)]
        for connection in connections:
            connection.send(raw(modern("tools/call", CALL)))
            await house.began()
        for connection in connections:
            connection.close()
        await eventually(lambda: house.script.cancelled == ["echo"] * 20)
        await eventually(lambda: server.connections == 0)


async def test_a_parked_call_outlives_its_connection_and_is_taken_up_on_another() -> None:
    async def tool(call: Call, back: Back) -> Outcome:
        learned = await back.ask(Question("elicitation/create", {"message": "?"}))
        return Answer(jsonrpc.encode({"content": [], "learned": learned}))

    async with House() as house, served(house) as server:
        house.script.does("echo", tool)
        async with client(server) as session:
            first = modern("tools/call", CALL, capabilities=ABLE)
            asked = (await posted(session, first))[1]["result"]
        await eventually(lambda: server.connections == 0)
        again = {**CALL, "requestState": asked["requestState"], "inputResponses": {"q1": {"n": 1}}}
        async with client(server) as session:
            found = await posted(session, modern("tools/call", again, ident=2, capabilities=ABLE))
            assert found[1]["result"]["learned"] == {"n": 1}
            assert (await posted(session, first))[1]["result"]["resultType"] == "input_required"


async def test_a_broken_stream_is_taken_up_where_it_broke() -> None:
    async with House() as house, served(house) as server, client(server) as session:
        hang = Hang()

        async def tool(call: Call, back: Back) -> Outcome:
            back.emit(progress(1))
            return await hang(call, back)

        house.script.does("echo", tool)
        ours = await house.session()
        headers = {**BOTH, "mcp-session-id": ours.ident}
        connection = await connected(server)
        connection.send(raw(Sent(rpc("tools/call", TOLD, 7), {"mcp-session-id": ours.ident})))
        parser = SseParser(1 << 20)
        events: list[SseEvent] = []
        loop = asyncio.get_running_loop()
        while len(events) < 2:
            piece = await within(loop.sock_recv(connection, 1 << 16))
            body = piece.partition(b"\r\n\r\n")[2] if piece.startswith(b"HTTP") else piece
            events += parser.feed(unchunked(body))
        connection.close()
        hang.end.set()
        resumed = {**headers, "last-event-id": events[1].id, "accept": "text/event-stream"}
        async with session.get("/mcp", headers=resumed) as response:
            rest = SseParser(1 << 20).feed(await within(response.read()))
        assert [jsonrpc.decode(one.data)["id"] for one in rest] == [7]


def unchunked(body: bytes) -> bytes:
    """The content of whole chunks."""
    content = b""
    while body:
        size, _, body = body.partition(b"\r\n")
        content += body[: int(size, 16)]
        body = body[int(size, 16) + 2 :]
    return content


async def test_a_client_that_does_not_read_is_cut_and_hurts_nobody() -> None:
    """It holds no more than its share, loses its connection, and its call is cancelled."""

    async def flood(call: Call, back: Back) -> Outcome:
        while True:
            back.emit(Event("com.example/flood", {"x": "x" * 10_000}))
            await asyncio.sleep(0)

    async with House(queue_bytes=100_000) as house:
        house.script.does("flood", flood)
        house.script.does("echo", text("hi"))
        async with served(house, queue_bytes=100_000, patience_s=0.2) as server:
            slow = await connected(server, receive_buffer=4096)
            slow.send(raw(modern("tools/call", {"name": "flood"})))
            await house.began()
            async with client(server) as session:
                while not house.script.cancelled:
                    assert (await posted(session, modern("tools/call", CALL)))[0] == 200
            await eventually(lambda: server.connections == 0)
            assert house.script.cancelled == ["flood"]
            slow.close()


async def test_a_body_that_does_not_come_costs_its_client_the_connection_and_nobody_else() -> None:
    async with House() as house, served(house, body_timeout_s=0.1) as server:
        house.script.does("echo", text("hi"))
        slow = await connected(server)
        slow.send(raw(Sent(b"{", {}), length=100))
        async with client(server) as session:
            assert (await posted(session, modern("tools/call", CALL)))[0] == 200
        assert b" 408 " in (await everything(slow)).partition(b"\r\n")[0]
        slow.close()
        assert len(house.script.calls) == 1


async def test_a_body_that_is_too_long_is_refused_and_others_are_served() -> None:
    async with House(frame_bytes=10_000) as house, served(house) as server:
        house.script.does("echo", text("hi"))
        async with client(server) as session:
            for size, status in ((10_001, 413), (1_000_000, 413)):
                assert (await posted(session, Sent(b"x" * size, {})))[0] == status
            assert (await posted(session, modern("tools/call", CALL)))[0] == 200


async def test_a_client_that_leaves_in_the_middle_of_its_body_leaves_nothing_behind() -> None:
    async with House() as house, served(house) as server:
        connections = [await connected(server) for _ in range(20)]
        for connection in connections:
            connection.send(raw(Sent(b'{"jsonrpc":', {}), length=100))
        await eventually(lambda: server.connections == 20)
        for connection in connections:
            connection.close()
        await eventually(lambda: server.connections == 0)
        assert house.script.calls == []


# -- what is remembered of a head that comes again


async def test_a_known_head_means_what_the_configuration_of_now_makes_of_it() -> None:
    """The same bytes on the same connection, before and after the names and profiles of ours change."""
    ours = Guard(("gate.example",))
    request = raw(Sent(rpc("ping", None, 1), {}), path="/mcp/small", host="gate.example")
    async with House(guard=ours) as house, served(house) as server, dialled(server) as one:

        async def status() -> int:
            one.say(request)
            return (await one.hear())[0]

        assert [await status() for _ in range(3)] == [200] * 3
        house.app.adopt(ours, frozenset({"large"}))
        assert [await status() for _ in range(2)] == [404] * 2
        house.app.adopt(ours, frozenset({"small"}))
        assert [await status() for _ in range(2)] == [200] * 2
        house.app.adopt(Guard(), frozenset({"small"}))
        assert [await status() for _ in range(2)] == [403] * 2
        house.app.adopt(ours, frozenset({"small"}))
        assert await status() == 200


async def test_a_known_head_says_nothing_about_who_its_key_is_now() -> None:
    request = raw(Sent(rpc("ping", None, 1), {}), authorization="Bearer key-ann")
    async with House() as house, served(house) as server, dialled(server) as one:
        for gone, status in ((False, 200), (True, 401), (True, 401), (False, 200)):
            house.gone = {"key-ann"} if gone else set()
            for _ in range(2):
                one.say(request)
                assert (await one.hear())[0] == status


async def test_a_known_head_says_nothing_about_its_session() -> None:
    async with House() as house, served(house) as server, dialled(server) as one:
        session = await house.session(key="key-ann")
        asked = Sent(rpc("ping", None, 1), {"mcp-session-id": session.ident})
        mine, foreign = (raw(asked, authorization=f"Bearer key-{who}") for who in ("ann", "bob"))
        for request, status in ((mine, 200), (mine, 200), (foreign, 404), (foreign, 404)):
            one.say(request)
            assert (await one.hear())[0] == status
        house.app.streamable.sessions.close(session.ident)
        one.say(mine)
        assert (await one.hear())[0] == 404


async def test_a_known_head_that_was_passed_on_stays_one_of_somebody_elsewhere() -> None:
    typed_as(Typed("gatewright", file="/srv/mgp.toml"))
    async with House() as house, served(house) as server, dialled(server) as one:
        heard: list[bool] = []

        async def listens(call: Call, back: Back) -> Outcome:
            heard.append(is_heard_elsewhere())
            return text("hi")

        house.script.does("echo", listens)
        asked = modern("tools/call", CALL)
        for request in (raw(asked), raw(asked, via="1.1 proxy"), raw(asked)):
            for _ in range(3):
                one.say(request)
                assert (await one.hear())[0] == 200
        assert heard == [False] * 3 + [True] * 3 + [False] * 3


async def test_headers_of_a_known_head_are_compared_with_each_body() -> None:
    """Two bodies of the same length under the same head; the second is not what the head says."""
    async with House() as house, served(house) as server, dialled(server) as one:
        house.script.does("echo", text("hi"))
        good = raw(modern("tools/call", CALL))
        bad = good.replace(b'"name":"echo"', b'"name":"ohce"')
        assert (len(bad), bad != good) == (len(good), True)
        for request, status in ((good, 200), (good, 200), (bad, 400), (bad, 400), (good, 200)):
            one.say(request)
            assert (await one.hear())[0] == status
        assert len(house.script.calls) == 3


@pytest.mark.parametrize(
    "body",
    [
        rpc("tools/call", CALL, 1),
        rpc("tools/call", CALL, "one"),
        rpc("tools/call", {"name": 7}, 1),
        rpc("ping", None, 1),
        rpc("no/such", {}, 1),
        rpc("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}}, 1),
        rpc("notifications/initialized"),
        rpc("tools/list"),
        modern("tools/call", CALL).body,
        b'{"jsonrpc":"2.0","id":7,"result":{}}',
        b'{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call","params":{"name":"echo"}}',
        b'{"jsonrpc":"2.0","id":1,"\\u0069d":2,"method":"tools/call","params":{"name":"echo"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":' + b"[" * 99 + b"]" * 99 + b"}",
        b" [" + rpc("ping", None, 1) + b"]",
        b"nonsense",
        b"",
    ],
)
async def test_a_message_in_a_session_is_answered_the_same_under_a_head_that_is_known(
    body: bytes,
) -> None:
    async with House() as house, served(house) as server:
        house.script.does("echo", text("hi"))
        asked = {"mcp-session-id": (await house.session()).ident}
        async with dialled(server) as one:
            one.say(raw(Sent(body, asked)))
            fresh = await one.hear()
        async with dialled(server) as one:
            for _ in range(2):
                one.say(raw(Sent(rpc("ping", None, 1), asked)))
                assert (await one.hear())[0] == 200
            one.say(raw(Sent(body, asked)))
            assert _but_for_traces(await one.hear()) == _but_for_traces(fresh)


def _but_for_traces(answer: tuple[int, bytes]) -> tuple[int, bytes]:
    status, body = answer
    at = body.find(b'"trace_id":"') + len(b'"trace_id":"')
    return (status, body) if at < 12 else (status, body[:at] + body[body.index(b'"', at) :])
