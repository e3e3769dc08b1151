"""What an ASGI application may rely on."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gatewright.transport import http_exchange
from gatewright.transport.http_exchange import ENOUGH
from tests.transport.asgi import answer, echo
from tests.transport.collecting import within
from tests.transport.raw_http import GET, HEAD, OLD, connected, heard

Messages = list[dict[str, Any]]


def start(status: int = 200, *headers: tuple[bytes, bytes]) -> dict[str, Any]:
    return {"type": "http.response.start", "status": status, "headers": list(headers)}


def piece(body: bytes, *, more: bool = True) -> dict[str, Any]:
    return {"type": "http.response.body", "body": body, "more_body": more}


def saying(*messages: dict[str, Any]) -> Any:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        for message in messages:
            await send(message)

    return app


def complaints(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What was logged here; what earlier tests left to the collector may be logged at any time."""
    return [one.message for one in caplog.records if one.name == http_exchange.__name__]


async def test_the_scope_is_that_of_asgi_3() -> None:
    scopes: Messages = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        scopes.append(scope)
        await answer(send, 200, b"")

    async with connected(app) as client:
        client.say(GET)
        await client.hear()
        own = client.writer.get_extra_info("sockname")
        assert scopes == [
            {
                "type": "http",
                "asgi": {"version": "3.0", "spec_version": "2.3"},
                "http_version": "1.1",
                "method": "GET",
                "scheme": "http",
                "path": "/a",
                "raw_path": b"/a",
                "query_string": b"b",
                "root_path": "",
                "headers": [(b"host", b"a"), (b"x-a", b"B")],
                "client": own,
                "server": ("127.0.0.1", client.server.port),
            }
        ]


# -- framing


async def test_an_answer_in_one_piece_has_a_length_whether_it_said_so_or_not() -> None:
    said = saying(start(200, (b"content-length", b"2")), piece(b"hi", more=False))
    unsaid = saying(start(200), {"type": "http.response.body", "body": b"hi"})
    for app in (said, unsaid):
        assert await heard(app, GET) == (
            b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi"
            b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nhi"
        )


async def test_an_answer_in_pieces_without_a_length_is_chunked() -> None:
    app = saying(start(), piece(b"hello"), piece(b""), piece(b"you", more=False))
    body = b"5\r\nhello\r\n3\r\nyou\r\n0\r\n\r\n"
    assert await heard(app, GET) == (
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
        + body
        + b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n"
        + body
    )


async def test_an_answer_in_pieces_with_a_length_is_not_chunked() -> None:
    app = saying(start(200, (b"content-length", b"8")), piece(b"hello"), piece(b"you", more=False))
    first = b"HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\nhelloyou"
    assert (await heard(app, GET)).startswith(first + b"HTTP/1.1 ")


async def test_http_1_0_knows_no_chunks_and_reads_to_the_end() -> None:
    async with connected(saying(start(), piece(b"a"), piece(b"b", more=False))) as client:
        client.say(OLD)
        head = await client.head()
        assert b"connection: close" in head
        assert b"chunked" not in head
        assert await client.end() == b"ab"


@pytest.mark.parametrize(
    "body", [[piece(b"hello", more=False)], [piece(b"he"), piece(b"llo", more=False)]]
)
async def test_the_answer_to_head_has_no_body(body: Messages) -> None:
    app = saying(start(200, (b"content-length", b"5")), *body)
    head = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n"
    assert (await heard(app, HEAD, HEAD)).startswith(head + head + b"HTTP/1.1 ")


@pytest.mark.parametrize("status", [204, 304])
async def test_an_answer_that_can_have_no_body_has_none_and_no_length(status: int) -> None:
    app = saying(start(status, (b"content-length", b"0")), piece(b"", more=False))
    lines = (await heard(app, GET)).split(b"\r\n")
    assert lines[0].startswith(b"HTTP/1.1 %d " % status)
    assert lines[1] == b""
    assert lines[2].startswith(b"HTTP/1.1 %d " % status)


# -- applications that break


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [start()],
        [start(200, (b"x-a", b"a\r\nx-b: c")), piece(b"", more=False)],
        [start(200, (b"content-length", b"1")), piece(b"two", more=False)],
        [start(200, (b"content-length", b"9")), piece(b"short", more=False)],
        [piece(b"early", more=False)],
        [piece(b"early")],
        [start(), start()],
        [{"type": "websocket.accept"}],
    ],
)
async def test_what_was_not_begun_is_answered_500_and_logged(
    messages: Messages, caplog: pytest.LogCaptureFixture
) -> None:
    async with connected(saying(*messages)) as client:
        client.say(GET)
        everything = await client.end()
    assert everything.startswith(b"HTTP/1.1 500 Internal Server Error\r\n")
    assert everything.count(b"HTTP/1.1") == 1
    assert len(complaints(caplog)) == 1


