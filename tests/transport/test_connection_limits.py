"""How many connections may be open, who makes room for whom, and that a process keeps descriptors for everything else."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import resource
import ssl
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.transport.accept import A_HANDSHAKE
from gatewright.transport.base import Limits
from gatewright.transport.connection_limits import (
    GRACE_S,
    LOOKED_AT,
    RESERVED,
    Seats,
    Waits,
    share_of,
)
from gatewright.transport.http_server import HttpServer, serve
from gatewright.transport.tcp import serve_lines
from tests.transport.asgi import echo
from tests.transport.certificate import make_certificate
from tests.transport.collecting import Collector

Client = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Writers = list[asyncio.StreamWriter]
ASK = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
LOCAL, FAR = "127.0.0.1", "192.0.2.1"


class Person:
    """A connection that says how idle it is, and notes that it gave up its seat."""

    def __init__(self, idle: tuple[Waits, float] | None) -> None:
        self.idle = idle
        self.gone = False

    def idle_since(self) -> tuple[Waits, float] | None:
        return self.idle

    def give_up(self) -> None:
        self.gone = True


def seated(seats: Seats, place: str, idle: tuple[Waits, float] | None) -> Person:
    seat = seats.take(place)
    assert seat is not None
    seat.holder = person = Person(idle)
    return person


@pytest.mark.parametrize(
    ("files", "share"),
    [(1024, 768), (256, 128), (20_000, 20_000 - RESERVED[1]), (100, 1), (1, 1), (0, 1)],
)
def test_a_process_keeps_a_quarter_of_its_files(files: int, share: int) -> None:
    assert share_of(files) == share


@given(st.integers(-1, 1 << 40))
def test_there_is_always_room_for_one_and_never_for_all(files: int) -> None:
    assert 1 <= share_of(files) <= 100_000
    assert files < 2 or share_of(files) < files


def test_without_a_bound_it_is_what_the_process_may_open() -> None:
    assert Seats().most == share_of(resource.getrlimit(resource.RLIMIT_NOFILE)[0])


@pytest.mark.parametrize(
    ("place", "most"),
    [("", 10), ("127.0.0.1", 10), ("127.8.8.8", 10), ("::", 10), (FAR, 5), ("2001:db8::", 5)],
)
def test_an_address_has_half_unless_it_is_this_machine(place: str, most: int) -> None:
    seats = Seats(10)
    taken = [seats.take(place) for _ in range(12)]
    assert [one is not None for one in taken] == [True] * most + [False] * (12 - most)
    assert seats.refused == 12 - most
    assert ("limits.connections_per_address" in seats.why(place)) is (most == 5)


def test_a_bound_that_was_set_holds_for_this_machine_as_well() -> None:
    seats = Seats(10, 2)
    assert [bool(seats.take(LOCAL)) for _ in range(3)] == [True, True, False]
    assert [bool(seats.take("")) for _ in range(3)] == [True] * 3


def test_who_leaves_makes_room_once() -> None:
    seats = Seats(1)
    first = seats.take(LOCAL)
    assert first is not None
    assert seats.take(LOCAL) is None
    first.leave()
    first.leave()
    assert len(seats) == 0
    assert seats.take(LOCAL) is not None
    assert seats.take(LOCAL) is None


def test_the_one_that_never_asked_goes_before_the_longest_idle_and_busy_ones_stay() -> None:
    seats = Seats(4)
    busy, idle, longer, never = (
        seated(seats, LOCAL, one)
        for one in (None, (Waits.NEXT, 9.0), (Waits.NEXT, 1.0), (Waits.FIRST, 9.5))
    )
    gone = []
    for _ in range(4):
        seats.take(LOCAL)
        gone.append([one.gone for one in (busy, idle, longer, never)])
    assert gone == [
        [False, False, False, True],
        [False, False, True, True],
        [False, True, True, True],
        [False, True, True, True],
    ]
    assert (seats.refused, seats.made_room) == (1, 3)


def test_a_request_on_its_way_is_waited_for_before_its_connection_makes_room() -> None:
    now = 100.0
    seats = Seats(5, clock=lambda: now)
    fresh, half = now - GRACE_S / 2, now - GRACE_S / 4
    people = [
        seated(seats, LOCAL, one)
        for one in (
            (Waits.FIRST, fresh),
            (Waits.REST, half),
            (Waits.NEXT, now),
            (Waits.REST, 3.0),
            (Waits.FIRST, 97.0),
        )
    ]
    left = []
    for _ in range(5):
        seats.take(LOCAL)
        left.append([number for number, one in enumerate(people) if not one.gone])
    assert left == [[0, 1, 2, 3], [0, 1, 2], [0, 1], [1], []]


def test_who_does_not_ask_within_the_grace_makes_room_for_who_does() -> None:
    """Nobody is refused: who stayed mute goes first, then the idle, and only then who has just come."""
    now = 0.0
    seats = Seats(100, clock=lambda: now)
    kept = [seated(seats, LOCAL, (Waits.NEXT, float(-number))) for number in range(50)]
    mute = [seated(seats, LOCAL, (Waits.FIRST, 0.0)) for _ in range(50)]
    now = GRACE_S
    asking = [seated(seats, LOCAL, (Waits.FIRST, now)) for _ in range(50)]
    assert all(one.gone for one in mute)
    assert not any(one.gone for one in kept + asking)
    more = [seated(seats, LOCAL, (Waits.FIRST, now)) for _ in range(50)]
    assert all(one.gone for one in kept)
    assert not any(one.gone for one in asking + more)
    assert seats.refused == 0


def test_room_for_one_address_is_made_by_its_own_connections_alone() -> None:
    seats = Seats(10)
    other = seated(seats, "198.51.100.7", (Waits.FIRST, 0.0))
    own = [seated(seats, FAR, (Waits.NEXT, float(number))) for number in range(5)]
    assert seats.take(FAR) is not None
    assert not other.gone
    assert [one.gone for one in own] == [True, False, False, False, False]


def test_looking_for_an_idle_one_is_bounded_and_comes_round() -> None:
    """Ten thousand busy ones cost each newcomer a glance at some of them, and the idle one among them is found in the end."""
    seats = Seats(10_000)
    people = [seated(seats, LOCAL, None) for _ in range(9_999)]
    idle = seated(seats, LOCAL, (Waits.NEXT, 1.0))
    tries = 0
    while seats.take(LOCAL) is None:
        tries += 1
        assert tries <= 10_000 // LOOKED_AT
    assert idle.gone
    assert not any(one.gone for one in people)


def test_a_refusal_is_logged_once_in_a_while(caplog: pytest.LogCaptureFixture) -> None:
    seats = Seats(1)
    seats.take(LOCAL)
    with caplog.at_level(logging.WARNING):
        for _ in range(50):
            seats.take(LOCAL)
    (record,) = [one for one in caplog.records if one.name == "gatewright.connections"]
    assert "ulimit -n" in record.getMessage() or "limits.connections" in record.getMessage()
    assert LOCAL in record.getMessage()


# -- at a server


@contextlib.asynccontextmanager
async def serving(app: Any = echo, **limits: Any) -> AsyncIterator[HttpServer]:
    server = await serve(app, limits=Limits(**limits))
    try:
        yield server
    finally:
        await server.stop(0.1)


async def opened(writers: Writers, port: int, count: int) -> list[Client]:
    found = [await asyncio.open_connection("127.0.0.1", port) for _ in range(count)]
    writers += [writer for _, writer in found]
    return found


async def until(server: HttpServer, count: int) -> None:
    async with asyncio.timeout(10):
        while len(server.seats) != count:
            await asyncio.sleep(0.01)


async def status(reader: asyncio.StreamReader) -> bytes:
    async with asyncio.timeout(10):
        return (await reader.read(4096))[9:12]


@pytest.mark.parametrize("said", [b"", b"G", ASK[:-2]])
async def test_a_newcomer_is_served_however_many_silent_ones_there_are(
    said: bytes, writers: Writers
) -> None:
    async with serving(connections=8) as server:
        silent = await opened(writers, server.port, 8)
        for _, writer in silent:
            writer.write(said)
        await until(server, 8)
        for _ in range(20):
            ((reader, writer),) = await opened(writers, server.port, 1)
            writer.write(ASK)
            assert await status(reader) == b"200"
        assert server.refused == 0
        assert len(server.seats) <= 8
        for _, writer in silent:
            writer.close()


async def test_whose_request_is_under_way_stays_and_a_newcomer_is_told_why(
    writers: Writers,
) -> None:
    go, all_run = asyncio.Event(), asyncio.Barrier(4)

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        await all_run.wait()
        await go.wait()
        await echo(scope, receive, send)

    async with serving(slow, connections=3) as server:
        busy = await opened(writers, server.port, 3)
        for _, writer in busy:
            writer.write(ASK)
        await asyncio.wait_for(all_run.wait(), 10)
        ((reader, _),) = await opened(writers, server.port, 1)
        told = await asyncio.wait_for(reader.read(), 10)
        assert told[9:12] == b"503"
        assert b"limits.connections" in told
        assert server.refused == 1
        go.set()
        assert [await status(one) for one, _ in busy] == [b"200"] * 3


async def test_a_websocket_keeps_its_seat_and_gives_it_back(writers: Writers) -> None:
    async def socket(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        await receive()

    async with serving(socket, connections=2) as server:
        ((reader, writer),) = await opened(writers, server.port, 1)
        writer.write(
            b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        )
        assert await status(reader) == b"101"
        others = await opened(writers, server.port, 4)
        async with asyncio.timeout(10):
            while server.seats.made_room < 3:
                await asyncio.sleep(0.01)
        assert len(server.seats) == 2
        assert not reader.at_eof()
        writer.close()
        for _, one in others:
            one.close()
        await until(server, 0)


async def test_two_listeners_share_their_seats(writers: Writers) -> None:
    async with serving(connections=2) as server:
        lines = await serve_lines(
            lambda _: Collector(),  # type: ignore[arg-type, return-value]
            host="127.0.0.1",
            port=0,
            seats=server.seats,
        )
        try:
            kept = await opened(writers, lines.port, 2)
            for _, writer in kept:
                writer.write(b"{")
            async with asyncio.timeout(10):
                while lines.connections < 2:
                    await asyncio.sleep(0.01)
            await asyncio.sleep(0.05)
            ((reader, _),) = await opened(writers, server.port, 1)
            assert await status(reader) == b"503"
            for _, writer in kept:
                writer.close()
            await until(server, 0)
        finally:
            await lines.stop()


async def test_handshakes_have_seats_and_count_as_eight(tmp_path: Path, writers: Writers) -> None:
    certificate, key = make_certificate(tmp_path)
    server = await serve(
        echo,
        certificate=str(certificate),
        key=str(key),
        limits=Limits(connections=4, connections_per_s=5 * A_HANDSHAKE),
    )
    try:
        silent = await opened(writers, server.port, 4)
        await until(server, 4)
        trusting = ssl.create_default_context(cafile=str(certificate))
        reader, writer = await asyncio.open_connection("localhost", server.port, ssl=trusting)
        writers.append(writer)
        writer.write(ASK)
        assert await status(reader) == b"200"
        assert server.seats.made_room == 1
        for _, one in silent:
            one.close()
        writer.close()
        await until(server, 0)
        left = await opened(writers, server.port, 40)
        ended = Counter([await _ended(reader) for reader, _ in left])
        assert server.refused >= 40 - 4 * 5  # the burst is four seconds' worth
        assert ended[True] >= server.refused
    finally:
        await server.stop(0.1)


async def _ended(reader: asyncio.StreamReader) -> bool:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(0.02):
            return await reader.read(1) == b""
    return False
