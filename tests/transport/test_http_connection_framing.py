"""Where one request ends and the next begins: however it arrives, and whoever tries to blur it."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from gatewright.transport import http_connection
from gatewright.transport.http_server import read_body
from tests.transport.asgi import answer, echo
from tests.transport.collecting import within
from tests.transport.raw_http import RawClient, connected

SHORT = 0.1
POST = b"POST / HTTP/1.1\r\nhost: a\r\n"
CHUNKED = POST + b"transfer-encoding: chunked\r\n\r\n"
GET = b"GET /next HTTP/1.1\r\nhost: a\r\n\r\n"


class Told:
    """Answers with what it was told, and keeps it."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, bytes]] = []
        self.headers: list[list[tuple[bytes, bytes]]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = await read_body(receive, 1 << 20)
        self.requests.append((scope["method"], scope["path"], body))
        self.headers.append(scope["headers"])
        await answer(send, 200, b"%b %b" % (scope["path"].encode(), body))


# -- however it arrives

REQUESTS = (
    b"POST /a%20b?c HTTP/1.1\r\nHost: a\r\nX-Empty:\r\nX-Blank:  b \t\r\nContent-Length: 5\r\n\r\nhello",
    b"GET /get HTTP/1.1\r\nhost: a\r\n\r\n",
    (
        b"POST /chunks HTTP/1.1\r\nhost: a\r\nTransfer-Encoding: Chunked\r\n\r\n"
        b'2;a="b"\r\nhe\r\n3\r\nllo\r\n0\r\nx-trailer: t\r\n\r\n'
    ),
    b"\r\nPUT http://a/absolute HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n",
    (
        b"POST /h2c HTTP/1.1\r\nhost: a\r\nconnection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\n"
        b"http2-settings: AA\r\ncontent-length: 4\r\n\r\nbody"
    ),
    b"POST /last HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: 3\r\n\r\nend",
)
TOLD = [
    ("POST", "/a b", b"hello"),
    ("GET", "/get", b""),
    ("POST", "/chunks", b"hello"),
    ("PUT", "/absolute", b""),
    ("POST", "/h2c", b"body"),
    ("POST", "/last", b"end"),
]


def pieces(text: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({0, len(text), *cuts})
    return [text[start:end] for start, end in pairwise(places)]


async def told_in(cut: list[bytes]) -> Told:
    app = Told()
    async with connected(app) as client:
        await client.say_slowly(cut)
        for method, path, body in TOLD:
            assert await client.hear() == (200, path.encode() + b" " + body), method
        assert await client.end() == b""
    return app


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, len(b"".join(REQUESTS)) - 1), max_size=40))
def test_requests_are_the_same_however_their_bytes_arrive(cuts: list[int]) -> None:
    app = asyncio.run(told_in(pieces(b"".join(REQUESTS), cuts)))
    assert app.requests == TOLD
    assert app.headers[0] == [
        (b"host", b"a"),
        (b"x-empty", b""),
        (b"x-blank", b"b"),
        (b"content-length", b"5"),
    ]


async def test_requests_are_the_same_when_they_come_byte_by_byte() -> None:
    text = b"".join(REQUESTS)
    app = await told_in([text[at : at + 1] for at in range(len(text))])
    assert app.requests == TOLD


async def test_a_trailer_is_no_header() -> None:
    app = await told_in(list(REQUESTS))
    assert b"x-trailer" not in dict(app.headers[2])


async def heard_of_uvicorn(text: bytes, count: int) -> list[tuple[int, bytes]]:
    """What uvicorn's own protocol answers, under the same application."""
    config = Config(Told(), lifespan="off", interface="asgi3", log_config=None, access_log=False)
    config.load()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: HttpToolsProtocol(config, ServerState(), {}), "127.0.0.1", 0
    )
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        client = RawClient(server, reader, writer)
        client.say(text)
        heard = [await client.hear() for _ in range(count)]
        writer.transport.abort()
        return heard


async def test_uvicorn_reads_the_same_requests() -> None:
    text = b"".join(REQUESTS[:4])
    async with connected(Told()) as client:
        client.say(text)
        ours = [await client.hear() for _ in range(4)]
    assert await within(heard_of_uvicorn(text, 4)) == ours


# -- whoever tries to blur it

