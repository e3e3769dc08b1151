from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.transport.http_answer import HIGH_WATER
from gatewright.transport.http_client_connection import HEADER_BYTES, HttpClientConnection
from gatewright.transport.http_fault import Fault
from gatewright.transport.read_turns import ReadTurns
from tests.transport.collecting import whole, within

OK = b"HTTP/1.1 200 OK\r\n"
STREAM = OK + b"content-type: text/event-stream\r\n"
CHUNKED = b"transfer-encoding: chunked\r\n\r\n"


@asynccontextmanager
async def called(limit: int = 1000) -> AsyncIterator[tuple[HttpClientConnection, socket.socket]]:
    """A connected caller, and the server's end of its connection."""
    ours, theirs = socket.socketpair()
    gone = asyncio.Event()
    caller = HttpClientConnection(
        "http://a", lambda _: gone.set(), ReadTurns(asyncio.get_running_loop())
    )
    await asyncio.get_running_loop().create_connection(lambda: caller, sock=ours)
    theirs.setblocking(False)
    try:
        yield caller, theirs
    finally:
        theirs.close()
        caller.abort()
        await within(gone.wait())


async def outcome(pieces: list[bytes], *, eof: bool = True) -> object:
    """What these pieces come to: status, headers, body and whether more may be asked; or the kind of fault."""
    async with called() as (caller, theirs):
        answer = caller.ask(b"GET / HTTP/1.1\r\n\r\n", b"", 1000)
        for piece in pieces:
            caller.data_received(piece)
        if eof:
            theirs.shutdown(socket.SHUT_WR)
        body = b""
        try:
            await within(answer.head())
            if not answer.streams:
                body = await within(whole(answer))
            while answer.streams and (more := await within(answer.some())) is not None:
                body += b"".join(more)
        except Fault as fault:
            return fault.kind, body if answer.streams else b""
        return answer.status, dict(answer.headers), body, caller._keeps


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted({place % (len(stream) + 1) for place in places}), len(stream)]
    return [stream[start:end] for start, end in pairwise(edges) if end > start]


HEADS = [
    OK,
    STREAM,
    b"HTTP/1.1 404 Not Found\r\nX-A: b \r\n",
    b"HTTP/1.1 100 Continue\r\n\r\n" + OK,
    b"HTTP/1.1 103 Early Hints\r\nlink: <a>\r\n\r\n" + STREAM,
    b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n" + OK,
    b"HTTP/1.1 204 No Content\r\n",
    b"HTTP/1.0 200 OK\r\n",
    b"HTTP/2.0 200 OK\r\n",
    OK + b"connection: close\r\n",
    OK + b"x" * 40 + b": y\r\n",
    b"SSH-2.0-x\r\n",
]
BODIES = [
    b"content-length: 5\r\n\r\nhello",
    b"content-length: 5\r\n\r\nhell",
    b"content-length: 5\r\n\r\nhello, and more",
    b"content-length: 5\r\ncontent-length: 5\r\n\r\nhello",
    b"content-length: 1001\r\n\r\n",
    b"content-length: -1\r\n\r\n",
    CHUNKED + b"3\r\nhel\r\n2;a=b\r\nlo\r\n0\r\nx-t: 1\r\n\r\n",
    CHUNKED + b"3\r\nhel\r\n2\r\nlo\r\n",
    CHUNKED + b"3\r\nhello\r\n0\r\n\r\n",
    CHUNKED + b"-3\r\nhel\r\n",
    CHUNKED + b"fffffffffffffffff\r\nhel\r\n",
    b"content-length: 5\r\n" + CHUNKED + b"5\r\nhello\r\n0\r\n\r\n",
    b"transfer-encoding: gzip, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    b"\r\nhello",
    b"\r\n",
]


@given(
    st.sampled_from(HEADS),
    st.sampled_from(BODIES),
    st.lists(st.integers(0, 300), max_size=20),
)
def test_an_answer_means_the_same_however_it_is_cut(
    head: bytes, body: bytes, places: list[int]
) -> None:
    async def both() -> tuple[object, object]:
        return await outcome([head + body]), await outcome(cut(head + body, places))

    whole, pieces = asyncio.run(both())
    assert whole == pieces


