"""How many connections are taken in a turn of the loop, and how many from one address."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket
import ssl
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gatewright.transport import accept as arrivals
from gatewright.transport.accept import A_HANDSHAKE, A_TURN, KNOWN, ArrivalRates, Listener, place_of
from gatewright.transport.base import Limits
from gatewright.transport.connection_limits import Seat, Seats
from gatewright.transport.http_server import HttpServer, serve


async def answering(_: Any, receive: Any, send: Any) -> None:
    await receive()
    await send(
        {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]}
    )
    await send({"type": "http.response.body", "body": b"ok"})


async def asked(port: int) -> bytes:
    """The whole answer to a request on a connection of its own."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    said = await reader.read()
    writer.close()
    return said


@pytest.mark.parametrize(
    ("address", "place"),
    [
        (("192.0.2.1", 5), "192.0.2.1"),
        (("2001:db8:1:2:3:4:5:6", 5, 0, 0), "2001:db8:1:2::"),
        (("2001:db8:1:2::7", 5, 0, 0), "2001:db8:1:2::"),
        (("fe80::1%eth0", 5, 0, 2), "fe80::"),
        (("::ffff:192.0.2.1", 5, 0, 0), "192.0.2.1"),
        ("", ""),
        (b"", ""),
        (None, ""),
        ((), ""),
    ],
)
def test_a_place_is_an_address_or_a_network_of_one_host(address: Any, place: str) -> None:
    assert place_of(address) == place


def test_a_burst_is_admitted_and_then_so_many_a_second() -> None:
    found = ArrivalRates(per_s=10, burst=20)
    assert [found.admit("a", 0.0) for _ in range(25)] == [True] * 20 + [False] * 5
    assert found.refused == 5
    assert [found.admit("a", 0.5) for _ in range(8)] == [True] * 5 + [False] * 3
    assert sum(found.admit("a", 60.0) for _ in range(50)) == 20


def test_refused_connections_do_not_lengthen_the_wait() -> None:
    found = ArrivalRates(per_s=10, burst=1)
    for step in range(100):
        found.admit("a", step / 1000)
    assert found.admit("a", 0.2)


def test_addresses_are_counted_apart_and_a_unix_socket_not_at_all() -> None:
    found = ArrivalRates(per_s=1, burst=1)
    assert found.admit("a", 0.0)
    assert found.admit("b", 0.0)
    assert not found.admit("a", 0.0)
    assert all(found.admit("", 0.0) for _ in range(50))


def test_what_is_remembered_of_addresses_is_bounded_and_a_busy_one_stays() -> None:
    found = ArrivalRates(per_s=1, burst=2)
    found.admit("busy", 0.0)
    found.admit("busy", 0.0)
    for number in range(3 * KNOWN):
        found.admit(f"10.{number}", 0.0)
        assert number % 1000 or not found.admit("busy", 0.0)
    assert len(found) <= KNOWN


async def test_who_opens_too_many_is_answered_429_and_others_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    moment, admit = [0.0], ArrivalRates.admit  # however long it takes, all arrive at once
    monkeypatch.setattr(
        ArrivalRates, "admit", lambda found, place, _, cost: admit(found, place, moment[0], cost)
    )
    server = await serve(answering, limits=Limits(connections_per_s=5))
    try:
        said = await asyncio.gather(*(asked(server.port) for _ in range(60)))
        count = Counter(one[9:12] for one in said)
        assert count == {b"200": 20, b"429": 40}
        assert server.refused == 40
        refused = next(one for one in said if one[9:12] == b"429")
        assert b"Retry-After: 1" in refused
        assert b"more than 5 new connections a second" in refused
        moment[0] += 0.5
        assert (await asked(server.port))[9:12] == b"200"
    finally:
        await server.stop(1.0)


async def test_a_connection_that_stays_open_is_not_counted_again() -> None:
    server = await serve(answering, limits=Limits(connections_per_s=1))
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    try:
        for _ in range(50):
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert (await reader.readuntil(b"ok"))[9:12] == b"200"
    finally:
        writer.close()
        await server.stop(1.0)