@pytest.mark.parametrize(
    "messages",
    [
        [start(), piece(b"half")],
        [start(200, (b"content-length", b"9")), piece(b"half")],
        [start(200, (b"content-length", b"4")), piece(b"half"), piece(b"more")],
        [start(), piece(b"half"), start()],
    ],
)
async def test_what_was_begun_is_cut_off_where_it_is_and_logged(
    messages: Messages, caplog: pytest.LogCaptureFixture
) -> None:
    async with connected(saying(*messages)) as client:
        client.say(GET)
        await client.head()
        body = await client.end()
    assert b"half" in body
    assert not body.endswith(b"0\r\n\r\n")
    assert len(complaints(caplog)) == 1


async def test_more_than_a_whole_answer_is_an_error_that_the_client_does_not_see(
    caplog: pytest.LogCaptureFixture,
) -> None:
    app = saying(start(), piece(b"a", more=False), piece(b"b", more=False))
    async with connected(app) as client:
        for _ in range(2):
            client.say(GET)
            assert await client.hear() == (200, b"a")
    assert len(complaints(caplog)) == 2


async def test_a_request_that_is_cancelled_from_inside_is_answered_500(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)

    async with connected(app) as client:
        client.say(GET)
        assert (await client.hear())[0] == 500
    assert complaints(caplog) == []


# -- what the application hears


async def told(app_ready: asyncio.Event, seen: Messages, receive: Any, count: int) -> None:
    app_ready.set()
    for _ in range(count):
        seen.append(await receive())


async def test_a_whole_body_is_one_message_and_then_the_client_is_waited_for() -> None:
    ready, seen = asyncio.Event(), list[dict[str, Any]]()
    left = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await told(ready, seen, receive, 3)
        left.set()

    async with connected(app) as client:
        client.say(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\nhi")
        await within(ready.wait())
        assert not left.is_set()
        client.writer.close()
        await within(left.wait())
    gone = {"type": "http.disconnect"}
    assert seen == [{"type": "http.request", "body": b"hi", "more_body": False}, gone, gone]


async def test_a_body_that_comes_byte_by_byte_is_a_beginning_and_the_rest() -> None:
    """Single bytes cost no turn of the application each; what is large still comes in pieces."""
    seen: Messages = []
    size = 2 * ENOUGH + 10

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(await receive())
        while seen[-1]["more_body"]:
            seen.append(await receive())
        await answer(send, 200, b"")

    async with connected(app) as client:
        client.say(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: %d\r\n\r\nx" % size)
        while not seen:
            await asyncio.sleep(0)
        exchange = next(iter(client.server._state.connections))._incoming
        for _ in range(size - 1):
            exchange.feed(b"x")
            await asyncio.sleep(0)
        exchange.whole = True
        exchange.wake()
        await client.hear()
    assert sum(len(one["body"]) for one in seen) == size
    first, *others, _ = [len(one["body"]) for one in seen]
    assert first == 1
    assert len(others) == 2
    assert min(others) >= ENOUGH


async def test_a_request_without_a_body_is_one_empty_message() -> None:
    seen: Messages = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(await receive())
        await answer(send, 200, b"")

    async with connected(app) as client:
        client.say(GET)
        await client.hear()
    assert seen == [{"type": "http.request", "body": b"", "more_body": False}]


async def test_after_the_answer_the_request_is_over() -> None:
    seen: Messages = []
    over = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await answer(send, 200, b"")
        seen.append(await receive())
        over.set()

    async with connected(app) as client:
        client.say(GET)
        await client.hear()
        await within(over.wait())
    assert seen == [{"type": "http.disconnect"}]


async def test_who_waits_for_the_client_learns_that_it_was_answered() -> None:
    seen: Messages = []
    over = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        waiting = [asyncio.create_task(receive()) for _ in range(2)]
        await asyncio.sleep(0)
        await answer(send, 200, b"")
        seen.extend(await asyncio.gather(*waiting))
        over.set()

    async with connected(app) as client:
        client.say(GET)
        await client.hear()
        await within(over.wait())
    assert seen == [{"type": "http.disconnect"}] * 2


async def test_an_answer_to_nobody_is_dropped(caplog: pytest.LogCaptureFixture) -> None:
    entered, over = asyncio.Event(), asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        entered.set()
        while (await receive())["type"] != "http.disconnect":
            pass
        await answer(send, 200, b"nobody")
        over.set()

    async with connected(app) as client:
        client.say(GET)
        await within(entered.wait())
        client.writer.transport.abort()
        await within(over.wait())
    assert complaints(caplog) == []


async def test_who_writes_to_a_client_that_does_not_read_waits_until_it_leaves() -> None:
    clogged, over = asyncio.Event(), asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send(start())
        sending = asyncio.create_task(send(piece(b"x" * (32 << 20))))
        await sending
        waiting = asyncio.create_task(send(piece(b"", more=False)))
        for _ in range(3):
            await asyncio.sleep(0)
        assert not waiting.done()
        clogged.set()
        await waiting
        over.set()

    async with connected(app) as client:
        client.writer.transport.pause_reading()  # type: ignore[attr-defined]
        client.say(GET)
        await within(clogged.wait())
        client.writer.transport.abort()
        await within(over.wait())


async def test_no_task_is_left_of_requests_that_are_over() -> None:
    async with connected(echo) as client:
        before = len(asyncio.all_tasks())
        for _ in range(50):
            client.say(GET)
            assert await client.hear() == (200, b"")
        assert len(asyncio.all_tasks()) <= before + 1
