"""Who comes to a full house and asks a little later is not ended for the next one, while others are idle."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import time
from pathlib import Path
from typing import Any

import pytest

from gatewright.transport.base import Limits
from gatewright.transport.connection_limits import Seats, Silent, Waits
from gatewright.transport.deadline import Deadline
from gatewright.transport.http_server import HttpServer, serve
from tests.transport.asgi import echo
from tests.transport.certificate import make_certificate
from tests.transport.test_connection_limits import Client, Writers, opened

ASK = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


async def status(reader: asyncio.StreamReader) -> bytes:
    async with asyncio.timeout(10):
        return (await reader.read(4096))[9:12]


def full_house(most: int) -> Seats:
    """Seats whose clock stands still, so that whoever comes has just come."""
    return Seats(most, clock=lambda: 0.0)


async def kept_alive(writers: Writers, port: int, count: int) -> list[Client]:
    """Connections that were answered, one after the other."""
    found = []
    for _ in range(count):
        found += await opened(writers, port, 1)
        found[-1][1].write(ASK)
        assert await status(found[-1][0]) == b"200"
    return found


async def asked(client: Client, request: bytes = ASK) -> bytes:
    """The status of an answer; empty where the connection ended without one."""
    with contextlib.suppress(ConnectionError):
        client[1].write(request)
        return await status(client[0])
    return b""


async def made_room(server: HttpServer, count: int) -> None:
    async with asyncio.timeout(10):
        while server.seats.made_room < count:
            await asyncio.sleep(0)


async def test_newcomers_whose_requests_are_on_their_way_outlive_idle_ones(
    writers: Writers,
) -> None:
    server = await serve(echo, seats=full_house(100))
    try:
        await kept_alive(writers, server.port, 100)
        newcomers = await opened(writers, server.port, 20)
        await made_room(server, 20)
        assert [await asked(one) for one in newcomers] == [b"200"] * 20
        assert (server.refused, server.seats.made_room, len(server.seats)) == (0, 20, 100)
    finally:
        await server.stop(0.1)


async def test_a_kept_connection_is_not_ended_between_two_pieces_of_a_head(
    writers: Writers,
) -> None:
    server = await serve(echo, seats=full_house(4))
    try:
        half = (await kept_alive(writers, server.port, 4))[-1]
        half[1].write(ASK[:9])
        for _ in range(3):
            await kept_alive(writers, server.port, 1)
        assert server.seats.made_room == 3
        assert await asked(half, ASK[9:]) == b"200"
    finally:
        await server.stop(0.1)


async def test_newcomers_who_are_about_to_shake_hands_outlive_idle_ones(
    tmp_path: Path, writers: Writers
) -> None:
    certificate, key = make_certificate(tmp_path)
    trusting = ssl.create_default_context(cafile=str(certificate))
    server = await serve(echo, certificate=str(certificate), key=str(key), seats=full_house(3))
    try:
        for _ in range(3):
            client = await asyncio.open_connection("localhost", server.port, ssl=trusting)
            writers.append(client[1])
            assert await asked(client) == b"200"
        newcomers = await opened(writers, server.port, 2)
        await made_room(server, 2)
        for one in newcomers:
            await one[1].start_tls(trusting, server_hostname="localhost")
            assert await asked(one) == b"200"
    finally:
        await server.stop(0.1)


BODY = b"x" * 16 * 1024 * 1024


async def large(scope: Any, receive: Any, send: Any) -> None:
    """Answers at once, with more than the system takes."""
    await send({"type": "http.response.start", "status": 200})
    await send({"type": "http.response.body", "body": BODY})


async def test_an_answer_that_is_still_being_written_is_not_cut_off_for_a_newcomer(
    writers: Writers,
) -> None:
    """Its client would ask again, and the tool would run twice."""
    server = await serve(large, limits=Limits(connections=1, patience_s=1000.0))
    try:
        ((reader, writer),) = await opened(writers, server.port, 1)
        writer.write(ASK)
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 10)
        ((newcomer, _),) = await opened(writers, server.port, 1)
        assert await status(newcomer) == b"503"
        assert b"content-length: %d" % len(BODY) in head
        assert await asyncio.wait_for(reader.readexactly(len(BODY)), 60) == BODY
        ((newcomer, writer),) = await opened(writers, server.port, 1)
        writer.write(ASK)
        assert await status(newcomer) == b"200"
    finally:
        await server.stop(0.1)


class Unread:
    """A transport whose client takes what the test says."""

    def __init__(self, left: int) -> None:
        self.left = left

    def get_write_buffer_size(self) -> int:
        return self.left


@pytest.mark.parametrize("awaited", ["idle", "linger", "head", ""])
async def test_who_does_not_take_an_answer_makes_room_after_its_time(awaited: str) -> None:
    """Also where nothing is awaited any more, because the connection closes once that is written."""
    now, deadline, transport = [100.0], Deadline(lambda _: None), Unread(1000)
    deadline.awaited, deadline.since = awaited, 90.0
    limits, wire = Limits(queue_bytes=2000, patience_s=5.0), transport
    holder: Any = Silent(deadline, wire, lambda: True, limits, lambda: now[0])  # type: ignore[arg-type]
    seen = []
    for passed in (0.0, 4.0, 1.0):
        now[0] += passed
        seen.append(holder.idle_since())
    assert seen == [None, None, (Waits.NEXT, 100.0)]
    transport.left = 3000  # another answer, more of which waits than is left to this
    seen = []
    for passed in (0.0, 100.0):
        now[0] += passed
        seen.append(holder.idle_since())
    transport.left = 1000
    for passed in (4.0, 1.0):
        now[0] += passed
        seen.append(holder.idle_since())
    assert seen == [None, None, None, (Waits.NEXT, 205.0)]
    deadline.since = 209.0  # one more
    assert holder.idle_since() is None


async def test_who_waits_until_our_side_begins_a_handshake_is_not_ended_for_that(
    writers: Writers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long that takes: it could not ask before."""
    monkeypatch.setattr("gatewright.transport.accept._HANDSHAKES", 0)
    late = [0.0]
    seats = Seats(2, clock=lambda: time.monotonic() + late[0])
    plain = await serve(echo, seats=seats)
    certificate, key = map(str, make_certificate(tmp_path))
    certified = await serve(echo, certificate=certificate, key=key, seats=seats)
    try:
        await kept_alive(writers, plain.port, 1)
        ((waiting, _),) = await opened(writers, certified.port, 1)
        async with asyncio.timeout(10):
            while len(seats) < 2:
                await asyncio.sleep(0)
        late[0] = 1000.0
        ((reader, writer),) = await opened(writers, plain.port, 1)
        writer.write(ASK)
        assert await status(reader) == b"200"
        assert not waiting.at_eof()
        assert (seats.made_room, len(seats)) == (1, 2)
    finally:
        await certified.stop(0.1)
        await plain.stop(0.1)
