"""What came and stands in line, because others took the time of the turn, is treated as what was parsed at once."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gatewright.transport import http_connection, slow_senders
from gatewright.transport.base import Limits
from gatewright.transport.http_server import serve
from gatewright.transport.http_slices import SLICE_BYTES, Sliced
from gatewright.transport.read_turns import ReadTurns
from gatewright.transport.slow_senders import Resting, SlowSenders
from tests.transport.asgi import answer, echo
from tests.transport.certificate import make_certificate
from tests.transport.collecting import within
from tests.transport.raw_http import GET, connected, dialled
from tests.transport.test_tcp import served
from tests.transport.test_websocket_intake import Wire, frame

HEAD = b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\n"


@pytest.fixture(autouse=True)
def _crowded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others have always taken the time of the turn."""
    monkeypatch.setattr(ReadTurns, "has_time", property(lambda _: False))


@pytest.fixture
def halt(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Callable[[], None]]:
    """From its call on nobody in line has a turn, until what it returns is called."""
    run = ReadTurns._run

    def halted() -> Callable[[], None]:
        line: list[ReadTurns] = []

        def stands(self: ReadTurns) -> None:
            line.append(self)

        monkeypatch.setattr(ReadTurns, "_run", stands)

        def go_on() -> None:
            monkeypatch.setattr(ReadTurns, "_run", run)
            for turns in line:
                run(turns)

        return go_on

    return halted


@pytest.fixture
def rested(monkeypatch: pytest.MonkeyPatch) -> list[Resting]:
    """Who rests, for ever."""
    found, rest = list[Resting](), SlowSenders.rest

    def noted(self: SlowSenders, one: Resting) -> None:
        found.append(one)
        rest(self, one)

    monkeypatch.setattr(slow_senders, "SLOW_S", 0.0)
    monkeypatch.setattr(slow_senders, "REST_S", 3600.0)
    monkeypatch.setattr(SlowSenders, "rest", noted)
    return found


def stand_in_line(server: Any) -> bool:
    """Whether something that a client of the server sent is not parsed yet."""
    return any(one._rest for one in server._state.connections)


async def dribbled(writer: asyncio.StreamWriter, text: bytes, rested: list[Resting]) -> None:
    """Send single bytes until somebody rests for it, or all have been sent."""
    for byte in text:
        if rested:
            return
        writer.write(bytes([byte]))
        await asyncio.sleep(0.005)


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(5):
        while not holds():
            await asyncio.sleep(0.005)


async def test_an_http_client_that_sends_single_bytes_rests(rested: list[Resting]) -> None:
    """A crowd of such clients is what rests are for, and in a crowd all but a few stand in line."""
    async with connected(echo) as client:
        await dribbled(client.writer, b"GET /" + 500 * b"a", rested)
        (one,) = rested
        assert isinstance(one, Sliced)
        assert one.transport.is_reading() is False


async def test_a_tcp_client_that_sends_single_bytes_rests(rested: list[Resting]) -> None:
    async with served() as house:
        _, writer = await asyncio.open_connection("127.0.0.1", house.server.port)
        await dribbled(writer, b'{"some":"' + 500 * b"a", rested)
        assert len(rested) == 1
        writer.close()


async def test_a_websocket_that_sends_single_bytes_rests_though_others_flood() -> None:
    turns = ReadTurns(asyncio.get_running_loop())
    wire, other, whole = Wire(turns), Wire(turns), frame(100)
    for now, data in ((0.0, whole[:20]), (1.0, b"x"), (2.0, b"x")):
        wire.now = now
        other.intake.take(frame(1) * 20)
        wire.intake.take(data)
        await other.quiet()
        await wire.quiet()
    assert (wire.reads, other.reads) == (False, True)


async def test_a_request_that_came_before_the_stop_is_answered(
    halt: Callable[[], Callable[[], None]],
) -> None:
    async with connected(echo) as client:
        client.say(GET)
        await client.hear()
        go_on = halt()
        client.say(HEAD + b"text")
        await until(lambda: stand_in_line(client.server))
        stopping = asyncio.create_task(client.server.stop(20))
        await asyncio.sleep(0.02)
        go_on()
        head = await client.head()
        assert (b" 200 " in head, b"connection: close" in head) == (True, True)
        assert await client.end() == b"text"
        await within(stopping)


