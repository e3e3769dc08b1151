"""Lines over TCP on real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gatewright.transport.base import Closed, Limits, Pipe
from gatewright.transport.http_server import CannotListen, tls_context
from gatewright.transport.http_slices import SLICE_BYTES
from gatewright.transport.line_stream import LineInbox
from gatewright.transport.tcp import LineServer, serve_lines
from tests.transport.authority import Authority

SECONDS = 20.0


class Echo:
    """Says each message again, and notes how it ended."""

    def __init__(self, pipe: Pipe) -> None:
        self.pipe = pipe
        self.heard: list[bytes] = []
        self.owes = asyncio.Event()
        self.owes.set()
        self.over: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def message(self, data: bytes) -> None:
        self.heard.append(data)
        self.pipe.send(b"again " + data)

    def closed(self, reason: str) -> None:
        self.over.set_result(reason)

    async def drained(self) -> None:
        """Everything is answered at once here, but for what a test holds back."""
        await self.owes.wait()


class Served:
    def __init__(self) -> None:
        self.found: list[Echo] = []
        self.came = asyncio.Event()
        self.server: LineServer

    def accept(self, pipe: Pipe) -> Echo:
        self.found.append(Echo(pipe))
        self.came.set()
        return self.found[-1]


@asynccontextmanager
async def served(
    limits: Limits | None = None, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Served]:
    found = Served()
    found.server = await serve_lines(
        found.accept, host="127.0.0.1", port=0, tls=tls, limits=limits or Limits()
    )
    try:
        yield found
    finally:
        await found.server.stop()


async def line(reader: asyncio.StreamReader) -> bytes:
    return await asyncio.wait_for(reader.readline(), SECONDS)


async def test_messages_go_both_ways_one_a_line() -> None:
    """GRH-cfg-2."""
    async with served() as house:
        reader, writer = await asyncio.open_connection("127.0.0.1", house.server.port)
        writer.write(b'{"a":1}\r\n\n{"b"')
        assert await line(reader) == b'again {"a":1}\n'
        writer.write(b":2}\n")
        assert await line(reader) == b'again {"b":2}\n'
        assert house.server.connections == 1
        writer.close()
        assert await asyncio.wait_for(house.found[0].over, SECONDS) == "closed by the peer"
        assert house.server.connections == 0


@pytest.mark.parametrize("sent", [b"\r\n", b"\n", b"{}\n"])
async def test_what_is_read_is_looked_at_in_slices_in_turns_with_others(
    sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[int] = []
    feed = LineInbox.feed

    def count(self: LineInbox, data: bytes) -> None:
        looked.append(len(data))
        feed(self, data)

    monkeypatch.setattr(LineInbox, "feed", count)
    async with served(Limits(turn_messages=1000)) as house:
        flood = sent * (300_000 // len(sent)) + b"last\n"
        opened = [await asyncio.open_connection("127.0.0.1", house.server.port) for _ in range(2)]
        for _, writer in opened:
            writer.write(flood)
            writer.write_eof()
        for reader, writer in opened:
            said = await asyncio.wait_for(reader.read(), SECONDS)
            assert said.endswith(b"again last\n")
            writer.close()
        assert max(looked) <= SLICE_BYTES
        assert sum(looked) == 2 * len(flood)
        assert len({id(pipe._turns) for pipe in (echo.pipe for echo in house.found)}) == 1  # type: ignore[attr-defined]


async def test_who_has_said_everything_still_gets_its_answers() -> None:
    async with served() as house:
        reader, writer = await asyncio.open_connection("127.0.0.1", house.server.port)
        writer.write(b"one\n")
        assert await line(reader) == b"again one\n"
        (echo,) = house.found
        echo.owes.clear()
        writer.write(b"two\n")
        writer.write_eof()
        assert await line(reader) == b"again two\n"
        echo.pipe.send(b"and three")
        assert await line(reader) == b"and three\n"
        echo.owes.set()
        assert await line(reader) == b""
        assert await asyncio.wait_for(echo.over, SECONDS) == "closed by the peer"
        writer.close()


async def test_half_a_message_and_one_that_is_too_long_end_the_connection() -> None:
    """GRH-test-6."""
    async with served(Limits(frame_bytes=10)) as house:
        for sent, reason in (
            (b"x" * 100, "a message longer than 10 bytes"),
            (b"half", "half a frame, then the end"),
        ):
            _, writer = await asyncio.open_connection("127.0.0.1", house.server.port)
            writer.write(sent)
            writer.write_eof()
            house.came.clear()
            await asyncio.sleep(0)
            async with asyncio.timeout(SECONDS):
                while not house.found:
                    await house.came.wait()
            assert await asyncio.wait_for(house.found.pop().over, SECONDS) == reason
            writer.close()


async def test_who_is_not_wanted_is_let_go_at_once_and_leaves_nothing() -> None:
    """GRH-cfg-6: a receiver that closes its pipe while it is made."""
    found: list[Echo] = []

    def accept(pipe: Pipe) -> Echo:
        pipe.close()
        found.append(Echo(pipe))
        return found[-1]

    server = await serve_lines(accept, host="127.0.0.1", port=0)
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"one\n")
        async with asyncio.timeout(SECONDS):
            with contextlib.suppress(ConnectionResetError):  # what was sent is not read any more
                assert await reader.read() == b""
            while not found:
                await asyncio.sleep(0.01)
            assert await found[0].over == "closed"
        assert (found[0].heard, server.connections) == ([], 0)
        writer.close()
    finally:
        await server.stop()


async def test_nothing_is_sent_to_who_is_gone_and_stopping_says_goodbye() -> None:
    async with served() as house:
        reader, writer = await asyncio.open_connection("127.0.0.1", house.server.port)
        writer.write(b"hello\n")
        await line(reader)
        (echo,) = house.found
        await house.server.stop()
        assert await line(reader) == b""
        assert await asyncio.wait_for(echo.over, SECONDS) == "closed"
        with pytest.raises(Closed):
            echo.pipe.send(b"late")
        writer.close()


async def test_clients_show_a_certificate_where_a_ca_is_named(tmp_path: Path) -> None:
    """GRH-cfg-4."""
    ca = Authority(tmp_path)
    certificate, key = ca.issue("server", "localhost")
    context = tls_context(str(certificate), str(key), str(ca.certificate))
    async with served(tls=context) as house:
        port = house.server.port
        reader, writer = await asyncio.open_connection(
            "localhost", port, ssl=ca.client_context("ann"), family=2
        )
        writer.write(b"hello\n")
        assert await line(reader) == b"again hello\n"
        writer.close()
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await without_certificate(port, ca.client_context())


async def without_certificate(port: int, context: ssl.SSLContext) -> None:
    """Say hello. With TLS 1.3 a client learns only after its handshake that it was refused."""
    reader, writer = await asyncio.open_connection("localhost", port, ssl=context, family=2)
    try:
        writer.write(b"hello\n")
        if not await line(reader):
            raise ConnectionError("closed without a word")
    finally:
        writer.close()


async def test_a_port_that_is_taken_is_said() -> None:
    async with served() as house:
        with pytest.raises(CannotListen, match="it is taken"):
            await serve_lines(house.accept, host="127.0.0.1", port=house.server.port)
