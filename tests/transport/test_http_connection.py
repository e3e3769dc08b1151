from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest

from gatewright.transport import http_connection
from gatewright.transport.base import Limits
from gatewright.transport.http_server import HttpServer, serve
from tests.transport.asgi import answer, echo, echo_at_most
from tests.transport.collecting import DEADLINE_S, within

KIB = 1024
GET = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n"
SHORT = 0.1
"""A time-out short enough to wait for."""


class Client:
    """A client that says exactly what it is told to."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def say(self, *pieces: bytes) -> None:
        for piece in pieces:
            self.writer.write(piece)

    async def hear(self) -> tuple[int, bytes]:
        """One response with a content length: status and body."""
        head = await within(self.reader.readuntil(b"\r\n\r\n"))
        fields = head.lower().split(b"content-length:")
        length = int(fields[1].split(b"\r\n")[0])
        return int(head.split()[1]), await within(self.reader.readexactly(length))

    async def end(self) -> bytes:
        """Everything until the server closes."""
        return await within(self.reader.read())

    async def cut_off(self) -> bytes:
        """The same for one that goes on talking, to whom the system may also send a reset."""
        try:
            return await self.end()
        except ConnectionResetError:
            return b""


Connect = Callable[..., Coroutine[Any, Any, Client]]


@pytest.fixture
async def server_of() -> AsyncIterator[Callable[..., Coroutine[Any, Any, HttpServer]]]:
    servers: list[HttpServer] = []

    async def start(app: Any, **limits: Any) -> HttpServer:
        server = await serve(app, limits=Limits(**limits))
        servers.append(server)
        return server

    yield start
    for server in servers:
        await within(server.stop(0.1))


@pytest.fixture
async def connect(
    server_of: Callable[..., Coroutine[Any, Any, HttpServer]],
) -> AsyncIterator[Connect]:
    """Starts a server with such limits, or takes a given one, and connects to it."""
    clients: list[Client] = []

    async def connector(app: Any = echo, *, to: HttpServer | None = None, **limits: Any) -> Client:
        server = to or await server_of(app, **limits)
        client = Client(*await asyncio.open_connection("127.0.0.1", server.port))
        clients.append(client)
        return client

    yield connector
    for client in clients:
        client.writer.transport.abort()


async def nobody_left(server: HttpServer) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while server.connections:
            await asyncio.sleep(0.01)


async def never_reads(scope: Any, receive: Any, send: Any) -> None:
    """Answers at once, whatever the body."""
    await answer(send, 401, b"no")


# -- header blocks


@pytest.mark.parametrize(
    "block",
    [
        b"x-a: " + b"a" * 40 * KIB + b"\r\n",
        b"".join(b"x-%d: a\r\n" % number for number in range(5000)),
        b"x-a: " + b"a" * 200 * KIB,
    ],
    ids=["one-long", "many", "endless"],
)
async def test_a_header_block_over_the_limit_is_answered_431(
    connect: Connect, block: bytes
) -> None:
    client = await connect()
    client.say(b"GET / HTTP/1.1\r\nhost: a\r\n", block)
    heard = await client.end()
    assert heard.startswith(b"HTTP/1.1 431 Request Header Fields Too Large\r\n")


async def test_a_long_url_counts_as_part_of_the_header_block(connect: Connect) -> None:
    client = await connect()
    client.say(b"GET /" + b"a" * 33 * KIB + b" HTTP/1.1\r\nhost: a\r\n\r\n")
    assert (await client.end()).startswith(b"HTTP/1.1 431 ")


async def test_a_header_block_within_the_limit_is_served(connect: Connect) -> None:
    client = await connect()
    client.say(b"GET / HTTP/1.1\r\nhost: a\r\nx-a: " + b"a" * 31 * KIB + b"\r\n\r\n")
    assert await client.hear() == (200, b"")


async def test_large_bodies_before_it_do_not_count_against_a_header_block(
    connect: Connect,
) -> None:
    client = await connect()
    body = b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 60000\r\n\r\n" + b"x" * 60000
    client.say(body + body + GET[:10])
    assert (await client.hear())[0] == 200
    assert (await client.hear())[0] == 200
    client.say(GET[10:])
    assert await client.hear() == (200, b"")


async def test_a_header_block_that_does_not_end_in_time_is_answered_408(connect: Connect) -> None:
    client = await connect(header_timeout_s=SHORT)
    client.say(GET[:-2])
    assert (await client.end()).startswith(b"HTTP/1.1 408 Request Timeout\r\n")


async def test_a_header_block_that_comes_byte_by_byte_gets_no_more_time(connect: Connect) -> None:
    client = await connect(header_timeout_s=SHORT)

    async def drip() -> None:
        while True:
            client.say(b"GET / HTTP/1.1\r\nx: " if not dripped else b"y")
            dripped.append(1)
            await asyncio.sleep(SHORT / 10)

    dripped: list[int] = []
    dripping = asyncio.create_task(drip())
    assert (await client.end()).startswith(b"HTTP/1.1 408 ")
    dripping.cancel()


async def test_a_client_that_connects_and_says_nothing_is_disconnected(connect: Connect) -> None:
    client = await connect(header_timeout_s=SHORT)
    assert await client.end() == b""


async def test_the_second_request_of_a_connection_has_the_same_time(connect: Connect) -> None:
    client = await connect(header_timeout_s=SHORT)
    client.say(GET)
    assert (await client.hear())[0] == 200
    client.say(GET[:-2])
    assert (await client.end()).startswith(b"HTTP/1.1 408 ")


async def test_empty_lines_do_not_keep_a_connection_alive(connect: Connect) -> None:
    client = await connect(header_timeout_s=SHORT, keep_alive_s=1000.0)
    client.say(GET)
    assert (await client.hear())[0] == 200
    client.say(b"\r\n")
    assert (await client.end()).startswith(b"HTTP/1.1 408 ")


async def test_an_idle_connection_outlives_the_time_for_headers(
    connect: Connect, server_of: Any
) -> None:
    server = await server_of(echo, header_timeout_s=SHORT, keep_alive_s=1000.0)
    idle = await connect(to=server)
    idle.say(GET)
    await idle.hear()
    for _ in range(2):
        silent = await connect(to=server)
        assert await silent.end() == b""
    idle.say(GET)
    assert await idle.hear() == (200, b"")


async def test_an_idle_connection_ends_with_its_own_time(connect: Connect) -> None:
    client = await connect(keep_alive_s=SHORT)
    client.say(GET)
    assert (await client.hear())[0] == 200
    assert await client.end() == b""


# -- bodies


async def test_a_body_over_the_limit_is_answered_413_and_the_connection_lives_on(
    connect: Connect,
) -> None:
    client = await connect(echo_at_most(1 << 20, 20))
    size = 4 << 20
    client.say(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: %d\r\n\r\n" % size, b"x" * size)
    assert await client.hear() == (413, b"too large")
    client.say(GET)
    assert await client.hear() == (200, b"")


async def test_a_body_that_stops_is_answered_408_and_then_cut_off(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At once: the rest of it is not waited for, and the client is told so (RFC 9110 §15.5.9)."""
    monkeypatch.setattr(http_connection, "LINGER_S", 3600.0)
    client = await connect(echo_at_most(1 << 20, SHORT))
    client.say(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\nx")
    head, _, rest = (await client.end()).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 408 ")
    assert b"connection: close" in head.lower()
    assert rest == b"too slow"


async def test_a_body_that_never_begins_is_answered_408_by_the_connection(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_connection, "BODY_MARGIN_S", 0.0)
    client = await connect(echo_at_most(1 << 20, 1000), body_timeout_s=SHORT)
    client.say(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\n")
    assert (await client.end()).startswith(b"HTTP/1.1 408 ")


async def test_a_body_that_nobody_reads_does_not_keep_the_connection(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_connection, "LINGER_S", SHORT)
    client = await connect(never_reads)
    client.say(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\nx")
    assert await client.hear() == (401, b"no")

    async def drip() -> None:
        while True:
            client.say(b"y")
            await asyncio.sleep(SHORT / 10)

    dripping = asyncio.create_task(drip())
    assert await client.cut_off() == b""
    dripping.cancel()


async def test_a_connection_is_idle_again_once_an_unwanted_body_has_ended(
    connect: Connect,
) -> None:
    client = await connect(never_reads, header_timeout_s=SHORT)
    client.say(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\nx")
    assert await client.hear() == (401, b"no")
    client.say(b"y")
    client.say(GET)
    assert await client.hear() == (401, b"no")
    client.say(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\nx")
    assert await client.hear() == (401, b"no")
    client.say(b"y")
    assert await client.end() == b""


async def test_a_response_under_way_is_cut_off_with_its_stalled_body(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_connection, "BODY_MARGIN_S", 0.0)

    async def streams(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x", "more_body": True})
        while (await receive())["type"] != "http.disconnect":
            pass

    client = await connect(streams, body_timeout_s=SHORT)
    client.say(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\nx")
    heard = await client.end()
    assert heard.count(b"HTTP/1.1") == 1
    assert not heard.endswith(b"0\r\n\r\n")


async def test_a_client_may_wait_to_be_told_to_go_on(connect: Connect) -> None:
    client = await connect()
    client.say(b"POST / HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n")
    assert await within(client.reader.readuntil(b"\r\n\r\n")) == b"HTTP/1.1 100 Continue\r\n\r\n"
    client.say(b"hi")
    assert await client.hear() == (200, b"hi")


# -- nonsense, and answers that are not read


@pytest.mark.parametrize(
    "nonsense",
    [
        b"\x16\x03\x01\x02\x00",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: a\r\nbad header\r\n\r\n",
    ],
)
async def test_what_is_not_http_is_answered_400_and_not_logged(
    connect: Connect, nonsense: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    client = await connect()
    client.say(nonsense)
    assert (await client.end()).startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert caplog.records == []


async def test_nonsense_behind_a_request_does_not_get_into_its_answer(connect: Connect) -> None:
    leave = asyncio.Event()

    async def waits(scope: Any, receive: Any, send: Any) -> None:
        await leave.wait()
        await answer(send, 200, b"late")

    client = await connect(waits)
    client.say(GET + b"nonsense\r\n\r\n" + b"x" * 100)
    assert await client.end() == b""
    leave.set()


async def test_requests_sent_at_once_are_answered_in_order(connect: Connect) -> None:
    client = await connect()
    for number in range(20):
        client.say(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\n%02d" % number)
    for number in range(20):
        assert await client.hear() == (200, b"%02d" % number)


async def test_a_client_that_does_not_take_its_answer_is_cut_off(
    connect: Connect, server_of: Any
) -> None:
    async def large(scope: Any, receive: Any, send: Any) -> None:
        await answer(send, 200, b"x" * (32 << 20))

    server = await server_of(large, queue_bytes=64 * KIB, patience_s=SHORT)
    client = await connect(to=server)
    client.writer.transport.pause_reading()  # type: ignore[attr-defined]
    client.say(GET)
    async with asyncio.timeout(DEADLINE_S):
        while not server.connections:
            await asyncio.sleep(0.01)
    await nobody_left(server)


async def test_a_client_that_takes_its_answer_slowly_but_steadily_gets_it_whole(
    server_of: Any,
) -> None:
    size = 4 << 20

    async def large(scope: Any, receive: Any, send: Any) -> None:
        await answer(send, 200, b"x" * size)

    server = await server_of(large, queue_bytes=64 * KIB, patience_s=0.5)
    loop = asyncio.get_running_loop()
    taken = 0
    with socket.create_connection(("127.0.0.1", server.port)) as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * KIB)
        slow.setblocking(False)
        await loop.sock_sendall(slow, GET)
        async with asyncio.timeout(DEADLINE_S):
            while taken < size:
                piece = await loop.sock_recv(slow, 128 * KIB)
                assert piece
                taken += len(piece)
                await asyncio.sleep(0.02)
    assert taken >= size


async def test_a_client_that_vanishes_in_the_middle_costs_nothing(
    connect: Connect, server_of: Any, caplog: pytest.LogCaptureFixture
) -> None:
    server = await server_of(echo_at_most(1 << 20, 20))
    for _ in range(50):
        client = await connect(to=server)
        client.say(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\nx")
        client.writer.transport.abort()
    await nobody_left(server)
    assert caplog.records == []