async def test_a_known_head_that_waits_for_its_body_at_the_stop_is_answered() -> None:
    async with connected(echo) as client:
        client.say(HEAD + b"text")
        assert await client.hear() == (200, b"text")
        client.say(HEAD)
        await until(lambda: any(one._heads.ahead for one in client.server._state.connections))
        stopping = asyncio.create_task(client.server.stop(20))
        await asyncio.sleep(0.02)
        client.say(b"more")
        assert await client.hear() == (200, b"more")
        await within(stopping)


async def test_a_request_in_line_behind_a_last_answer_is_not_begun(
    halt: Callable[[], Callable[[], None]],
) -> None:
    """Its client was told that the connection ends with that answer, and may make the request once more elsewhere."""
    heard, served, go_on = list[str](), asyncio.Event(), list[Callable[[], None]]()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        heard.append(scope["path"])
        await served.wait()
        await answer(send, 200, b"")
        go_on[0]()

    async with connected(app) as client:
        client.say(GET)
        await until(lambda: heard)
        stopping = asyncio.create_task(client.server.stop(20))
        await asyncio.sleep(0.02)
        go_on.append(halt())
        client.say(GET.replace(b"/a?b", b"/late"))
        await until(lambda: stand_in_line(client.server))
        served.set()
        assert b"connection: close" in await client.head()
        await within(stopping)
    assert heard == ["/a"]


async def test_half_a_request_keeps_no_server_from_its_stop(
    halt: Callable[[], Callable[[], None]],
) -> None:
    async with connected(echo) as client:
        client.say(GET)
        await client.hear()
        go_on = halt()
        client.say(GET[:20])
        await until(lambda: stand_in_line(client.server))
        stopping = asyncio.create_task(client.server.stop(20))
        await asyncio.sleep(0.02)
        go_on()
        assert await client.end() == b""
        await within(stopping)


@pytest.mark.parametrize(
    ("first", "limits"), [(b"", {"header_timeout_s": 0.3}), (GET, {"keep_alive_s": 0.3})]
)
async def test_a_request_that_came_in_time_is_served_though_its_turn_comes_late(
    first: bytes, limits: dict[str, float], halt: Callable[[], Callable[[], None]]
) -> None:
    async with connected(echo, **limits) as client:
        if first:
            client.say(first)
            await client.hear()
        go_on = halt()
        client.say(HEAD + b"text")
        await asyncio.sleep(0.7)
        go_on()
        assert await client.hear() == (200, b"text")


async def test_what_a_refused_client_goes_on_sending_keeps_no_connection_open(
    halt: Callable[[], Callable[[], None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_connection, "LINGER_S", 0.3)
    async with connected(echo) as client:
        client.say(b"nonsense\r\n\r\n")
        assert (await client.hear())[0] == 400
        halt()
        client.say(b"x" * (SLICE_BYTES + 1))
        await until(lambda: stand_in_line(client.server))
        await until(lambda: not client.server.connections)


async def test_what_a_client_said_before_it_left_is_heard_behind_tls(
    tmp_path: Path, halt: Callable[[], Callable[[], None]]
) -> None:
    """A notification after which its client closes: the end is told while nothing is read."""
    heard = list[str]()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        heard.append(scope["path"])
        await answer(send, 202, b"")

    certificate, key = make_certificate(tmp_path)
    server = await serve(app, certificate=str(certificate), key=str(key), limits=Limits())
    try:
        trusting = ssl.create_default_context(cafile=str(certificate))
        reader, writer = await within(
            asyncio.open_connection("127.0.0.1", server.port, ssl=trusting)
        )
        writer.write(GET)
        await within(reader.readuntil(b"\r\n\r\n"))
        halt()
        writer.write(GET.replace(b"/a?b", b"/gone"))
        writer.close()
        await until(lambda: not server.connections)
        assert heard == ["/a", "/gone"]
    finally:
        await within(server.stop(0.1))


async def test_an_upgrade_in_line_at_the_stop_is_told_of_it(
    halt: Callable[[], Callable[[], None]],
) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        await receive()

    upgrade = (
        b"GET / HTTP/1.1\r\nhost: a\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
        b"sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    )
    server = await serve(app, limits=Limits())
    go_on = halt()
    async with dialled(server) as client:
        client.say(upgrade)
        await until(lambda: stand_in_line(server))
        stopping = asyncio.create_task(server.stop(1))
        await asyncio.sleep(0.02)
        began = asyncio.get_running_loop().time()
        go_on()
        await client.head()
        await within(stopping)
        assert asyncio.get_running_loop().time() - began < 0.8
