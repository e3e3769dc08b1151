"""Rooms with readers that do not read: for a while, or ever. The others hear everything meanwhile."""

from __future__ import annotations

import asyncio
import base64
import re
import socket
import time
from collections.abc import Callable

from gatewright.transport.base import Limits
from tests.rooms.foreign import SECONDS, Guest
from tests.rooms.hall import FULL, UNLIMITED, Hall, token_of

PATIENT = Limits(patience_s=10 * SECONDS)
"""Only how much waits may cut a reader here, not for how long."""


def deaf(hall: Hall, name: str) -> socket.socket:
    """A participant that does not read by itself."""
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    one.connect(("127.0.0.1", hall.server.port))
    key = base64.b64encode(b"k" * 16).decode()
    one.sendall(
        f"GET /ws?topic=lobby HTTP/1.1\r\nhost: localhost\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
        f"sec-websocket-version: 13\r\nsec-websocket-key: {key}\r\n"
        f"authorization: Bearer {token_of(name)}\r\n\r\n".encode()
    )
    return one


async def here(hall: Hall, guest: Guest, count: int) -> None:
    """Wait until somebody sees so many others."""
    async with asyncio.timeout(SECONDS):
        while len(guest.participants) != count:
            await asyncio.sleep(0.01)


async def test_a_reader_that_never_reads_is_cut_and_the_others_lose_nothing() -> None:
    """Bounded queues: the deaf are cut off, everybody else hears everything, and that they left."""
    people = {f"d{number}": FULL for number in range(5)}
    async with Hall({"a": FULL, "b": FULL, **people}, **UNLIMITED) as hall:
        a, b = await hall.all("a", "b")
        sockets = [deaf(hall, name) for name in people]
        await here(hall, b, 6)
        sent = 0
        async with asyncio.timeout(60):
            while len(b.participants) > 1:
                await a.chat("x" * 60_000)
                sent += 1
                await a.next("chat")
        assert 30 < sent < 1000
        heard = await b.fence()
        assert len([one for one in heard if one["from"] == "a"]) == sent
        assert [one.participantId for one in hall.hub.connections()] == ["a", "b"]
        for one in sockets:
            one.close()


async def test_one_sender_cannot_have_the_others_cut_off() -> None:
    """What it may send at once is less than makes a reader a slow one; what is more is dropped."""
    async with Hall({"a": FULL, "b": FULL, "d": FULL}, limits=PATIENT) as hall:
        a, b = await hall.all("a", "b")
        quiet = deaf(hall, "d")
        await here(hall, b, 2)
        moment = time.monotonic()
        hall.now = lambda: moment  # however long sending takes, it is at once
        for _ in range(40):
            await a.chat("x" * 200_000)
        assert (await a.error())["payload"]["error"] == "rate_limited"
        await a.fence()  # the allowance has room for a small one still
        assert sum("x" * 200_000 in one for one in a.heard) == 10
        assert {one.participantId for one in hall.hub.connections()} == {"a", "b", "d"}
        quiet.close()


async def read_until(one: socket.socket, enough: Callable[[bytearray], bool]) -> bytes:
    """What somebody finds who begins to read, until it is enough or all."""
    one.setblocking(False)
    loop, found = asyncio.get_running_loop(), bytearray()
    async with asyncio.timeout(SECONDS):
        while not enough(found) and (data := await loop.sock_recv(one, 1 << 16)):
            found += data
    return bytes(found)


def numbers(found: bytes) -> list[int]:
    """Of chats that begin with a number and a comma, in the order they came."""
    return [int(one) for one in re.findall(rb'"text": ?"([0-9]+),', found)]


async def said(guest: Guest, count: int, size: int) -> None:
    """Somebody says as much, and hears it back: it is with everybody, or waits for them."""
    for number in range(count):
        await guest.chat(f"{number}," + "x" * size)
        await guest.next("chat")


async def test_a_reader_that_pauses_and_comes_back_gets_everything_in_order() -> None:
    """However often; and it was never more behind than a reader may be."""
    async with Hall({"a": FULL, "b": FULL, "d": FULL}, limits=PATIENT, **UNLIMITED) as hall:
        a, b = await hall.all("a", "b")
        slow = deaf(hall, "d")
        await here(hall, b, 2)
        for size, count in ((30_000, 60), (100, 2000), (30_000, 60)):
            await said(a, count, size)
            mark = b"%d," % (count - 1)
            found = await read_until(slow, lambda found, mark=mark: mark in found[-40_000:])  # type: ignore[misc]
            assert numbers(found) == list(range(count))
        assert len([one for one in await b.fence() if one["from"] == "a"]) == 2120
        slow.close()


async def test_a_reader_that_is_sent_away_gets_what_was_said_before_and_the_reason() -> None:
    async with Hall({"a": FULL, "b": FULL, "d": FULL}, limits=PATIENT, **UNLIMITED) as hall:
        a, b = await hall.all("a", "b")
        slow = deaf(hall, "d")
        await here(hall, b, 2)
        await said(a, 150, 2000)
        assert hall.hub.remove("d", "enough") == 1
        found = await read_until(slow, lambda _: False)
        assert numbers(found) == list(range(150))
        assert found.endswith(b"\x88\x08\x03\xe8enough")
        slow.close()


async def test_a_reader_that_says_goodbye_unread_gets_what_was_said_before() -> None:
    async with Hall({"a": FULL, "b": FULL, "d": FULL}, limits=PATIENT, **UNLIMITED) as hall:
        a, b = await hall.all("a", "b")
        slow = deaf(hall, "d")
        await here(hall, b, 2)
        await said(a, 30, 30_000)
        slow.sendall(b"\x88\x82\0\0\0\0\x03\xe8")
        found = await read_until(slow, lambda _: False)
        assert numbers(found) == list(range(30))
        assert found.endswith(b"\x88\x02\x03\xe8")
        await here(hall, b, 1)
        slow.close()


async def test_a_reader_is_cut_only_once_more_waits_than_may() -> None:
    """Of what it finds none is missing in between."""
    async with Hall({"a": FULL, "b": FULL, "d": FULL}, limits=PATIENT, **UNLIMITED) as hall:
        a, b = await hall.all("a", "b")
        slow = deaf(hall, "d")
        await here(hall, b, 2)
        await said(a, 60, 60_000)
        assert len(b.participants) == 2
        await said(a, 60, 60_000)
        await here(hall, b, 1)
        slow.close()


async def test_patience_ends_with_a_reader_of_whom_too_much_is_waiting() -> None:
    impatient = Limits(patience_s=1.0)
    async with Hall({"a": FULL, "b": FULL, "d": FULL}, limits=impatient, **UNLIMITED) as hall:
        a, b = await hall.all("a", "b")
        slow = deaf(hall, "d")
        await here(hall, b, 2)
        await said(a, 30, 60_000)
        await here(hall, b, 1)
        assert [line for line in hall.notes.lines if line[0] == "left"] == [
            ("left", "lobby", "d", "closed")
        ]
        slow.close()
