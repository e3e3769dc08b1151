"""What a server that was dialled may send, and what it costs others."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from hashlib import sha1

import pytest

from gatewright.transport import websocket_client, websocket_intake
from gatewright.transport.base import SLOW_READER, Limits
from gatewright.transport.websocket import CannotConnect, Connected, connect
from gatewright.transport.websocket_intake import CONTROL_BURST
from tests.transport.collecting import Collector, within

PING, TEXT, PIECE, CLOSING = b"\x89\x00", b"\x81\x02{}", b"\x00\x00", b"\x88"
Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter, bytes], Awaitable[None]]


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who does not end is not waited for."""
    monkeypatch.setattr(websocket_client, "CLOSE_S", 0.05)


@asynccontextmanager
async def dialled(talk: Talk, limits: Limits | None = None) -> AsyncIterator[tuple[Connected, Collector]]:  # fmt: skip
    """A client of a server that reads the request and then does what `talk` does with the response at hand."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = await reader.readuntil(b"\r\n\r\n")
        key = next(line[18:].strip() for line in asked.split(b"\r\n") if line.lower().startswith(b"sec-websocket-key"))  # fmt: skip
        accept = base64.b64encode(sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())  # noqa: S324 - RFC 6455
        lines = (b"HTTP/1.1 101 Switching Protocols", b"Upgrade: websocket", b"Connection: Upgrade", b"Sec-WebSocket-Protocol: mcp", b"Sec-WebSocket-Accept: " + accept, b"", b"")  # fmt: skip
        try:
            await talk(reader, writer, b"\r\n".join(lines))
        except ConnectionError:
            pass
        finally:
            writer.transport.abort()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    collector = Collector()
    try:
        made = connect(f"ws://127.0.0.1:{port}/", receiver=collector, limits=limits or Limits())
        yield await within(made), collector
    finally:
        server.close()


def sends(said: bytes, *, size: int = 1 << 20) -> Talk:
    """Says all of it behind its response, in pieces, and hears the client out."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes) -> None:
        whole = head + said
        for at in range(0, len(whole), size):
            writer.write(whole[at : at + size])
            await writer.drain()
            if size < 100:
                await asyncio.sleep(0)
        while (await reader.read(1 << 16))[:1] not in (b"", CLOSING):
            pass

    return talk


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (PING * int(CONTROL_BURST * 2), "more than 50 control frames a second"),
        (b"\x8a\x00" * int(CONTROL_BURST * 2), "more than 50 control frames a second"),
        (b"\x01\x00" + PIECE * 300, "a message in more than 128 small pieces; send it whole"),
        (b"\x01\x00" + b"\x00\x01a" * 300, "a message in more than 128 small pieces; send it whole"),
    ],
    ids=["pings", "pongs", "empty pieces", "small pieces"],
)  # fmt: skip
async def test_a_server_that_floods_is_sent_away_by_name(said: bytes, reason: str) -> None:
    async with dialled(sends(said)) as (_, collector):
        assert await collector.end() == reason


