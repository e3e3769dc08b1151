"""Records as syslog messages, to real sockets."""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from gatewright.audit.chain import GENESIS, seal
from gatewright.audit.records import shortened
from gatewright.audit.sinks.follow import SinkFailed
from gatewright.audit.sinks.syslog import SyslogSink, message
from tests.audit.parts import body
from tests.audit.sinks.parts import lines, plain
from tests.transport.certificate import make_certificate

FORM = re.compile(
    rb"<(\d+)>1 (\d{4}-\d\d-\d\dT[\d:.]+Z) ([!-~]+) gatewright (\d+) ([!-~]{1,32}) - (.*)",
    re.DOTALL,
)
DEADLINE_S = 20.0


@pytest.mark.parametrize(
    ("outcome", "priority"),
    [("success", 110), ("denied", 108), ("failure", 108), ("error", 107), ("pending", 110)],
)
def test_a_message_is_rfc_5424_and_carries_the_record(outcome: str, priority: int) -> None:
    line = seal(1, [body(1, outcome=outcome)], GENESIS)[0].rstrip()
    found = FORM.fullmatch(message(line, plain(line), "host.example", 42))
    assert found is not None
    assert (int(found[1]), found[2]) == (priority, b"2026-09-21T12:00:00.000Z")
    assert (found[3], found[4], found[5]) == (b"host.example", b"42", b"TOOL_EXECUTED")
    assert found[6] == line


def test_names_that_would_break_the_head_do_not() -> None:
    line = seal(1, [body(1, event_type="com.example.a b\n" + "c" * 99)], GENESIS)[0].rstrip()
    found = FORM.fullmatch(message(line, line, "", 1))
    assert found is not None
    assert (found[3], found[5]) == (b"-", b"ab" + b"c" * 30)


async def received(server: socket.socket, count: int) -> list[bytes]:
    """So many datagrams."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(DEADLINE_S):
        return [await loop.sock_recv(server, 65_536) for _ in range(count)]


@pytest.mark.parametrize("way", ["udp", "unix"])
async def test_a_datagram_is_one_record(tmp_path: Path, way: str) -> None:
    family = socket.AF_INET if way == "udp" else socket.AF_UNIX
    with socket.socket(family, socket.SOCK_DGRAM) as server:
        server.setblocking(False)
        server.bind(("127.0.0.1", 0) if way == "udp" else str(tmp_path / "log"))
        where = server.getsockname()
        address = f"udp://127.0.0.1:{where[1]}" if way == "udp" else f"unix://{where}"
        sink = SyslogSink(address, plain)
        await sink.deliver(lines(1, 3))
        got = await received(server, 3)
    assert [FORM.fullmatch(each)[6] for each in got] == lines(1, 3)  # type: ignore[index]


async def test_a_record_that_is_longer_than_a_datagram_comes_shortened_and_once(
    tmp_path: Path,
) -> None:
    def padded(line: bytes) -> bytes:
        return line if b'"cut":true' in line or b'"seq":2,' not in line else line + b" " * 70_000

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.setblocking(False)
        server.bind(("127.0.0.1", 0))
        sink = SyslogSink(f"udp://127.0.0.1:{server.getsockname()[1]}", padded)
        await sink.deliver(lines(1, 3))
        got = await received(server, 3)
        with pytest.raises(BlockingIOError):
            server.recv(65_536)
    first, second, third = lines(1, 3)
    wanted = [first, shortened(second), third]
    assert [FORM.fullmatch(each)[6] for each in got] == wanted  # type: ignore[index]


async def counted(reader: asyncio.StreamReader, count: int) -> list[bytes]:
    """So many messages with octet counting."""
    found = []
    async with asyncio.timeout(DEADLINE_S):
        for _ in range(count):
            size = int(await reader.readuntil(b" "))
            found.append(await reader.readexactly(size))
    return found


@asynccontextmanager
async def listening(
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[tuple[int, asyncio.Queue[asyncio.StreamReader]]]:
    """A port, and who connects to it; at the end nobody is connected any more."""
    came: asyncio.Queue[asyncio.StreamReader] = asyncio.Queue()
    writers: list[asyncio.StreamWriter] = []

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        await came.put(reader)

    server = await asyncio.start_server(take, "127.0.0.1", 0, limit=1 << 20, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1], came
    finally:
        server.close()
        for _ in range(10):  # turns of the loop, for whoever came at the last moment
            await asyncio.sleep(0)
        for writer in writers:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()


async def test_a_connection_stays_and_counts_octets() -> None:
    async with listening() as (port, came):
        sink = SyslogSink(f"tcp://127.0.0.1:{port}", plain)
        await sink.deliver(lines(1, 2))
        await sink.deliver(lines(3, 3))
        async with asyncio.timeout(DEADLINE_S):
            got = await counted(await came.get(), 3)
        assert [FORM.fullmatch(each)[6] for each in got] == lines(1, 3)  # type: ignore[index]
        assert came.empty()
        await sink.close()


async def test_a_connection_over_tls_is_made_to_who_can_prove_its_name(tmp_path: Path) -> None:
    certificate, key = make_certificate(tmp_path)
    ours = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ours.load_cert_chain(certificate, key)
    async with listening(ours) as (port, came):
        address = f"tls://127.0.0.1:{port}"
        trusting = SyslogSink(address, plain, tls=ssl.create_default_context(cafile=certificate))
        await trusting.deliver(lines(1, 2))
        async with asyncio.timeout(DEADLINE_S):
            got = await counted(await came.get(), 2)
        assert [FORM.fullmatch(each)[6] for each in got] == lines(1, 2)  # type: ignore[index]
        with pytest.raises(ssl.SSLError):
            await SyslogSink(address, plain).deliver(lines(3, 3))
        await trusting.close()


@pytest.mark.parametrize("scheme", ["tcp", "tls", "unix"])
async def test_nobody_there_is_a_failure(tmp_path: Path, scheme: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    where = str(tmp_path / "none") if scheme == "unix" else f"127.0.0.1:{port}"
    with pytest.raises((OSError, SinkFailed)):
        await SyslogSink(f"{scheme}://{where}", plain).deliver(lines(1, 1))
