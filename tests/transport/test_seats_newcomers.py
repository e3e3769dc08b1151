"""Who comes to a full house and asks a little later is not ended for the next one, while others are idle."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from pathlib import Path

from gatewright.transport.http_server import HttpServer, serve
from gatewright.transport.seats import Seats
from tests.transport.asgi import echo
from tests.transport.certificate import make_certificate
from tests.transport.test_seats import Client, Writers, opened

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