BLURRED = {
    "both": POST + b"content-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    "both, other order": POST + b"transfer-encoding: chunked\r\ncontent-length: 4\r\n\r\n0\r\n\r\n",
    "two lengths": POST + b"content-length: 1\r\ncontent-length: 2\r\n\r\nxx",
    **{
        f"{name} twice": POST + f"{name}: 1\r\nx-a: b\r\n{name.title()}: 1\r\n\r\n".encode()
        for name in (
            "authorization",
            "content-type",
            "origin",
            "mcp-session-id",
            "mcp-protocol-version",
            "last-event-id",
        )
    },
    "authorization twice in an upgrade": (
        b"GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n"
        b"authorization: Bearer a\r\nauthorization: Bearer b\r\n\r\n"
    ),
    "one length twice": POST + b"content-length: 1\r\ncontent-length: 1\r\n\r\nx",
    "list of lengths": POST + b"content-length: 1, 1\r\n\r\nx",
    "signed length": POST + b"content-length: +1\r\n\r\nx",
    "negative length": POST + b"content-length: -1\r\n\r\nx",
    "hexadecimal length": POST + b"content-length: 0x1\r\n\r\nx",
    "empty length": POST + b"content-length:\r\n\r\nx",
    "huge length": POST + b"content-length: 18446744073709551617\r\n\r\nx",
    "space before the colon": POST + b"content-length : 1\r\n\r\nx",
    "unknown coding": POST + b"transfer-encoding: xchunked\r\n\r\n0\r\n\r\n",
    "coding before chunked": POST + b"transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "coding after chunked": POST + b"transfer-encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
    "chunked twice": POST + b"transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n",
    "hidden coding": POST + b"transfer-encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
    "empty coding": POST + b"transfer-encoding:\r\n\r\n0\r\n\r\n",
    "chunked in 1.0": b"POST / HTTP/1.0\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    "folded header": POST + b"x-a: b\r\n c\r\n\r\n",
    "folded length": POST + b"content-length:\r\n 1\r\n\r\nx",
    "space before the first header": b"POST / HTTP/1.1\r\n host: a\r\n\r\n",
    "bare newlines": b"GET / HTTP/1.1\nhost: a\n\n",
    "bare newline after a header": b"GET / HTTP/1.1\r\nhost: a\nx-a: b\r\n\r\n",
    "bare newline at the end": b"GET / HTTP/1.1\r\nhost: a\r\n\n",
    "bare carriage return": b"GET / HTTP/1.1\r\nhost: a\rx-a: b\r\n\r\n",
    "zero byte": b"GET / HTTP/1.1\r\nhost: a\0\r\n\r\n",
    "no host": b"GET / HTTP/1.1\r\n\r\n",
    "two hosts": b"GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n",
    "no chunk size": CHUNKED + b"\r\n\r\n",
    "bad chunk size": CHUNKED + b"x\r\n\r\n",
    "negative chunk size": CHUNKED + b"-1\r\n\r\n",
    "prefixed chunk size": CHUNKED + b"0x1\r\nx\r\n0\r\n\r\n",
    "padded chunk size": CHUNKED + b"1 \r\nx\r\n0\r\n\r\n",
    "huge chunk size": CHUNKED + b"10000000000000001\r\nx\r\n0\r\n\r\n",
    "bare newline after a chunk size": CHUNKED + b"1\nx\r\n0\r\n\r\n",
    "bare newline after a chunk": CHUNKED + b"1\r\nx\n0\r\n\r\n",
    "bare newline in an extension": CHUNKED + b"1;a\nb\r\nx\r\n0\r\n\r\n",
    "chunk too long": CHUNKED + b"1\r\nxx\r\n0\r\n\r\n",
    "length in a trailer": CHUNKED + b"1\r\nx\r\n0\r\ncontent-length: 5\r\n\r\n",
    "nothing but a preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
}


