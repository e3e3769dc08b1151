"""Requests that come before the last one was answered, and the end of a connection."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gatewright.transport import http_connection
from gatewright.transport.http_server import read_body
from tests.transport.asgi import answer, echo, echo_at_most
from tests.transport.collecting import within
from tests.transport.raw_http import connected

SHORT = 0.1
GET = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n"


class Slow:
    """Answers when it is let, and counts those who are inside."""

    def __init__(self) -> None:
        self.inside = 0
        self.most = 0
        self.entered = asyncio.Event()
        self.leave = asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.inside += 1
        self.most = max(self.most, self.inside)
        self.entered.set()
        body = await read_body(receive, 1 << 24)
        await self.leave.wait()
        self.inside -= 1
        await answer(send, 200, b"%b %d" % (scope["path"].encode(), len(body)))


async def test_requests_in_line_run_one_after_the_other() -> None:
    app = Slow()
    async with connected(app) as client:
        client.say(b"".join(b"GET /%d HTTP/1.1\r\nhost: a\r\n\r\n" % each for each in range(5)))
        await within(app.entered.wait())
        app.leave.set()
        for each in range(5):
            assert await client.hear() == (200, b"/%d 0" % each)
    assert app.most == 1


async def test_a_line_that_grows_too_long_is_cut() -> None:
    app = Slow()
    async with connected(app) as client:
        client.say(GET * (http_connection.IN_LINE + 2))
        assert await client.end() == b""
    async with connected(echo) as client:
        client.say(GET * (http_connection.IN_LINE + 1))
        for _ in range(http_connection.IN_LINE + 1):
            assert await client.hear() == (200, b"")


async def test_a_body_in_line_has_all_its_time_once_it_is_its_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_connection, "BODY_MARGIN_S", 0.0)
    app = Slow()
    async with connected(app, body_timeout_s=SHORT, header_timeout_s=SHORT) as client:
        client.say(GET + b"POST /b HTTP/1.1\r\nhost: a\r\ncontent-length: 600000\r\n\r\nx")
        await within(app.entered.wait())
        async with connected(app, header_timeout_s=3 * SHORT) as silent:
            assert await silent.end() == b""  # by then the time for a body is over
        app.leave.set()
        client.say(b"x" * 599_999)
        assert await client.hear() == (200, b"/ 0")
        assert await client.hear() == (200, b"/b 600000")


async def test_a_body_that_is_not_taken_is_not_read_either() -> None:
    go_on = asyncio.Event()
    entered = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        entered.set()
        await go_on.wait()
        await answer(send, 200, b"%d" % len(await read_body(receive, 1 << 26)))

    size = 32 << 20
    async with connected(app) as client:
        client.say(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: %d\r\n\r\n" % size)
        client.say(b"x" * size)
        await within(entered.wait())
        for _ in range(200):
            await asyncio.sleep(0)
        unsent = client.writer.transport.get_write_buffer_size()
        assert unsent > size // 4, "the server holds what nobody takes"
        go_on.set()
        assert await client.hear() == (200, b"%d" % size)


async def test_the_last_answer_before_the_stop_says_that_it_is_the_last() -> None:
    app = Slow()
    async with connected(app) as client:
        client.say(GET * 3)
        await within(app.entered.wait())
        stopping = asyncio.create_task(client.server.stop(20))
        await asyncio.sleep(0)
        app.leave.set()
        heads = (await client.end()).split(b"/ 0")
        await within(stopping)
    assert [b"connection: close" in head for head in heads] == [False, False, True, False]


async def test_a_request_behind_one_that_closes_is_not_run() -> None:
    app = Slow()
    app.leave.set()
    async with connected(app) as client:
        client.say(b"GET /a HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n" + GET)
        heard = await client.end()
    assert heard.count(b"HTTP/1.1 200") == 1


async def test_an_answer_that_closes_drops_what_is_in_line_but_arrives_whole() -> None:
    body = b"x" * 300_000

    async def closes(scope: Any, receive: Any, send: Any) -> None:
        headers = [(b"connection", b"close")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async with connected(closes) as client:
        client.say(GET * 20)
        heard = await client.end()
    assert heard.count(b"HTTP/1.1 200") == 1
    assert heard.endswith(body)


async def test_who_asks_before_sending_and_is_refused_may_do_nothing_more_on_the_connection() -> (
    None
):
    async def refuses(scope: Any, receive: Any, send: Any) -> None:
        await answer(send, 413, b"no")

    async with connected(refuses) as client:
        client.say(
            b"POST / HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 9\r\n\r\n"
        )
        head = await client.head()
        assert head.startswith(b"http/1.1 413 ")
        assert b"connection: close\r\n" in head
        client.say(GET)
        assert await client.end() == b"no"


async def test_who_asks_before_sending_is_told_once_and_not_when_the_body_is_there() -> None:
    expects = b"POST / HTTP/1.1\r\nhost: a\r\nexpect: 100-Continue\r\ncontent-length: 2\r\n\r\n"
    async with connected(echo_at_most(100, 20)) as client:
        client.say(expects)
        assert await client.head() == b"http/1.1 100 continue\r\n\r\n"
        await client.say_slowly([b"h", b"i"])
        assert await client.hear() == (200, b"hi")
        client.say(expects + b"ho")
        assert await client.hear() == (200, b"ho")
