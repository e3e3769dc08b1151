from __future__ import annotations

import asyncio
import base64
import gc
import os
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from gatewright.transport import read_turns, websocket_connection
from gatewright.transport.base import Limits
from gatewright.transport.http_server import serve
from gatewright.transport.websocket_connection import DIRECT, WebSocketConnection
from gatewright.transport.websocket_intake import Intake
from tests.transport.asgi import answer
from tests.transport.collecting import Collector, within
from tests.transport.raw_http import connected, dialled
from tests.transport.sockets import nobody_left

UPGRADE = (
    b"GET /ws?a HTTP/1.1\r\nhost: a\r\nupgrade: WebSocket\r\nconnection: keep-alive, Upgrade\r\n"
    b"sec-websocket-version: 13\r\nx-a: b\r\nsec-websocket-key: %b\r\n\r\n"
    % base64.b64encode(os.urandom(16))
)
HELLO = b"\x81\x82\0\0\0\0hi"  # a text frame, masked with zeros
KILOBYTE = b"\x81\xfe\x04\0" + bytes(4) + b"x" * 1024
GOODBYE = b"\x88\x82\0\0\0\0\x03\xe8"
GET = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n"


class Both:
    """Speaks WebSocket and HTTP; says back what it hears."""

    def __init__(self) -> None:
        self.scopes: list[Any] = []
        self.leave = asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.scopes.append(scope)
        if scope["type"] == "http":
            await self.leave.wait()
            await answer(send, 200, b"http")
            return
        await receive()
        await send({"type": "websocket.accept"})
        while (message := await receive())["type"] == "websocket.receive":
            await send({"type": "websocket.send", "text": message["text"]})


async def _goes_after_one(_: Any, receive: Any, send: Any) -> None:
    await receive()
    await send({"type": "websocket.accept"})
    await receive()
    await send({"type": "websocket.close", "code": 1003})


@pytest.mark.parametrize("size", [1, 7, 1000])
async def test_an_upgrade_is_handed_over_whole_however_it_arrives(size: int) -> None:
    app = Both()
    async with connected(app) as client:
        await client.say_slowly(UPGRADE[at : at + size] for at in range(0, len(UPGRADE), size))
        assert (await client.head()).startswith(b"http/1.1 101 ")
        client.say(HELLO)
        assert await within(client.reader.readexactly(4)) == b"\x81\x02hi"
        (scope,) = app.scopes
        assert (scope["type"], scope["path"], scope["query_string"]) == ("websocket", "/ws", b"a")
        assert (b"x-a", b"b") in scope["headers"]


async def test_what_comes_right_behind_an_upgrade_is_not_lost() -> None:
    async with connected(Both()) as client:
        client.say(UPGRADE + HELLO)
        assert (await client.head()).startswith(b"http/1.1 101 ")
        assert await within(client.reader.readexactly(4)) == b"\x81\x02hi"


async def test_a_connection_may_be_upgraded_after_a_request_was_answered() -> None:
    app = Both()
    app.leave.set()
    async with connected(app) as client:
        client.say(GET)
        assert await client.hear() == (200, b"http")
        client.say(UPGRADE)
        assert (await client.head()).startswith(b"http/1.1 101 ")
        assert client.server.connections == 1


async def test_an_upgrade_behind_a_request_that_runs_is_refused() -> None:
    app = Both()
    async with connected(app) as client:
        client.say(GET + UPGRADE)
        assert await client.end() == b""
    assert len(app.scopes) <= 1


@pytest.mark.parametrize(
    "spoilt",
    [
        UPGRADE.replace(b"version: 13", b"version: 12"),
        UPGRADE.replace(b"HTTP/1.1", b"HTTP/1.0"),
        UPGRADE.replace(b"GET ", b"POST "),
        UPGRADE.replace(b"sec-websocket-key", b"x-key"),
    ],
)
async def test_an_upgrade_that_cannot_be_is_refused(spoilt: bytes) -> None:
    app = Both()
    async with connected(app) as client:
        client.say(spoilt)
        assert int((await client.end()).split()[1]) >= 400
    assert app.scopes == []


async def test_garbage_right_behind_an_upgrade_is_looked_at_after_its_answer_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with connected(Both()) as client:
        client.say(UPGRADE + b"\xff\xff" + bytes(20))
        said = await client.end()
    assert said.startswith(b"HTTP/1.1 101 ")
    assert said.endswith(b"\r\n\r\n\x88\x10\x03\xeainvalid opcode")
    assert caplog.records == []


async def test_stopping_tells_a_websocket_to_go() -> None:
    async with connected(Both()) as client:
        client.say(UPGRADE)
        await client.head()
        await within(client.server.stop(20))
        assert await client.end() == b"\x88\x02\x03\xf4"  # 1012


async def test_one_that_breaks_while_it_parses_ends_also_in_its_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    told: list[object] = []
    loop = asyncio.get_running_loop()
    async with connected(Both()) as client:
        client.say(UPGRADE)
        await client.head()
        monkeypatch.setattr(WebSocketConnection, "handle_pong", broken)
        loop.set_exception_handler(lambda _, about: told.append(about.get("exception")))
        try:
            client.say(HELLO * 20 + b"\x8a\x80\0\0\0\0" + HELLO)  # more than is parsed at once
            await client.end()
        finally:
            loop.set_exception_handler(None)
    assert [type(one) for one in told] == [ZeroDivisionError]


