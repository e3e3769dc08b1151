from __future__ import annotations

import asyncio
import base64
import os
import socket
import struct
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest
from websockets.asyncio.client import connect as dial
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Subprotocol

from gatewright.transport.base import FROM_CLIENTS, FROM_SERVERS, SLOW_READER, Closed, Limits
from gatewright.transport.http_server import HttpServer, serve
from gatewright.transport.websocket import Accepted, CannotConnect, Connected, connect, refuse
from tests.transport.collecting import DEADLINE_S, Collector, within

SHORT = 0.1


class Door:
    """An ASGI application that accepts WebSockets and keeps their pipes."""

    def __init__(self, limits: Limits, *, echo: bool, subprotocol: str | None) -> None:
        self.limits = limits
        self.echo = echo
        self.subprotocol = subprotocol
        self.pipe: Accepted
        self.reasons: list[str] = []
        self.there = asyncio.Event()
        self.collector = Collector(self._answer)
        self.server: HttpServer

    @property
    def url(self) -> str:
        return self.server.url.replace("http", "ws")

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.pipe = Accepted(receive, send, self.collector, self.limits)
        self.there.set()
        self.reasons.append(await self.pipe.serve(self.subprotocol))

    def _answer(self, message: bytes) -> None:
        if self.echo:
            self.pipe.send(message)


Open = Callable[..., Coroutine[Any, Any, Door]]


@pytest.fixture
async def door() -> AsyncIterator[Open]:
    """Opens doors."""
    servers: list[HttpServer] = []

    async def opener(
        app: Any = None,
        *,
        limits: Limits = FROM_CLIENTS,
        echo: bool = True,
        subprotocol: str | None = "mcp",
    ) -> Door:
        made = Door(limits, echo=echo, subprotocol=subprotocol)
        made.server = await serve(app or made, limits=limits)
        servers.append(made.server)
        return made

    yield opener
    for server in servers:
        await within(server.stop(0.1))


async def client(at: Door, limits: Limits = FROM_SERVERS) -> tuple[Connected, Collector]:
    collector = Collector()
    pipe = await within(connect(at.url, receiver=collector, limits=limits))
    await within(at.there.wait())
    return pipe, collector


async def close_code(connection: Any) -> int:
    """Read until the peer closes, and return its close code."""
    with pytest.raises(ConnectionClosed) as caught:
        await within(_read_on(connection))
    assert caught.value.rcvd is not None
    return caught.value.rcvd.code


async def _read_on(connection: Any) -> None:
    while True:
        await connection.recv()


async def shake_hands(at: Door, more: bytes = b"") -> socket.socket:
    """The upgrade by hand, for a client that then never reads."""
    raw = socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    raw.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(raw, ("127.0.0.1", at.server.port))
    key = base64.b64encode(os.urandom(16))
    head = (
        b"GET /mcp HTTP/1.1\r\nhost: a\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
        b"sec-websocket-version: 13\r\nsec-websocket-protocol: mcp\r\n"
        b"sec-websocket-key: " + key + b"\r\n" + more + b"\r\n"
    )
    await loop.sock_sendall(raw, head)
    return raw


async def nobody_left(server: HttpServer) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while server.connections:
            await asyncio.sleep(0.01)


async def test_messages_go_there_and_back_in_order(door: Open) -> None:
    at = await door()
    pipe, collector = await client(at)
    sent = [b'{"id":%d,"text":"\xc3\xa4"}' % number for number in range(2000)]
    for message in sent:
        pipe.send(message)
    assert await collector.count(len(sent)) == sent
    pipe.close()
    assert await collector.end() == "closed"


async def test_a_large_message_goes_through_whole(door: Open) -> None:
    at = await door(limits=FROM_SERVERS)
    pipe, collector = await client(at)
    message = b"x" * (8 << 20)
    pipe.send(message)
    assert await collector.count(1) == [message]
    pipe.close()


async def test_closing_at_the_client_ends_both_after_the_last_message(door: Open) -> None:
    at = await door(echo=False)
    pipe, collector = await client(at)
    pipe.send(b"last")
    pipe.close()
    pipe.close()
    with pytest.raises(Closed, match="closed"):
        pipe.send(b"late")
    assert await within(pipe.wait_closed()) == "closed"
    assert await at.collector.end() == "closed by the peer"
    assert at.collector.messages == [b"last"]
    assert (at.reasons, collector.ends) == (["closed by the peer"], ["closed"])


async def test_closing_at_the_server_ends_both_after_the_last_message(door: Open) -> None:
    at = await door(echo=False)
    _, collector = await client(at)
    at.pipe.send(b"last")
    at.pipe.close()
    assert await collector.end() == "closed by the peer"
    assert collector.messages == [b"last"]
    assert await within(at.pipe.wait_closed()) == "closed"
    with pytest.raises(Closed, match="closed"):
        at.pipe.send(b"late")


