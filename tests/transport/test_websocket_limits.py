from __future__ import annotations

import asyncio
import socket
import struct
import time
from typing import Any

import pytest
from websockets.asyncio.client import connect as dial
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from gatewright.transport import websocket_intake
from gatewright.transport.base import FROM_SERVERS, SLOW_READER, Closed, Limits
from gatewright.transport.websocket import connect
from tests.transport.collecting import Collector, within
from tests.transport.sockets import Open, client, close_code, nobody_left, read_on, shake_hands

SHORT = 0.1
HELLO = b"\x81\x82\0\0\0\0hi"


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
        await send({"type": "websocket.send", "text": "behind"})
        while (await receive())["type"] != "websocket.disconnect":
            pass

    at = await door(binary)
    collector = Collector()
    await within(connect(at.url, receiver=collector))
    assert await collector.end() == "a binary frame; messages are text"
    assert collector.messages == []


async def test_nothing_behind_a_binary_frame_is_carried_out(door: Open) -> None:
    at = await door()
    raw = await shake_hands(at)
    await within(at.there.wait())
    loop = asyncio.get_running_loop()
    await within(loop.sock_sendall(raw, b"\x82\x81\0\0\0\0x" + HELLO * 10))
    assert await at.collector.end() == "a binary frame; messages are text"
    assert at.collector.messages == []
    raw.close()


async def test_nothing_behind_the_message_upon_which_a_client_is_sent_away_is_carried_out(
    door: Open,
) -> None:
    at = await door(echo=False)
    at.collector = Collector(lambda _: at.pipe.leave(1008, "the key was taken back"))
    raw = await shake_hands(at)
    await within(at.there.wait())
    await within(asyncio.get_running_loop().sock_sendall(raw, HELLO * 10))
    assert await at.collector.end() == "the key was taken back"
    assert at.collector.messages == [b"hi"]
    raw.close()


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
            await within(read_on(connection))
        assert caught.value.rcvd is not None
        assert caught.value.rcvd.code == 1009


async def test_a_frame_over_the_limit_from_a_server_ends_the_client(door: Open) -> None:
    at = await door(echo=False)
    _, collector = await client(at, Limits(frame_bytes=1000))
    at.pipe.send(b"x" * 1001)
    assert await collector.end() == "a message longer than 1000 bytes"


async def test_text_that_is_not_utf8_is_answered_with_1007(
    door: Open, caplog: pytest.LogCaptureFixture
) -> None:
    at = await door()
    raw = await shake_hands(at)
    await within(at.there.wait())
    loop = asyncio.get_running_loop()
    await within(loop.sock_sendall(raw, b"\x81\x82\0\0\0\0\xff\xff" + HELLO))
    assert await at.collector.end() == "a text frame that is not UTF-8"
    assert at.collector.messages == []
    assert b"\x88\x20\x03\xefa text frame that is not UTF-8" in await _heard(raw)
    raw.close()
    await nobody_left(at.server)
    assert caplog.records == []


@pytest.mark.parametrize("held_up", [False, True])
async def test_answers_to_what_came_before_a_frame_over_the_limit_are_no_failure(
    door: Open, caplog: pytest.LogCaptureFixture, held_up: bool
) -> None:
    """As often as a client likes, so nothing of it is logged; also where the writer waits for the peer to read."""
    at = await door(limits=Limits(frame_bytes=1000))
    raw = await shake_hands(at)
    await within(at.there.wait())
    if held_up:
        for _ in range(64):
            at.pipe.send(b"x" * 65536)
        await asyncio.sleep(0.05)
    loop = asyncio.get_running_loop()
    await within(loop.sock_sendall(raw, HELLO * 40 + b"\x81\xfe\x03\xe9" + bytes(4)))
    heard = await _heard(raw)
    assert b"\x88" in heard
    assert await at.collector.end() == "a message longer than 1000 bytes"
    raw.close()
    await nobody_left(at.server)
    assert caplog.records == []


async def test_what_an_application_says_behind_the_end_is_as_if_the_client_had_left(
    door: Open,
) -> None:
    raised: list[Exception] = []

    async def late(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        assert (await receive())["code"] == 1009
        for more in ({"type": "websocket.send", "text": "x"}, {"type": "websocket.close"}):
            try:
                await send(more)
            except (OSError, RuntimeError) as problem:
                raised.append(problem)

    at = await door(late, limits=Limits(frame_bytes=1000))
    raw = await shake_hands(at)
    await within(asyncio.get_running_loop().sock_recv(raw, 1000))
    await within(asyncio.get_running_loop().sock_sendall(raw, b"\x81\xfe\x03\xe9" + bytes(4)))
    await _heard(raw)
    raw.close()
    await nobody_left(at.server)
    assert len(raised) == 2
    assert all(isinstance(one, OSError) for one in raised)


async def _heard(raw: socket.socket) -> bytes:
    heard = b""
    while piece := await within(asyncio.get_running_loop().sock_recv(raw, 1 << 16)):
        heard += piece
    return heard


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


async def test_a_peer_that_answers_each_ping_late_is_alive(
    door: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one does whose answers stand behind more than is parsed in the time of a ping."""
    monkeypatch.setattr(websocket_intake, "EXCUSED", 2)
    monkeypatch.setattr(websocket_intake.Intake, "waits", True)
    at = await door(limits=Limits(ping_interval_s=0.05), echo=False)
    raw = await shake_hands(at)
    await within(at.there.wait())
    loop, before = asyncio.get_running_loop(), b""
    with raw:
        assert (await within(loop.sock_recv(raw, 4096))).endswith(b"\r\n\r\n")
        for _ in range(10):
            ping = await within(loop.sock_recv(raw, 6))
            assert ping[:2] == b"\x89\x04"
            if before:
                await loop.sock_sendall(raw, b"\x8a\x84\0\0\0\0" + before)
            before = ping[2:]
        assert at.collector.ends == []


async def test_a_peer_whose_messages_wait_for_their_turn_is_not_cut_off(door: Open) -> None:
    """Its answer to a ping would stand behind them."""
    at = await door(limits=Limits(ping_interval_s=SHORT), echo=False)
    raw = await shake_hands(at)
    await within(at.there.wait())
    at.collector._on_message = lambda _: time.sleep(
        0.002
    )  # as long as a message takes that is refused and recorded
    await within(asyncio.get_running_loop().sock_sendall(raw, HELLO * 300))
    await at.collector.count(300)
    assert at.collector.ends == []
    assert await at.collector.end() == "closed by the peer"  # it never answered
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