async def test_a_server_that_sends_more_than_a_client_may_is_read_more_slowly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It was sent away, and with it the open calls of all callers."""
    monkeypatch.setattr(websocket_intake, "FRAMES_BURST", 1000.0)
    async with dialled(sends(TEXT * 6000)) as (pipe, collector):
        most = before = 0
        while before < 6000 and not collector.ends:
            await asyncio.sleep(0)
            most, before = max(most, len(collector.messages) - before), len(collector.messages)
        assert collector.messages == [b"{}"] * 6000
        assert most <= 8
        pipe.close()
        assert await collector.end() == "closed"


async def test_what_a_server_sends_at_once_leaves_turns_to_others() -> None:
    """Each read of the socket was parsed in one turn: a hundred thousand frames."""
    async with dialled(sends(TEXT * 5000)) as (pipe, collector):
        most = before = 0
        while before < 5000:
            await asyncio.sleep(0)
            most, before = max(most, len(collector.messages) - before), len(collector.messages)
        assert most <= 8
        pipe.close()


@pytest.mark.parametrize("size", [1, 2, 3, 7, 50, 1 << 20])
async def test_the_response_and_what_stands_behind_it_may_come_in_any_pieces(size: int) -> None:
    async with dialled(sends(TEXT * 3, size=size)) as (pipe, collector):
        await collector.count(3)
        assert collector.messages == [b"{}"] * 3
        pipe.close()
        assert await collector.end() == "closed"


async def test_the_body_of_a_refusal_is_no_frame() -> None:
    async def talk(_: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes) -> None:
        writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 4\r\n\r\n\r\n\r\n")
        await writer.drain()

    with pytest.raises(CannotConnect, match="HTTP 403") as refused:
        async with dialled(talk):
            pass
    assert refused.value.status == 403


async def test_answers_to_pings_do_not_pile_up_for_a_server_that_does_not_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(websocket_client, "ANSWERS_MOST", 1000)
    full = asyncio.Event()

    async def talk(_: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes) -> None:
        writer.write(head)
        await full.wait()
        writer.write(b"\x89\x7d" + b"x" * 125)
        for _number in range(20):
            writer.write(b"\x89\x7d" + b"x" * 125)
        await asyncio.Event().wait()

    limits = Limits(patience_s=600.0, ping_interval_s=600.0)
    async with dialled(talk, limits) as (pipe, collector):
        while not pipe._connection.paused:
            pipe.send(b"x" * (1 << 20))
            await asyncio.sleep(0)
        full.set()
        assert await collector.end() == SLOW_READER


async def test_a_server_that_does_not_end_what_is_over_is_cut_off() -> None:
    too_long = b"\x81\x7f" + (1 << 30).to_bytes(8)

    async def talk(_: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes) -> None:
        writer.write(head + too_long)
        await asyncio.Event().wait()

    limits = Limits(frame_bytes=1000, ping_interval_s=600.0)
    async with dialled(talk, limits) as (_, collector):
        assert await collector.end() == "a message longer than 1000 bytes"


def answering(said: bytes, *, pings: int) -> Talk:
    """Says all of it at once, and answers so many pings behind it."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes) -> None:
        writer.write(head + said)
        left = pings
        while (first := await reader.readexactly(2))[:1] != CLOSING:
            mask, data = await reader.readexactly(4), await reader.readexactly(first[1] & 0x7F)
            if first[0] == 0x89 and left:
                left -= 1
                plain = bytes(one ^ mask[at % 4] for at, one in enumerate(data))
                writer.write(bytes((0x8A, len(plain))) + plain)

    return talk


async def test_a_server_whose_messages_wait_for_their_turn_is_not_dead(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its answer to a ping stands behind them."""
    monkeypatch.setattr(websocket_intake, "FRAMES_BURST", 10.0)
    monkeypatch.setattr(websocket_intake, "PACED_PER_S", 100.0)
    limits = Limits(ping_interval_s=0.1)
    async with dialled(answering(TEXT * 80, pings=1000), limits) as (pipe, collector):
        await collector.count(80)
        await asyncio.sleep(0.5)
        assert collector.ends == []
        pipe.close()
        assert await collector.end() == "closed"


async def test_a_server_that_answers_each_ping_late_is_alive(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As one does whose answers stand behind more than is parsed in the time of a ping."""
    monkeypatch.setattr(websocket_intake, "EXCUSED", 2)
    monkeypatch.setattr(websocket_intake.Intake, "waits", True)
    pings = 0
    many = asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes) -> None:
        nonlocal pings
        writer.write(head)
        before = b""
        while (first := await reader.readexactly(2))[:1] != CLOSING:
            mask, data = await reader.readexactly(4), await reader.readexactly(first[1] & 0x7F)
            if before:
                writer.write(bytes((0x8A, len(before))) + before)
            before = bytes(one ^ mask[at % 4] for at, one in enumerate(data))
            pings += 1
            if pings == 10:
                many.set()

    async with dialled(talk, Limits(ping_interval_s=0.05)) as (pipe, collector):
        await within(many.wait())
        assert collector.ends == []
        pipe.close()
        assert await collector.end() == "closed"


@pytest.mark.parametrize("said", [b"", TEXT * 30], ids=["silent", "once loud"])
async def test_a_server_that_answers_no_ping_is_dead_once_nothing_of_it_waits(
    monkeypatch: pytest.MonkeyPatch, said: bytes
) -> None:
    monkeypatch.setattr(websocket_intake, "FRAMES_BURST", 10.0)
    monkeypatch.setattr(websocket_intake, "PACED_PER_S", 100.0)
    limits = Limits(ping_interval_s=0.1)
    async with dialled(answering(said, pings=0), limits) as (_, collector):
        assert await collector.end() == "closed by the peer"
        assert collector.messages == [b"{}"] * (len(said) // len(TEXT))