class Held(asyncio.Protocol):
    """A connection that does nothing."""

    def __init__(self, seat: Seat) -> None:
        self._seat = seat

    def connection_lost(self, exc: Exception | None) -> None:
        self._seat.leave()


def listening() -> socket.socket:
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    sock.listen(512)
    return sock


async def test_a_turn_of_the_loop_takes_a_few_connections() -> None:
    sock = listening()
    clients = [socket.create_connection(sock.getsockname()) for _ in range(5 * A_TURN)]
    taken: list[int] = []
    listener = Listener(sock, Held, Counted(taken))
    try:
        seen = []
        while len(taken) < len(clients):
            before = len(taken)
            await asyncio.sleep(0)
            seen.append(len(taken) - before)
        assert 0 < max(seen) <= A_TURN
    finally:
        listener.close()
        for one in clients:
            one.close()


class Counted(ArrivalRates):
    """Notes each arrival."""

    def __init__(self, taken: list[int]) -> None:
        super().__init__(10**6, 10**6)
        self._taken = taken

    def admit(self, place: str, now: float, cost: int = 1) -> bool:
        self._taken.append(1)
        return super().admit(place, now, cost)


async def test_a_process_without_descriptors_waits_and_then_goes_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(arrivals, "_RETRY_S", 0.05)
    freed = list[Seats]()

    def free(self: Seats) -> bool:
        freed.append(self)
        return True

    monkeypatch.setattr(Seats, "free", free)
    sock = Exhausted(listening())
    listener = Listener(sock, Held, ArrivalRates(10, 10))  # type: ignore[arg-type]
    try:
        with caplog.at_level(logging.ERROR):
            client = socket.create_connection(sock.getsockname())
            while not sock.accepted:
                await asyncio.sleep(0.01)
        client.close()
        assert sock.tried < 5
        assert os.strerror(errno.EMFILE) in caplog.text
        # For a second's newcomers, however few are taken in a turn.
        assert (len(freed), "; 16 idle ones were closed" in caplog.text) == (16, True)
    finally:
        listener.close()


class Exhausted:
    """A socket that cannot accept the first time."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self.tried = self.accepted = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)

    def accept(self) -> Any:
        self.tried += 1
        if self.tried == 1:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        found = self._sock.accept()
        self.accepted += 1
        return found


async def test_who_floods_a_tls_port_is_sent_away_before_the_handshake() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    sock = listening()
    made: list[int] = []

    def make(seat: Seat) -> Held:
        made.append(1)
        return Held(seat)

    two = ArrivalRates(1, 2 * A_HANDSHAKE)
    listener = Listener(sock, make, two, tls=context, farewell=lambda _: b"never in the clear")
    try:
        clients = [
            await asyncio.open_connection("127.0.0.1", sock.getsockname()[1]) for _ in range(6)
        ]
        ended = [
            one
            for one in await asyncio.gather(
                *(asyncio.wait_for(reader.read(), 0.3) for reader, _ in clients),
                return_exceptions=True,
            )
            if one == b""
        ]
        assert len(ended) == 4
        for _, writer in clients:
            writer.close()
    finally:
        listener.close()


async def test_a_connection_that_cannot_be_made_for_any_reason_is_closed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def make(seat: Seat) -> Held:
        raise RuntimeError("nobody expected this")

    sock = listening()
    listener = Listener(sock, make, ArrivalRates(10, 10))
    try:
        with caplog.at_level(logging.ERROR):
            reader, writer = await asyncio.open_connection(*sock.getsockname())
            assert await asyncio.wait_for(reader.read(), 5) == b""
        assert "RuntimeError: nobody expected this" in caplog.text
        writer.close()
    finally:
        listener.close()


async def test_nobody_is_accepted_once_it_is_closed(tmp_path: Path) -> None:
    server: HttpServer = await serve(answering, unix_socket=str(tmp_path / "s"))
    reader, writer = await asyncio.open_unix_connection(str(tmp_path / "s"))
    writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    assert (await reader.readuntil(b"ok"))[9:12] == b"200"
    writer.close()
    await server.stop(1.0)
    assert not (tmp_path / "s").exists()
    assert server.refused == 0