@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=9))
def test_no_bytes_at_all_break_anything(noise: bytes, places: list[int]) -> None:
    async def all_three() -> list[object]:
        return [await outcome(cut(start + noise, places)) for start in (b"", OK, OK + CHUNKED)]

    for found in asyncio.run(all_three()):
        assert isinstance(found, tuple)
        assert found[0] in {"bad", "broken", "too large", *range(200, 1000)}


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (HEADS[0] + BODIES[0], (200, {"content-length": "5"}, b"hello", True)),
        (HEADS[3] + BODIES[0], (200, {"content-length": "5"}, b"hello", True)),
        (HEADS[6] + b"\r\n", (204, {}, b"", True)),
        (HEADS[6] + BODIES[4], (204, {"content-length": "1001"}, b"", True)),
        (
            HEADS[9] + BODIES[0],
            (200, {"connection": "close", "content-length": "5"}, b"hello", False),
        ),
        (HEADS[7] + BODIES[0], (200, {"content-length": "5"}, b"hello", False)),
        (HEADS[7] + b"\r\nhello", (200, {}, b"hello", False)),
        (HEADS[0] + b"\r\nhello", (200, {}, b"hello", False)),
        (HEADS[0] + BODIES[2], (200, {"content-length": "5"}, b"hello", False)),
        (HEADS[0] + BODIES[6], (200, {"transfer-encoding": "chunked"}, b"hello", True)),
        (b"HTTP/1.1 200 OK\ncontent-length: 2\n\nhi", (200, {"content-length": "2"}, b"hi", True)),
        (HEADS[0] + BODIES[4], ("too large", b"")),
        (HEADS[1] + BODIES[9], ("bad", b"")),
        (HEADS[1] + BODIES[7], ("broken", b"hello")),
        *[(HEADS[0] + body, ("bad", b"")) for body in (BODIES[3], *BODIES[8:13])],
        *[(head + BODIES[0], ("bad", b"")) for head in (HEADS[5], HEADS[8], HEADS[11])],
        (b"HTTP/1.1 020 Odd\r\n" + BODIES[0], ("bad", b"")),
        (HEADS[0] + BODIES[1], ("broken", b"")),
        (b"HTTP/1.1 200", ("broken", b"")),
    ],
)
async def test_what_a_server_may_answer_and_what_it_comes_to(
    stream: bytes, expected: object
) -> None:
    assert await outcome([stream]) == expected


@pytest.mark.parametrize(
    ("opening", "again"),
    [
        (OK, b"x-a: " + b"b" * 500 + b"\r\n"),
        (OK + b"x-a: ", b"b" * 500),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 20),
        (OK + CHUNKED + b"5;", b"a" * 500),
        (OK + CHUNKED + b"0\r\n", b"x-a: " + b"b" * 500 + b"\r\n"),
        (STREAM + CHUNKED + b"0\r\nx-a: ", b"b" * 500),
    ],
    ids=["headers", "header", "interim", "extension", "trailers", "trailer"],
)
async def test_what_is_no_body_cannot_go_on_for_ever(opening: bytes, again: bytes) -> None:
    most = HEADER_BYTES // len(again) + 2
    assert await outcome([opening] + [again] * most, eof=False) == ("bad", b"")


async def test_a_head_is_weighed_exactly_also_when_it_comes_with_its_body() -> None:
    def stream(size: int) -> bytes:
        return OK + b"x-a: %b\r\nx-b: " % (b"b" * size) + b"\r\n" + BODIES[0]

    fits = HEADER_BYTES - len(b"x-a: \r\nx-b: \r\ncontent-length: 5\r\n")
    found = await outcome([stream(fits)])
    assert isinstance(found, tuple)
    assert found[0] == 200
    assert await outcome([stream(fits + 1)]) == ("bad", b"")


async def test_a_stream_that_nobody_reads_is_not_read_from_the_network() -> None:
    async with called() as (caller, theirs):
        answer = caller.ask(b"GET / HTTP/1.1\r\n\r\n", b"", 1000)
        sent = 0
        payload = memoryview(STREAM + b"\r\n" + b"x" * (64 * HIGH_WATER))
        loop = asyncio.get_running_loop()
        sending = asyncio.ensure_future(loop.sock_sendall(theirs, payload))
        await within(answer.head())
        while caller.transport is not None and caller.transport.is_reading():
            await asyncio.sleep(0)
        assert not sending.done()
        closing = asyncio.ensure_future(_shut(sending, theirs))
        while (pieces := await within(answer.some())) is not None:
            sizes = [len(piece) for piece in pieces]
            assert max(sizes) <= HIGH_WATER + 256 * 1024
            sent += sum(sizes)
        await within(closing)
        assert sent == 64 * HIGH_WATER


async def _shut(sending: asyncio.Future[None], theirs: socket.socket) -> None:
    await sending
    theirs.shutdown(socket.SHUT_WR)


async def test_a_connection_that_is_gone_before_it_is_asked_sends_nothing() -> None:
    async with called() as (caller, theirs):
        theirs.close()
        while caller.usable():
            await asyncio.sleep(0)
        with pytest.raises(Fault) as caught:
            caller.ask(b"GET / HTTP/1.1\r\n\r\n", b"", 1000)
        assert (caught.value.kind, caught.value.not_sent) == ("unreachable", True)


async def test_words_that_nobody_asked_for_end_an_idle_connection() -> None:
    async with called() as (caller, _):
        answer = caller.ask(b"GET / HTTP/1.1\r\n\r\n", b"", 1000)
        caller.data_received(OK + BODIES[0])
        assert await within(whole(answer)) == b"hello"
        assert caller.free()
        caller.data_received(OK + BODIES[0])
        assert not caller.usable()


async def test_a_request_that_the_server_has_not_taken_keeps_the_connection_from_the_next() -> None:
    async with called() as (caller, _):
        answer = caller.ask(b"POST / HTTP/1.1\r\n\r\n", b"x" * (4 << 20), 1000)
        caller.data_received(OK + BODIES[0])
        assert await within(whole(answer)) == b"hello"
        assert not caller.free()
