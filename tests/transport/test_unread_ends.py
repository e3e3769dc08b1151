"""Clients that read nothing, of whom the server takes its leave."""

from __future__ import annotations

import asyncio
import base64
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

import pytest

from gatewright.transport import tcp, unread_ends
from gatewright.transport.base import Limits, Pipe
from gatewright.transport.http_server import HttpServer, serve
from gatewright.transport.tcp import LineServer, serve_lines
from gatewright.transport.unread_ends import UnreadEnds
from gatewright.transport.websocket_connection import DIRECT, text_frame
from tests.transport.asgi import answer
from tests.transport.collecting import DEADLINE_S, Collector, within

LARGE = b"x" * 24_000_000
"""More than the system takes, and less than the slow-reader rule is about here."""
LIMITS = Limits(queue_bytes=64_000_000, burst_bytes=128_000_000, patience_s=0.2)
UPGRADE = (
    b"GET / HTTP/1.1\r\nhost: a\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
    b"sec-websocket-version: 13\r\nsec-websocket-key: %b\r\n\r\n" % base64.b64encode(os.urandom(16))
)
GOODBYE = b"\x88\x82\0\0\0\0\x03\xe8"


RULE = Limits(queue_bytes=20_000, patience_s=5.0)


class Stuck:
    """A transport that is closing, of which a client takes what it is told to."""

    def __init__(self, left: int, *, closing: bool = True) -> None:
        self.transport: Any = self
        self.left = left
        self.aborted = False
        self._closing = closing

    def is_closing(self) -> bool:
        return self._closing

    def get_write_buffer_size(self) -> int:
        return self.left

    def abort(self) -> None:
        self.aborted = True


def _looking(*connections: Stuck) -> Iterator[float]:
    """Each step looks, a second after the one before."""
    now = 0.0
    ends = UnreadEnds(RULE, lambda: now)
    while True:
        ends.look(connections)
        yield now
        now += 1.0


def _ends(one: Stuck, take: int = 0) -> float | None:
    """When it is ended, of ten minutes."""
    for now in _looking(one):
        if one.aborted or now > 600:
            break
        one.left = max(0, one.left - take)
    return now if one.aborted else None


async def test_who_takes_nothing_is_ended_after_the_patience_of_a_reader() -> None:
    assert _ends(Stuck(100)) == 5.0


async def test_who_takes_a_little_is_waited_for_but_not_for_ever() -> None:
    assert _ends(Stuck(10_000), take=1) == unread_ends.LONGEST_S


@pytest.mark.parametrize("one", [Stuck(0), Stuck(100, closing=False)])
async def test_who_has_all_or_is_not_closing_is_let_alone(one: Stuck) -> None:
    assert _ends(one) is None


@pytest.mark.parametrize("take", [4_000, 4_001, 8_000, 100_000])
async def test_who_takes_much_at_the_pace_of_a_reader_gets_all_however_long_it_takes(
    take: int,
) -> None:
    """An answer that is written whole before `close` was cut after half a minute."""
    one = Stuck(1_000_000)
    assert _ends(one, take=take) is None
    assert one.left == 0


@pytest.mark.parametrize("take", [1, 1_000, 3_900])
async def test_who_takes_much_more_slowly_than_a_reader_is_ended(take: int) -> None:
    assert _ends(Stuck(1_000_000), take=take) == RULE.patience_s


async def test_the_last_of_much_may_take_as_long_as_little_may() -> None:
    one = Stuck(100_000)
    steps = _looking(one)
    now = next(steps)
    while not one.aborted:
        one.left -= 4_000 if one.left > RULE.queue_bytes else 1
        now = next(steps)
    assert now == 20.0 + unread_ends.LONGEST_S


async def test_who_takes_all_in_time_is_let_alone() -> None:
    assert _ends(Stuck(20), take=1) is None


async def test_a_look_at_all_begins_when_the_last_one_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Many connections are looked at in slices, each behind other such work: where that takes longer than the time between two looks, ever more
    of them, each with a list of all connections, went on at a time, and took ever more turns."""
    going: list[Any] = []
    monkeypatch.setattr(unread_ends, "begun", going.append)
    now, crowd = 0.0, [Stuck(100) for _ in range(6)]
    ends = UnreadEnds(RULE, lambda: now)
    while now < 60.0:
        ends.look(crowd)
        assert len(going) <= 1
        if going and [*islice(going[0], 2)] != [None] * 2:
            going.clear()
        now += 1.0
    assert [one.aborted for one in crowd] == [True] * 6


async def _large(scope: Any, receive: Any, send: Any) -> None:
    await receive()
    if scope["type"] == "http":
        await answer(send, 200, LARGE)
        return
    await send({"type": "websocket.accept"})
    await receive()
    await send({"type": "websocket.send", "text": LARGE.decode()})
    if scope["path"] == "/stays":
        await receive()
    else:
        await send({"type": "websocket.close", "code": 1000})


async def _direct(scope: Any, receive: Any, send: Any) -> None:
    await receive()
    await send({"type": "websocket.accept"})
    direct = scope["extensions"][DIRECT]
    direct.take_over(Collector(lambda _: direct.outlet.write(text_frame(LARGE))), 128_000_000)


@contextmanager
def _deaf(port: int) -> Iterator[socket.socket]:
    with socket.socket() as raw:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.settimeout(DEADLINE_S)
        raw.connect(("127.0.0.1", port))
        yield raw


async def _some(raw: socket.socket) -> None:
    """Read the beginning of what is long, so that the server is known to write it."""
    raw.setblocking(False)
    read = 0
    while read < 2048:
        read += len(await within(asyncio.get_running_loop().sock_recv(raw, 1024)))


async def _nobody(server: HttpServer | LineServer) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while server.connections:
            await asyncio.sleep(0.05)


HI = b"\x81\x82\0\0\0\0hi"
GET = b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"


@pytest.mark.parametrize(
    ("app", "said", "last"),
    [
        (_large, GET, b""),
        (_large, UPGRADE + HI, b""),
        (_large, UPGRADE.replace(b"GET /", b"GET /stays") + HI, GOODBYE),
        (_large, UPGRADE.replace(b"GET /", b"GET /stays") + HI, None),
        (_direct, UPGRADE + HI, GOODBYE),
        (_direct, UPGRADE + HI, None),
    ],
)
async def test_a_connection_that_ends_unread_does_not_stay(
    app: Any, said: bytes, last: bytes | None
) -> None:
    """A few of them are for ever: `close` waits for who reads nothing."""
    server = await serve(app, limits=LIMITS)
    try:
        with _deaf(server.port) as raw:
            raw.sendall(said)
            await _some(raw)
            if last is None:
                raw.shutdown(socket.SHUT_WR)
            else:
                raw.sendall(last)
            await _nobody(server)
    finally:
        await within(server.stop(0.1))


class Says:
    """A receiver that answers each line at length."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe

    def message(self, data: bytes) -> None:
        self._pipe.send(LARGE)

    def closed(self, reason: str) -> None:
        """It is over."""

    async def drained(self) -> None:
        """Nothing is owed."""


async def test_lines_that_nobody_reads_keep_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tcp, "CLOSE_GRACE_S", 0.1)
    server = await serve_lines(Says, host="127.0.0.1", port=0, limits=LIMITS)
    try:
        with _deaf(server.port) as raw:
            raw.sendall(b"{}\n")
            raw.shutdown(socket.SHUT_WR)
            await _nobody(server)
    finally:
        await within(server.stop())
