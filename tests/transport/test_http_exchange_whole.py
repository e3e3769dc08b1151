"""What an application may do with an exchange besides ASGI: take all of it, and answer at once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gatewright.transport import http_exchange
from gatewright.transport.http_exchange import HIGH_WATER
from tests.transport.asgi import answer, echo
from tests.transport.collecting import within
from tests.transport.raw_http import GET, HEAD, OLD, connected, heard


class Taking:
    """An application that takes the exchange, answers at once where it can, and says whether it could."""

    takes_exchange = True

    def __init__(self) -> None:
        self.took: list[tuple[bytes | None, bool]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any, exchange: Any) -> None:
        body = exchange.take_whole()
        headers = ((b"content-type", b"application/json"), (b"x-own", b"1"))
        at_once = exchange.answer(200, headers, b"{}")
        self.took.append((body, at_once))
        if not at_once:
            await answer(send, 200, b"{}")


async def test_an_exchange_that_is_taken_is_answered_like_any_other() -> None:
    app = Taking()
    post = b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\nabcd"
    whole = (
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx-own: 1\r\n"
        b"content-length: 2\r\n\r\n{}"
    )
    found = await heard(app, post, post)
    assert found.startswith(whole + whole)
    assert app.took == [(b"abcd", True), (b"abcd", True), (b"", False)]


@pytest.mark.parametrize("unusual", [HEAD, OLD])
async def test_what_is_no_usual_answer_goes_the_long_way(unusual: bytes) -> None:
    app = Taking()
    found = await heard(app, unusual)
    assert found.count(b"HTTP/1.1 200 OK\r\n") >= 1
    assert app.took[0] == (b"", False)


async def test_a_body_that_is_not_whole_yet_is_not_taken() -> None:
    app = Taking()
    async with connected(app) as client:
        client.say(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\nab")
        await client.hear()
    assert app.took[0][0] is None


async def test_a_header_with_a_line_break_is_not_sent_at_once_either(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Breaking(Taking):
        async def __call__(self, scope: Any, receive: Any, send: Any, exchange: Any) -> None:
            exchange.answer(200, ((b"x-a", b"b\r\nx-c: d"),), b"{}")

    async with connected(Breaking()) as client:
        client.say(GET)
        assert await client.hear() == (500, b"Internal Server Error")
    ours = [one.message for one in caplog.records if one.name == http_exchange.__name__]
    assert ours == ["the application broke on a request"]


async def test_a_body_that_is_too_long_is_left_where_it_is() -> None:
    found: list[Any] = []

    class Wary(Taking):
        async def __call__(self, scope: Any, receive: Any, send: Any, exchange: Any) -> None:
            found.append(exchange.take_whole(3))
            found.append((await receive())["body"])
            found.append(exchange.take_whole())
            await answer(send, 200, b"")

    async with connected(Wary()) as client:
        client.say(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\nabcd")
        await client.hear()
    assert found == [None, b"abcd", None]


class Watching(Taking):
    """An application that wants to know whether its client leaves."""

    def __init__(self) -> None:
        super().__init__()
        self.told = 0
        self.asked, self.left, self.over = (asyncio.Event() for _ in range(3))
        self.late = False

    async def __call__(self, scope: Any, receive: Any, send: Any, exchange: Any) -> None:
        if not self.late:
            exchange.when_gone(self._tell)
        self.asked.set()
        if scope["path"] != "/quick":
            while not exchange.gone:
                await asyncio.sleep(0)
        if self.late:
            exchange.when_gone(self._tell)
            assert self.told == 0
        await asyncio.sleep(0.01)
        exchange.answer(200, (), b"")
        self.over.set()

    def _tell(self) -> None:
        self.told += 1


@pytest.mark.parametrize("late", [False, True])
async def test_who_asks_is_told_that_the_client_left(late: bool) -> None:
    app = Watching()
    app.late = late
    async with connected(app) as client:
        client.say(GET)
        await within(app.asked.wait())
        client.writer.close()
        await within(app.over.wait())
    assert app.told == 1


async def test_who_was_answered_does_not_leave() -> None:
    app = Watching()
    async with connected(app) as client:
        client.say(GET.replace(b"/a?b", b"/quick"))
        assert await client.hear() == (200, b"")
        client.writer.close()
        await within(app.over.wait())
        await asyncio.sleep(0.05)
    assert app.told == 0


async def test_nothing_is_answered_at_once_when_something_was_said() -> None:
    found: list[bool] = []

    class Twice(Taking):
        async def __call__(self, scope: Any, receive: Any, send: Any, exchange: Any) -> None:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            found.append(exchange.answer(200, (), b"x"))
            await send({"type": "http.response.body", "body": b"y"})
            found.append(exchange.answer(200, (), b"z"))

    async with connected(Twice()) as client:
        client.say(GET)
        assert await client.hear() == (200, b"y")
    assert found == [False, False]


async def _refuse(scope: Any, receive: Any, send: Any) -> None:
    await answer(send, 200, b"read or not")


@pytest.mark.parametrize("app", [echo, Taking(), _refuse])
async def test_a_long_body_that_was_whole_before_it_is_taken_does_not_stop_the_connection(
    app: Any,
) -> None:
    """The connection is not read while so much waits for the application, and is once that has it."""
    post = b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: %d\r\n\r\n"
    size = HIGH_WATER + 16 * 1024
    async with connected(app) as client:
        for _ in range(3):
            client.say(post % size + b"x" * size)
            assert (await client.hear())[0] == 200
            client.say(post % 2 + b"xy")
            assert (await client.hear())[0] == 200