@pytest.mark.parametrize("whole", [True, False], ids=["at once", "byte by byte"])
@pytest.mark.parametrize("text", BLURRED.values(), ids=BLURRED.keys())
async def test_what_could_be_read_in_two_ways_is_answered_400_and_read_no_further(
    text: bytes, whole: bool, caplog: pytest.LogCaptureFixture
) -> None:
    app = Told()

    async def careful(scope: Any, receive: Any, send: Any) -> None:
        message = await receive()
        while message["type"] == "http.request" and message["more_body"]:
            message = await receive()
        if message["type"] != "http.disconnect":
            await app(scope, _at_once(message), send)

    async with connected(careful) as client:
        if whole:
            client.say(text + GET)
        else:
            await client.say_slowly(bytes([each]) for each in text + GET)
        heard = await client.end()
    assert heard.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert heard.count(b"HTTP/1.1 ") == 1
    assert (app.requests, caplog.records) == ([], [])


def _at_once(message: Any) -> Any:
    async def receive() -> Any:
        return message

    return receive


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (b"GET / HTTP/2.0\r\nhost: a\r\n\r\n", b"505"),
        (b"GET /\r\n\r\n", b"505"),
        (b"CONNECT a:1 HTTP/1.1\r\nhost: a\r\n\r\n", b"400"),
        (b"CONNECT / HTTP/1.1\r\nhost: a\r\n\r\n", b"400"),
    ],
)
async def test_what_is_not_spoken_here_is_refused_by_name(text: bytes, status: bytes) -> None:
    app = Told()
    async with connected(app) as client:
        client.say(text + GET)
        heard = await client.end()
    assert heard.split()[1] == status
    assert heard.count(b"HTTP/1.1 ") == 1
    assert app.requests == []


@pytest.mark.parametrize("flood", [b"0\r\nx-a: ", b"1;a="], ids=["trailers", "extensions"])
async def test_what_is_neither_body_nor_end_may_not_go_on_for_ever(flood: bytes) -> None:
    async with connected(Told(), header_bytes=4096) as client:
        client.say(CHUNKED + b"1\r\nx\r\n" + flood)
        await client.say_slowly([b"a" * 1000] * 20)
        assert (await client.end()).startswith(b"HTTP/1.1 400 ")


async def test_many_small_chunks_are_no_flood() -> None:
    async with connected(echo, header_bytes=4096) as client:
        client.say(CHUNKED)
        await client.say_slowly([b"1\r\nx\r\n" * 1000] * 20 + [b"0\r\n\r\n"])
        assert await client.hear() == (200, b"x" * 20_000)


async def test_a_bad_chunk_ends_the_request_that_is_already_running() -> None:
    learned: list[str] = []
    running = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        running.set()
        message = await receive()
        while message["type"] == "http.request":
            message = await receive()
        learned.append(message["type"])
        await answer(send, 200, b"nobody hears this")

    async with connected(app) as client:
        client.say(CHUNKED + b"1\r\nx\r\n")
        await within(running.wait())
        client.say(b"no size\r\n")
        assert (await client.end()).startswith(b"HTTP/1.1 400 ")
    assert learned == ["http.disconnect"]


# -- HTTP/1.0, and offers of other protocols


async def test_a_client_of_http_1_0_is_answered_and_disconnected() -> None:
    async with connected(echo) as client:
        client.say(b"POST / HTTP/1.0\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\nhi")
        head = await client.head()
        assert b"connection: close\r\n" in head
        assert await client.end() == b"hi"


@pytest.mark.parametrize(
    "framed",
    [b"content-length: 2\r\n\r\nhi", b"transfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"],
)
@pytest.mark.parametrize("apart", [True, False])
async def test_an_offer_of_another_protocol_is_declined_and_the_body_still_read(
    framed: bytes, apart: bool
) -> None:
    app = Told()
    head, body = framed.split(b"\r\n\r\n", 1)
    offer = POST + b"connection: upgrade\r\nupgrade: h2c\r\n" + head + b"\r\n\r\n"
    async with connected(app) as client:
        await client.say_slowly([offer, body, GET] if apart else [offer + body + GET])
        assert await client.hear() == (200, b"/ hi")
        assert await client.hear() == (200, b"/next ")


async def test_the_body_of_a_declined_offer_must_come_in_time_like_any(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_connection, "BODY_MARGIN_S", 0.0)
    async with connected(echo, body_timeout_s=SHORT) as client:
        client.say(POST + b"connection: upgrade\r\nupgrade: h2c\r\ncontent-length: 2\r\n\r\n")
        assert (await client.end()).startswith(b"HTTP/1.1 408 ")
