"""What an HTTP client sends is parsed a little at a time, in its order, whatever it becomes on the way."""

from __future__ import annotations

import asyncio
import time
from itertools import pairwise

import pytest

from gatewright.transport.http_slices import SLICE_BYTES, Sliced
from gatewright.transport.read_turns import TURN_S, ReadTurns
from tests.transport.asgi import echo
from tests.transport.raw_http import connected

POST = b"POST / HTTP/1.1\r\nhost: a\r\n"


class Pieces(Sliced):
    """Keeps what it is to parse."""

    def __init__(self, turns: ReadTurns) -> None:
        super().__init__(turns)
        self.got: list[bytes] = []
        self._paused = False

    def feed(self, data: bytes) -> None:
        self.got.append(data)


class Wire(asyncio.Transport):
    """Says who its protocol is, and whether it is read."""

    def __init__(self, protocol: asyncio.Protocol) -> None:
        super().__init__()
        self.protocol = protocol
        self.reads = True

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self.protocol

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        assert isinstance(protocol, asyncio.Protocol)
        self.protocol = protocol

    def pause_reading(self) -> None:
        self.reads = False

    def resume_reading(self) -> None:
        self.reads = True

    def is_closing(self) -> bool:
        return False

    def abort(self) -> None:
        self.aborted = True

    aborted = False


@pytest.mark.parametrize("size", [1, SLICE_BYTES, SLICE_BYTES + 1, 10 * SLICE_BYTES + 7])
async def test_much_is_parsed_in_slices_and_nothing_is_read_meanwhile(size: int) -> None:
    pieces = Pieces(ReadTurns(asyncio.get_running_loop()))
    pieces.transport = wire = Wire(pieces)
    whole = bytes(number % 251 for number in range(size))
    pieces.data_received(whole)
    assert wire.reads is (size <= SLICE_BYTES)
    while not wire.reads:
        await asyncio.sleep(0)
    assert b"".join(pieces.got) == whole
    assert max(map(len, pieces.got)) <= SLICE_BYTES


async def test_what_many_send_in_one_moment_is_parsed_in_several_turns_and_in_order() -> None:
    """Of two thousand clients that connect at once each has a head; an innocent caller had waited for all of them."""
    turns, order, each = ReadTurns(asyncio.get_running_loop()), list[int](), list[int]()

    class Costly(Pieces):
        def feed(self, data: bytes) -> None:
            super().feed(data)
            order.append(int(data))
            until = time.perf_counter() + TURN_S / 4
            while time.perf_counter() < until:
                pass

    many = [Costly(turns) for _ in range(40)]
    wires = [Wire(one) for one in many]
    for number, (one, wire) in enumerate(zip(many, wires, strict=True)):
        one.transport = wire
        one.data_received(b"%d" % number)
    while len(order) < len(many):
        each.append(len(order))
        await asyncio.sleep(0)
    each.append(len(order))
    assert order == list(range(len(many)))
    # A turn has time for four of them, and its line for four more.
    assert max(later - sooner for sooner, later in pairwise([0, *each])) <= 10
    assert all(wire.reads for wire in wires)
    many[0].data_received(b"41")  # a turn later there is time again
    assert order[-1] == 41


async def test_what_is_behind_an_upgrade_is_handed_to_whoever_speaks_it() -> None:
    turns = ReadTurns(asyncio.get_running_loop())
    heir = Pieces(turns)

    class Upgrading(Pieces):
        def feed(self, data: bytes) -> None:
            super().feed(data)
            self.hand_over(heir)

    first = Upgrading(turns)
    first.transport = heir.transport = wire = Wire(first)
    first.data_received(b"a" * SLICE_BYTES + b"b" * 100)
    while not heir.got:
        await asyncio.sleep(0)
    assert (first.got, heir.got, wire.reads) == ([b"a" * SLICE_BYTES], [b"b" * 100], True)


async def test_an_heir_that_wants_nothing_read_is_left_alone() -> None:
    """What is held of a client that is not known yet would grow with all that it sends."""
    turns = ReadTurns(asyncio.get_running_loop())

    class Holding(Pieces):
        def feed(self, data: bytes) -> None:
            super().feed(data)
            wire.pause_reading()

    class Upgrading(Pieces):
        def feed(self, data: bytes) -> None:
            super().feed(data)
            self.hand_over(heir)
            heir.data_received(data[:1])

    heir = Holding(turns)
    first = Upgrading(turns)
    first.transport = heir.transport = wire = Wire(first)
    first.data_received(b"a" * SLICE_BYTES + b"b" * 100)
    while len(heir.got) < 2:
        await asyncio.sleep(0)
    assert wire.reads is False


async def test_a_connection_that_wants_to_read_on_does_so_behind_what_came() -> None:
    """Where it read at once, all that a client sends would be held, and copied with each read."""
    pieces = Pieces(ReadTurns(asyncio.get_running_loop()))
    pieces.transport = wire = Wire(pieces)
    pieces.data_received(b"x" * 3 * SLICE_BYTES)
    pieces.read_on()
    states = [wire.reads]
    while len(pieces.got) < 3:
        await asyncio.sleep(0)
    states.append(wire.reads)
    wire.reads = False
    pieces.read_on()
    assert [*states, wire.reads] == [False, True, True]


async def test_nothing_is_parsed_of_a_connection_that_is_gone() -> None:
    pieces = Pieces(ReadTurns(asyncio.get_running_loop()))
    pieces.transport = Wire(pieces)
    pieces.data_received(b"x" * 10 * SLICE_BYTES)
    pieces.forget()
    for _ in range(5):
        await asyncio.sleep(0)
    assert pieces.got == []


async def test_a_body_of_small_chunks_leaves_turns_to_the_loop() -> None:
    """Twenty thousand chunks of a byte, in one piece: the loop goes round in between."""
    async with connected(echo, header_bytes=4096) as client:
        client.say(POST + b"transfer-encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 20_000)
        client.say(b"0\r\n\r\n")
        assert await client.hear() == (200, b"x" * 20_000)


async def test_one_that_cannot_parse_what_came_ends() -> None:
    class Broken(Pieces):
        def feed(self, data: bytes) -> None:
            raise ZeroDivisionError

    pieces = Broken(ReadTurns(asyncio.get_running_loop()))
    pieces.transport = wire = Wire(pieces)
    told: list[object] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, about: told.append(about.get("exception")))
    try:
        pieces.data_received(bytes(SLICE_BYTES + 1))
        while not told:
            await asyncio.sleep(0)
    finally:
        loop.set_exception_handler(None)
    assert wire.aborted
    assert [type(one) for one in told] == [ZeroDivisionError]
