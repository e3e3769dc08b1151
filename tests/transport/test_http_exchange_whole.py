"""What an application may do with an exchange besides ASGI: take all of it, and answer at once."""

from __future__ import annotations

from typing import Any

import pytest

from gatewright.transport import http_exchange
from tests.transport.asgi import answer
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
