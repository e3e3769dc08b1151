"""Who sends little and seldom is read more rarely, a few at a time; whoever sends more, or is soon done, is not."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from gatewright.transport import slow_senders
from gatewright.transport.base import Limits
from gatewright.transport.http_connection import HttpConnection
from gatewright.transport.http_server import serve
from gatewright.transport.http_slices import SLICE_BYTES
from gatewright.transport.read_turns import ReadTurns
from gatewright.transport.slow_senders import (
    AT_ONCE,
    MUCH_BYTES,
    SMALL_BYTES,
    Pieces,
    Resting,
    SlowSenders,
)
from gatewright.transport.tcp import TcpPipe
from tests.transport.asgi import echo, echo_at_most
from tests.transport.collecting import within
from tests.transport.raw_http import RawClient, connected, dialled
from tests.transport.test_tcp import line, served
from tests.transport.test_websocket_intake import Wire, frame

REST_S = 0.05


@pytest.fixture(autouse=True)
def _short_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slow_senders, "REST_S", REST_S)


@pytest.fixture
def rested(monkeypatch: pytest.MonkeyPatch) -> list[Resting]:
    """Who has rested, as often as it did."""
    found, rest = list[Resting](), SlowSenders.rest

    def noted(self: SlowSenders, one: Resting) -> None:
        found.append(one)
        rest(self, one)

    monkeypatch.setattr(SlowSenders, "rest", noted)
    return found


class One:
    """Calls something once it is woken."""

    def __init__(self, woken: Callable[[], Any]) -> None:
        self.woken = woken


async def half_a_head(client: RawClient, rested: list[Resting]) -> None:
    """A client says so much of one, in two pieces, and rests."""
    client.say(b"GET / HT")
    await asyncio.sleep(0.02)
    client.say(b"TP/1.1\r\nhost: ")
    await until(lambda: rested)


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(20):
        while not holds():
            await asyncio.sleep(0.005)


@pytest.mark.parametrize(
    ("size", "took_s", "slow"),
    [(1, 0.9, False), (1, 1.1, True), (SMALL_BYTES - 1, 9.0, True), (SMALL_BYTES, 9.0, False)],
)
def test_who_is_slow_has_sent_little_for_a_long_time(
    size: int, took_s: float, *, slow: bool
) -> None:
    now = 5.0
    pieces = Pieces(lambda: now)
    assert not pieces.came(1, partial=True)
    now += took_s
    assert pieces.came(size, partial=True) is slow


@pytest.mark.parametrize(("size", "slow"), [(MUCH_BYTES - 1, True), (MUCH_BYTES, False)])
def test_what_came_during_a_rest_is_no_large_piece_unless_it_is_much(
    size: int, *, slow: bool
) -> None:
    now = 0.0
    pieces = Pieces(lambda: now)
    pieces.came(1, partial=True)
    now = 2.0
    assert pieces.came(1, partial=True)
    assert not pieces.came(size, partial=True)
    assert pieces.came(1, partial=True) is slow


def test_the_time_begins_with_the_first_small_piece_and_ends_with_a_large_one_or_the_whole() -> (
    None
):
    now = 0.0
    pieces = Pieces(lambda: now)
    assert not pieces.came(1, partial=True)
    now = 2.0
    assert pieces.came(1, partial=True)
    assert pieces.came(1, partial=True)
    assert not pieces.came(MUCH_BYTES, partial=True)
    assert not pieces.came(1, partial=True)
    now = 4.0
    assert pieces.came(1, partial=True)
    assert not pieces.came(1, partial=False)
    assert not pieces.came(1, partial=True)


async def test_a_crowd_that_rests_is_read_again_a_few_at_a_time_and_in_order() -> None:
    loop = asyncio.get_running_loop()
    senders, woken = SlowSenders(loop), list[int]()
    began, together, count = loop.time(), list[int](), 3 * AT_ONCE + 1
    for number in range(count):
        senders.rest(One(lambda number=number: woken.append(number)))  # type: ignore[misc]
    while len(woken) < count:
        before = len(woken)
        await asyncio.sleep(0)
        together.append(len(woken) - before)
    assert woken == list(range(count))
    assert max(together) == AT_ONCE
    assert loop.time() - began >= REST_S


async def test_who_rests_already_is_woken_once_and_who_left_never() -> None:
    senders, woken = SlowSenders(asyncio.get_running_loop()), list[str]()
    twice, left = One(lambda: woken.append("twice")), One(lambda: woken.append("left"))
    for one in (twice, left, twice):
        senders.rest(one)
    senders.leave(left)
    await until(lambda: woken)
    await asyncio.sleep(2 * REST_S)
    assert (woken, twice in senders) == (["twice"], False)


async def test_those_in_a_hurry_come_first_but_a_few_at_a_time_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(slow_senders, "REST_S", 3600.0)
    senders, woken = SlowSenders(asyncio.get_running_loop()), set[int]()
    line = [One(lambda number=number: woken.add(number)) for number in range(4 * AT_ONCE)]  # type: ignore[misc]
    for one in line:
        senders.rest(one)
    together = list[int]()
    assert all(map(senders.hurry, line[AT_ONCE:]))
    while len(woken) < 3 * AT_ONCE:
        before = len(woken)
        await asyncio.sleep(0)
        together.append(len(woken) - before)
    await asyncio.sleep(0.05)
    assert woken == set(range(AT_ONCE, 4 * AT_ONCE))
    assert max(together) == AT_ONCE
    assert not senders.hurry(line[-1])


async def test_one_that_breaks_keeps_no_other_from_being_read() -> None:
    senders, over = SlowSenders(asyncio.get_running_loop()), asyncio.Event()
    senders.rest(One(lambda: 1 // 0))
    senders.rest(One(over.set))
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)
    await within(over.wait())


async def test_an_http_client_that_sends_single_bytes_is_read_once_a_rest_and_served(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(slow_senders, "SLOW_S", 0.0)
    read, feed = list[bytes](), HttpConnection.feed

    def noted(self: HttpConnection, data: bytes) -> None:
        read.append(data)
        feed(self, data)

    monkeypatch.setattr(HttpConnection, "feed", noted)
    request = b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nsome text"
    async with connected(echo) as client:
        for _ in range(2):  # the second finds a connection as any other
            read.clear()
            for byte in request:
                client.say(bytes([byte]))
                await asyncio.sleep(0.002)
            assert await client.hear() == (200, b"some text")
            assert b"".join(read) == request
            assert len(read) < len(request) / 4


async def test_who_rests_is_cut_off_in_time_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slow_senders, "SLOW_S", 0.0)
    monkeypatch.setattr(slow_senders, "REST_S", 3600.0)
    async with connected(echo, header_timeout_s=0.5) as client:
        ended = asyncio.ensure_future(client.end())
        client.say(b"GET / HTTP/1.1\r\nhost: ")
        while not ended.done():
            client.say(b"a")
            await asyncio.sleep(0.01)
        assert (await ended).startswith(b"HTTP/1.1 408 ")


async def test_a_request_that_ended_in_time_while_its_client_rested_is_served(
    monkeypatch: pytest.MonkeyPatch, rested: list[Resting]
) -> None:
    monkeypatch.setattr(slow_senders, "SLOW_S", 0.0)
    monkeypatch.setattr(slow_senders, "REST_S", 3600.0)
    async with connected(echo, header_timeout_s=0.5) as client:
        await half_a_head(client, rested)
        client.say(b"a\r\n\r\n")
        assert await client.hear() == (200, b"")


async def test_a_client_that_leaves_once_it_is_answered_is_gone_though_it_rested(
    monkeypatch: pytest.MonkeyPatch, rested: list[Resting]
) -> None:
    monkeypatch.setattr(slow_senders, "SLOW_S", 0.0)
    monkeypatch.setattr(slow_senders, "REST_S", 3600.0)
    async with connected(echo_at_most(100, 0.3)) as client:
        client.say(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 50\r\n\r\n")
        while not rested:
            client.say(b"a")
            await asyncio.sleep(0.02)
        assert await client.hear() == (408, b"too slow")
        client.writer.close()
        async with asyncio.timeout(1.5):  # less than it would linger
            while client.server.connections:
                await asyncio.sleep(0.01)


async def test_nobody_rests_who_connected_early_and_sends_a_head_in_pieces(
    monkeypatch: pytest.MonkeyPatch, rested: list[Resting]
) -> None:
    monkeypatch.setattr(slow_senders, "SLOW_S", 0.2)
    async with connected(echo) as client:
        await asyncio.sleep(0.3)
        await client.say_slowly([b"GET / HT", b"TP/1.1\r\nhost: ", b"a\r\n", b"\r\n"])
        assert await client.hear() == (200, b"")
        assert rested == []


async def test_an_upload_whose_chunk_sizes_come_alone_does_not_rest(
    monkeypatch: pytest.MonkeyPatch, rested: list[Resting]
) -> None:
    """Many clients write the size of a chunk before the chunk."""
    monkeypatch.setattr(slow_senders, "SLOW_S", 0.1)
    async with connected(echo) as client:
        client.say(b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n")
        for _ in range(40):
            client.say(b"400\r\n")
            await asyncio.sleep(0.005)
            client.say(b"x" * 1024 + b"\r\n")
            await asyncio.sleep(0.002)
        client.say(b"0\r\n\r\n")
        assert await client.hear() == (200, b"x" * 40 * 1024)
        assert rested == []


async def test_what_is_parsed_in_slices_is_no_small_piece_however_short_the_last(
    monkeypatch: pytest.MonkeyPatch, rested: list[Resting]
) -> None:
    """One client that sends much must not fill the line in which others rest."""
    monkeypatch.setattr(slow_senders, "SLOW_S", 0.0)
    piece, count = b"x" * (SLICE_BYTES + 1), 20
    async with connected(echo) as client:
        client.say(
            b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: %d\r\n\r\n" % (count * len(piece))
        )
        for _ in range(count):
            await asyncio.sleep(0.005)
            client.say(piece)
        assert await client.hear() == (200, count * piece)
        assert rested == []


async def test_a_connection_that_ended_is_not_kept_by_the_line_in_which_it_rested(
    monkeypatch: pytest.MonkeyPatch, rested: list[Resting]
) -> None:
    monkeypatch.setattr(slow_senders, "SLOW_S", 0.0)
    monkeypatch.setattr(slow_senders, "REST_S", 3600.0)
    server = await serve(echo, limits=Limits())
    async with dialled(server) as client:
        await half_a_head(client, rested)
        await within(server.stop(0.1))
    kept = weakref.ref(rested.pop())
    gc.collect()
    assert kept() is None


async def test_a_server_stops_while_some_of_its_clients_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(slow_senders, "SLOW_S", 0.0)
    server = await serve(echo, limits=Limits())
    async with dialled(server) as client:
        await client.say_slowly([b"GET / HT", b"TP/1.1\r\nhost: "])
        await within(server.stop(0.1))
        with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
            await within(client.reader.readexactly(1))
    await asyncio.sleep(2 * REST_S)  # who is gone is woken, and nothing comes of it


async def test_a_websocket_frame_in_single_bytes_is_read_once_a_rest() -> None:
    wire, whole = Wire(), frame(100)
    wire.intake.take(whole[:20])
    wire.now = 0.9
    wire.intake.take(whole[20:21])
    states = [wire.reads]
    wire.now = 1.9
    wire.intake.take(whole[21:22])
    states.append(wire.reads)
    await asyncio.sleep(2 * REST_S)
    states.append(wire.reads)
    wire.intake.take(whole[22:])
    wire.intake.take(frame(1))
    assert (wire.got, [*states, wire.reads]) == (whole + frame(1), [True, False, True, True])


async def test_a_websocket_rests_on_when_its_application_asks_for_more() -> None:
    wire = Wire()
    wire.intake.take(frame(100)[:20])
    wire.now = 2.0
    wire.intake.take(b"x")
    wire.intake.hold(held=False)
    assert not wire.reads
    await until(lambda: wire.reads)


async def test_a_websocket_that_ended_while_it_rested_stays_as_it_is() -> None:
    wire = Wire()
    wire.intake.take(frame(100)[:20])
    wire.now = 2.0
    wire.intake.take(b"x")
    wire.intake.stop()
    await asyncio.sleep(2 * REST_S)
    assert not wire.reads


async def test_a_peer_that_was_dialled_never_rests() -> None:
    wire = Wire(paced=True)
    wire.intake.take(frame(100)[:20])
    wire.now = 2.0
    wire.intake.take(b"x")
    assert wire.reads


async def test_a_slow_line_over_tcp_is_read_once_a_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slow_senders, "SLOW_S", 0.0)
    read, feed = list[bytes](), TcpPipe.feed

    def noted(self: TcpPipe, data: bytes) -> None:
        read.append(data)
        feed(self, data)

    monkeypatch.setattr(TcpPipe, "feed", noted)
    async with served() as house:
        reader, writer = await asyncio.open_connection("127.0.0.1", house.server.port)
        for byte in b'{"some": "text"}\n':
            writer.write(bytes([byte]))
            await asyncio.sleep(0.002)
        assert await line(reader) == b'again {"some": "text"}\n'
        assert len(read) < 8
        writer.close()


async def test_all_connections_of_a_loop_that_share_turns_share_the_line_of_those_at_rest() -> None:
    turns = ReadTurns(asyncio.get_running_loop())
    first, second = Wire(turns), Wire(turns)
    for wire in (first, second):
        wire.intake.take(frame(100)[:20])
        wire.now = 2.0
        wire.intake.take(b"x")
    assert [wire.reads for wire in (first, second)] == [False, False]
    await asyncio.sleep(2 * REST_S)
    assert [wire.reads for wire in (first, second)] == [True, True]
