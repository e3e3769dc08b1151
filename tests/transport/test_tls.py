"""TLS is decrypted a little at a time, and whoever sends records of a byte is read less often than others."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gatewright.transport.tls import FEW, READ_BYTES, Pace, Records, _Secured, secured
from tests.transport.certificate import make_certificate


def record(size: int) -> bytes:
    return b"\x17\x03\x03" + size.to_bytes(2) + bytes(size)


@pytest.mark.parametrize("step", [1, 2, 3, 5, 7, 100, 10_000])
def test_records_are_counted_however_the_stream_is_cut(step: int) -> None:
    sizes = [0, 1, 17, 0, 300, 16_000, 1, 1]
    stream = b"".join(map(record, sizes))
    records = Records()
    pieces = (stream[at : at + step] for at in range(0, len(stream), step))
    assert sum(records.count(memoryview(piece)) for piece in pieces) == len(sizes)


class Clock:
    """A loop of which only the time and the calls to come are wanted."""

    def __init__(self) -> None:
        self.now = 100.0
        self.due: list[float] = []

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, _: Any) -> None:
        self.due.append(when)


def test_all_who_send_many_records_rest_one_after_the_other() -> None:
    """However many connections do, together they have a quarter of the time."""
    clock: Any = Clock()
    pace = Pace(clock)
    for _ in range(10):
        pace.rest(1000, lambda: None)
    steps = [after - before for before, after in zip([100.0, *clock.due], clock.due, strict=False)]
    assert min(steps) == pytest.approx(max(steps))
    assert steps[0] == pytest.approx(0.04)
    clock.now = 1000.0
    pace.rest(1000, lambda: None)
    assert clock.due[-1] == pytest.approx(1000.04)


class Rested(Pace):
    """Counts who has to rest, and lets it go on at once."""

    def __init__(self) -> None:
        self.records: list[int] = []

    def rest(self, records: int, resume: Any) -> None:
        self.records.append(records)
        asyncio.get_running_loop().call_soon(resume)


class Server(asyncio.Protocol):
    """Takes everything, as much as `most` bytes; then it reads no more."""

    def __init__(self, most: int = 1 << 40) -> None:
        self.pieces: list[bytes] = []
        self.most = most
        self.transport: Any = None
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def size(self) -> int:
        return sum(map(len, self.pieces))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.pieces.append(data)
        if self.size >= self.most:
            self.transport.pause_reading()

    def connection_lost(self, problem: Exception | None) -> None:
        self.over.set_result(None)


@asynccontextmanager
async def pair(
    folder: Path, server: Server, pace: Pace
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A client whose connection is led to this server."""
    certificate, key = make_certificate(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    theirs.setblocking(False)
    trust = ssl.create_default_context(cafile=str(certificate))
    async with asyncio.timeout(20):
        _, client = await asyncio.gather(
            secured(ours, server, context, pace, handshake_s=10.0),
            asyncio.open_connection(sock=theirs, ssl=trust, server_hostname="localhost"),
        )
        try:
            yield client
        finally:
            client[1].transport.abort()
            if server.transport is not None:
                server.transport.abort()
            await server.over


async def until(server: Server, size: int) -> None:
    async with asyncio.timeout(20):
        while server.size < size:
            await asyncio.sleep(0)


async def test_what_comes_is_read_a_few_kilobytes_in_a_step(tmp_path: Path) -> None:
    server, pace = Server(), Rested()
    async with pair(tmp_path, server, pace) as (_, writer):
        writer.write(b"x" * 1_000_000)
        await until(server, 1_000_000)
        assert b"".join(server.pieces) == b"x" * 1_000_000
        assert max(map(len, server.pieces)) <= 3 * READ_BYTES
        assert pace.records == []


async def test_who_sends_records_of_a_byte_rests_and_loses_nothing(tmp_path: Path) -> None:
    server, pace = Server(), Rested()
    async with pair(tmp_path, server, pace) as (_, writer):
        for _ in range(5000):
            writer.write(b"y")
        await until(server, 5000)
        assert b"".join(server.pieces) == b"y" * 5000
        assert pace.records
        assert FEW < max(pace.records) <= READ_BYTES // 23 + 1


async def test_who_is_not_read_by_its_reader_is_not_read_after_its_rest(tmp_path: Path) -> None:
    """Or what was sent would be kept in memory without end."""
    server, pace = Server(most=1), Rested()
    async with pair(tmp_path, server, pace) as (_, writer):
        for _ in range(200_000):
            writer.write(b"y")
        read = 0
        async with asyncio.timeout(20):
            while not read or read < sum(pace.records):
                read = sum(pace.records)
                await asyncio.sleep(0.2)
        assert read < 20_000
        assert server.size < 10_000


def wire_of(server: Server) -> Any:
    return server.transport._ssl_protocol._wire


async def test_a_client_that_its_reader_does_not_read_costs_no_more_wake_ups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, updated = list[int](), _Secured.buffer_updated

    def noted(self: _Secured, nbytes: int) -> None:
        read.append(nbytes)
        updated(self, nbytes)

    monkeypatch.setattr(_Secured, "buffer_updated", noted)
    server = Server(most=1)
    async with pair(tmp_path, server, Rested()) as (_, writer):
        writer.write(b"y")
        await until(server, 1)
        read.clear()
        for _ in range(30):
            writer.write(b"y")
            await asyncio.sleep(0.005)
        assert len(read) <= 1
        server.most = 1 << 40
        server.transport.resume_reading()
        await until(server, 31)
        writer.write(b"y")
        await until(server, 32)


async def test_a_client_that_left_unread_is_gone_once_the_connection_is_closed(
    tmp_path: Path,
) -> None:
    server = Server(most=1)
    async with pair(tmp_path, server, Rested()) as (_, writer):
        writer.write(b"y")
        await until(server, 1)
        writer.transport.abort()
        await asyncio.sleep(0.1)
        server.transport.close()
        async with asyncio.timeout(5):
            await asyncio.shield(server.over)


async def test_a_connection_that_is_closed_twice_can_still_be_asked_and_cut(tmp_path: Path) -> None:
    server = Server(most=1)
    async with pair(tmp_path, server, Rested()) as (_, writer):
        writer.write(b"y")
        await until(server, 1)
        for _ in range(2):
            server.transport.close()
        assert server.transport.get_write_buffer_size() == 0
        server.transport.abort()
        async with asyncio.timeout(5):
            await asyncio.shield(server.over)


async def test_half_a_record_that_nobody_took_does_not_hold_up_the_end(tmp_path: Path) -> None:
    server = Server(most=1)
    async with pair(tmp_path, server, Rested()) as (_, writer):
        writer.write(b"y")
        await until(server, 1)
        writer.write(b"z" * (2 * READ_BYTES - 100))
        await asyncio.sleep(0.1)
        assert not wire_of(server).is_reading()
        server.transport.close()
        async with asyncio.timeout(5):
            await asyncio.shield(server.over)


class Held(Pace):
    """Lets nobody go on by itself."""

    def __init__(self) -> None:
        self.resume: list[Any] = []

    def rest(self, records: int, resume: Any) -> None:
        self.resume.append(resume)


async def test_who_rests_for_its_records_is_not_read_because_its_reader_reads_on(
    tmp_path: Path,
) -> None:
    server, pace = Server(most=1), Held()
    async with pair(tmp_path, server, pace) as (_, writer):
        writer.write(b"y")
        await until(server, 1)
        for _ in range(100 * FEW):
            writer.write(b"y")
        async with asyncio.timeout(5):
            while not pace.resume:
                await asyncio.sleep(0.01)
        server.most = 1 << 40
        server.transport.resume_reading()
        await asyncio.sleep(0.1)
        assert len(pace.resume) == 1
        while server.size < 100 * FEW + 1:
            pace.resume.pop()()
            await asyncio.sleep(0.05)


async def test_a_handshake_that_fails_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    certificate, key = make_certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    with theirs:
        theirs.sendall(b"GET / HTTP/1.1\r\n\r\n")
        with pytest.raises(OSError, match=r"(?i)http.request"):
            await secured(
                ours, Server(), context, Pace(asyncio.get_running_loop()), handshake_s=10.0
            )
        theirs.setblocking(False)
        async with asyncio.timeout(20):
            while await asyncio.get_running_loop().sock_recv(theirs, 1000):
                pass