async def test_a_client_that_vanishes_ends_the_pipe_without_an_error_in_the_log(
    door: Open, caplog: pytest.LogCaptureFixture
) -> None:
    at = await door(echo=False)
    pipe, _ = await client(at)
    pipe._connection.transport.abort()
    assert await at.collector.end() == "closed by the peer"
    await nobody_left(at.server)
    assert caplog.records == []


async def test_a_binary_frame_is_answered_with_1003(door: Open) -> None:
    at = await door()
    async with dial(at.url, subprotocols=[Subprotocol("mcp")], proxy=None) as connection:
        await connection.send(b"binary")
        assert await close_code(connection) == 1003
    assert await at.collector.end() == "a binary frame; messages are text"
    assert at.collector.messages == []


async def test_a_binary_frame_from_a_server_ends_the_client_too(door: Open) -> None:
    async def binary(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept", "subprotocol": "mcp"})
        await send({"type": "websocket.send", "bytes": b"binary"})
        while (await receive())["type"] != "websocket.disconnect":
            pass

    at = await door(binary)
    collector = Collector()
    await within(connect(at.url, receiver=collector))
    assert await collector.end() == "a binary frame; messages are text"
    assert collector.messages == []


async def test_a_frame_over_the_limit_is_answered_with_1009(door: Open) -> None:
    at = await door(limits=Limits(frame_bytes=1000))
    async with dial(at.url, subprotocols=[Subprotocol("mcp")], proxy=None) as connection:
        await connection.send("x" * 1000)
        assert await within(connection.recv()) == "x" * 1000
        await connection.send("x" * 1001)
        assert await close_code(connection) == 1009
    assert await at.collector.end() == "a message longer than 1000 bytes"


async def test_a_message_in_many_fragments_counts_as_one(door: Open) -> None:
    at = await door(limits=Limits(frame_bytes=1000))
    async with dial(at.url, subprotocols=[Subprotocol("mcp")], proxy=None) as connection:
        await connection.send(["ab", "cd", "ef"])
        assert await within(connection.recv()) == "abcdef"
        with pytest.raises(ConnectionClosed) as caught:  # noqa: PT012 - the close may come in between
            await connection.send(["x" * 100] * 11)
            await within(_read_on(connection))
        assert caught.value.rcvd is not None
        assert caught.value.rcvd.code == 1009


async def test_a_frame_over_the_limit_from_a_server_ends_the_client(door: Open) -> None:
    at = await door(echo=False)
    _, collector = await client(at, Limits(frame_bytes=1000))
    at.pipe.send(b"x" * 1001)
    assert await collector.end() == "a message longer than 1000 bytes"


async def test_text_that_is_not_utf8_closes_the_connection(
    door: Open, caplog: pytest.LogCaptureFixture
) -> None:
    at = await door()
    raw = await shake_hands(at)
    await within(at.there.wait())
    loop = asyncio.get_running_loop()
    await within(loop.sock_sendall(raw, b"\x81\x82\0\0\0\0\xff\xff"))
    await at.collector.end()
    assert at.collector.messages == []
    raw.close()
    await nobody_left(at.server)


async def test_bytes_that_are_not_utf8_are_sent_as_a_whole_frame_all_the_same(door: Open) -> None:
    at = await door(echo=False)
    _, collector = await client(at)
    at.pipe.send(b'"\xff"')
    assert await collector.count(1) == ['"\ufffd"'.encode()]
    at.pipe.close()


async def test_a_client_that_does_not_read_is_cut_off_as_a_slow_reader(door: Open) -> None:
    limits = Limits(queue_bytes=1 << 16, burst_bytes=1 << 20)
    at = await door(limits=limits, echo=False)
    raw = await shake_hands(at)
    await within(at.there.wait())
    with pytest.raises(Closed) as caught:  # noqa: PT012 - which of the sends raises is the pipe's affair
        for _ in range(1000):
            at.pipe.send(b"x" * 65536)
            await asyncio.sleep(0)
    assert caught.value.reason == SLOW_READER
    assert await at.collector.end() == SLOW_READER
    await nobody_left(at.server)
    raw.close()


async def test_patience_with_a_client_that_does_not_read_ends(door: Open) -> None:
    at = await door(limits=Limits(queue_bytes=1 << 16, patience_s=SHORT), echo=False)
    raw = await shake_hands(at)
    await within(at.there.wait())
    for _ in range(16):
        at.pipe.send(b"x" * (1 << 20))
    assert await at.collector.end() in {SLOW_READER, "closed by the peer"}
    await nobody_left(at.server)
    raw.close()


async def test_a_client_that_can_still_be_told_gets_1013(door: Open) -> None:
    """It reads; it was merely sent more in one turn than may wait."""
    at = await door(limits=Limits(queue_bytes=1000, burst_bytes=1000), echo=False)
    async with dial(at.url, subprotocols=[Subprotocol("mcp")], proxy=None) as connection:
        await within(at.there.wait())
        await asyncio.sleep(0)
        at.pipe.send(b"x" * 1001)
        with pytest.raises(Closed, match=SLOW_READER):
            at.pipe.send(b"x")
        assert await close_code(connection) == 1013
    assert await at.collector.end() == SLOW_READER


async def test_a_server_that_does_not_read_is_a_slow_reader_for_the_client(door: Open) -> None:
    stay = asyncio.Event()

    async def deaf(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept", "subprotocol": "mcp"})
        await stay.wait()

    at = await door(deaf, limits=FROM_SERVERS)
    collector = Collector()
    limits = Limits(queue_bytes=1 << 16, patience_s=SHORT)
    pipe = await within(connect(at.url, receiver=collector, limits=limits))
    for _ in range(14):
        pipe.send(b"x" * (1 << 20))
    assert await collector.end() == SLOW_READER
    stay.set()


async def test_a_peer_that_answers_no_ping_is_cut_off(door: Open) -> None:
    at = await door(limits=Limits(ping_interval_s=SHORT), echo=False)
    raw = await shake_hands(at)
    await within(at.there.wait())
    assert await at.collector.end() == "closed by the peer"
    await nobody_left(at.server)
    raw.close()


async def test_a_flood_of_frames_leaves_turns_to_others(door: Open) -> None:
    at = await door(limits=Limits(turn_messages=10), echo=False)
    raw = await shake_hands(at)
    await within(at.there.wait())
    loop = asyncio.get_running_loop()
    most = 0
    before = 0

    def look() -> None:
        nonlocal most, before
        most = max(most, len(at.collector.messages) - before)
        before = len(at.collector.messages)
        if before < 5000:
            loop.call_soon(look)

    look()
    frame = b"\x81\x82" + struct.pack("!I", 0) + b"{}"
    await within(loop.sock_sendall(raw, frame * 5000))
    await at.collector.count(5000)
    assert most <= 11
    raw.close()


async def test_an_upgrade_is_refused_with_a_status_and_a_body(door: Open) -> None:
    async def closed(scope: Any, receive: Any, send: Any) -> None:
        await refuse(receive, send, 401, b'{"no":1}', ((b"www-authenticate", b"Bearer"),))

    at = await door(closed)
    with pytest.raises(InvalidStatus) as caught:
        await within(_dial(at.url))
    response = caught.value.response
    assert (response.status_code, response.body) == (401, b'{"no":1}')
    assert response.headers["www-authenticate"] == "Bearer"
    with pytest.raises(CannotConnect, match="refused the connection: HTTP 401") as told:
        await within(connect(at.url, receiver=Collector()))
    assert told.value.status == 401


async def _dial(url: str) -> None:
    await dial(url, proxy=None)


async def test_a_server_that_cannot_be_reached_is_named(door: Open) -> None:
    at = await door()
    await within(at.server.stop(0))
    with pytest.raises(CannotConnect, match="cannot be reached") as caught:
        await within(connect(at.url, receiver=Collector()))
    assert caught.value.status is None
    with pytest.raises(CannotConnect, match="cannot be reached"):
        await within(connect("http://127.0.0.1/", receiver=Collector()))


async def test_a_server_without_the_subprotocol_is_not_talked_to(door: Open) -> None:
    at = await door(subprotocol=None)
    with pytest.raises(CannotConnect, match="subprotocol 'mcp'"):
        await within(connect(at.url, receiver=Collector()))


async def test_headers_reach_the_server(door: Open) -> None:
    seen: list[Any] = []

    async def look(scope: Any, receive: Any, send: Any) -> None:
        seen.extend(scope["headers"])
        await refuse(receive, send, 403, b"{}")

    at = await door(look)
    with pytest.raises(CannotConnect):
        await within(connect(at.url, receiver=Collector(), headers={"Authorization": "Bearer x"}))
    assert (b"authorization", b"Bearer x") in seen


@pytest.mark.parametrize(
    "more",
    [b"x: " + b"a" * 9000 + b"\r\n", b"".join(b"x-%d: a\r\n" % n for n in range(200))],
    ids=["long", "many"],
)
async def test_a_handshake_with_too_much_in_it_is_answered_431(
    door: Open, more: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    at = await door()
    raw = await shake_hands(at, more)
    heard = await within(asyncio.get_running_loop().sock_recv(raw, 1000))
    assert heard.startswith(b"HTTP/1.1 431 ")
    raw.close()
    await nobody_left(at.server)
    assert caplog.records == []


async def test_stopping_the_server_tells_clients_to_go(door: Open) -> None:
    at = await door(echo=False)
    _, collector = await client(at)
    await within(at.server.stop(20))
    assert await collector.end() == "closed by the peer"
    assert await at.collector.end() == "closed by the peer"


async def test_a_handler_that_is_cancelled_closes_its_pipe(door: Open) -> None:
    at = await door(echo=False)
    _, collector = await client(at)
    for task in list(at.server._state.tasks):
        task.cancel()
    assert await at.collector.end() == "closed by the peer"
    await collector.end()
    with pytest.raises(Closed):
        at.pipe.send(b"x")