async def test_what_comes_behind_our_goodbye_is_read_at_the_pace_of_the_intake(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No more is read while something waits, or all that a client sends in two seconds would be held."""
    waited: list[bool] = []
    take = Intake.take

    def watched(self: Intake, data: bytes) -> None:
        waited.append(self.waits)
        take(self, data)

    monkeypatch.setattr(Intake, "take", watched)
    async with connected(_goes_after_one) as client:
        client.say(UPGRADE)
        await client.head()
        client.say(KILOBYTE * 1000 + GOODBYE)
        assert await client.end() == b"\x88\x02\x03\xeb"
    assert len(waited) > 2
    assert not any(waited)


async def test_the_answer_to_our_goodbye_is_heard_behind_what_held_the_intake(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(websocket_connection, "CLOSING_S", 600.0)
    large = b"\x81\xfe\xff\xff" + bytes(4) + b"x" * 0xFFFF
    async with connected(_goes_after_one) as client:
        client.say(UPGRADE)
        await client.head()
        client.say(large + KILOBYTE * 3 + GOODBYE)
        assert await client.end() == b"\x88\x02\x03\xeb"


async def test_a_reason_is_told_as_far_as_a_closing_frame_has_room() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        scope["extensions"][DIRECT].leave(1013, "\u00fc" * 100)

    async with connected(app) as client:
        client.say(UPGRADE)
        await client.head()
        said = await client.end()
    assert said == b"\x88\x7c\x03\xf5" + "\u00fc".encode() * 61


async def _taken_over(scope: Any, receive: Any, send: Any) -> None:
    await receive()
    await send({"type": "websocket.accept"})
    scope["extensions"][DIRECT].take_over(Collector(), 1 << 20)


async def _heard_out(_: Any, receive: Any, send: Any) -> None:
    await receive()
    await send({"type": "websocket.accept"})
    while (await receive())["type"] != "websocket.disconnect":
        pass


@pytest.mark.parametrize("app", [_taken_over, _heard_out])
@pytest.mark.parametrize("flood", [False, True])
async def test_a_connection_that_is_over_waits_for_no_collector(
    app: Any, flood: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thousands that come and go would be held until the collector looks at the oldest, which stops the loop."""

    async def one() -> None:
        async with dialled(server) as client:
            client.say(UPGRADE)
            await client.head()
            client.say(b"\x89\x80\0\0\0\0" * 900 if flood else HELLO + GOODBYE)
            await client.end()
        await nobody_left(server)

    monkeypatch.setattr(websocket_connection, "CLOSING_S", 0.05)
    server = await serve(app, limits=Limits())
    try:
        await one()  # what is made once
        left = await _collected_of(one)
    finally:
        await within(server.stop(0.1))
    assert [kind for kind in left if kind.__module__.startswith("gatewright.")] == []
    assert len(left) <= 16  # of asyncio, whose transports (two here) refer to themselves


async def _collected_of(work: Callable[[], Awaitable[None]]) -> list[type]:
    """The types of all objects that `work` leaves to the collector."""
    await asyncio.sleep(0.01)
    gc.disable()
    gc.freeze()  # what was there before takes seconds to look through in a process of many tests
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        await work()
        await asyncio.sleep(0.01)
        gc.collect()
        return [type(one) for one in gc.garbage]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.unfreeze()
        gc.enable()


@pytest.mark.parametrize("reset", [False, True])
async def test_a_crowd_that_leaves_at_once_takes_turns(
    reset: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What each of thousands leaves to be done would stop everybody, were it done in one turn of the loop."""
    count, turns, left = 60, 0, 0
    monkeypatch.setattr(read_turns, "TURN_S", 0.0)

    async def counts() -> None:
        nonlocal turns, left
        while server.connections:
            there = server.connections
            await asyncio.sleep(0)
            left = max(left, there - server.connections)
            turns += 1

    server = await serve(_heard_out, limits=Limits())
    try:
        async with AsyncExitStack() as stack:
            crowd = [await stack.enter_async_context(dialled(server)) for _ in range(count)]
            for client in crowd:
                client.say(UPGRADE)
                await client.head()
            for client in crowd:
                if reset:
                    client.writer.transport.abort()
                else:
                    client.writer.close()
            await within(counts())
    finally:
        await within(server.stop(0.1))
    assert left <= 2
    assert turns >= count / 2


async def test_a_client_that_says_no_more_and_then_breaks_off_has_one_end() -> None:
    found: list[WebSocketConnection] = []

    async def takes(scope: Any, receive: Any, send: Any) -> None:
        found.append(scope["extensions"][DIRECT])
        await _taken_over(scope, receive, send)

    server = await serve(takes, limits=Limits())
    try:
        async with dialled(server) as client:
            client.say(UPGRADE)
            await client.head()
            (connection,) = found
            assert connection.eof_received() is True
            connection.transport.abort()
            await nobody_left(server)
            assert connection.disconnected
    finally:
        await within(server.stop(0.1))


async def test_a_server_that_stops_says_nothing_to_who_has_just_gone() -> None:
    """The connection is lost, and its turn to end has not come yet."""
    server = await serve(_heard_out, limits=Limits())
    async with dialled(server) as client:
        client.say(UPGRADE)
        await client.head()
        client.writer.transport.abort()
        while not client.writer.transport.is_closing() or len(server.seats):
            await asyncio.sleep(0)
        await within(server.stop(0.1))
    assert server.connections == 0
