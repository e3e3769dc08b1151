"""Of an outlet and a real transport, whose peer reads when the test says so."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

import pytest

from gatewright.transport.base import Limits
from gatewright.transport.write_queue import WriteQueue
from tests.transport.collecting import within

KIB = 1024
FRAME = bytes(KIB)


class Held(asyncio.Protocol):
    """A connection that writes by an outlet alone."""

    def __init__(self, limits: Limits, burst_bytes: int) -> None:
        self.limits = limits
        self.burst_bytes = burst_bytes
        self.lost = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.outlet = WriteQueue(self.transport, self.limits)
        self.outlet.hold(self.burst_bytes)

    def pause_writing(self) -> None:
        self.outlet.pause()

    def resume_writing(self) -> None:
        self.outlet.resume()

    def connection_lost(self, problem: Exception | None) -> None:
        self.outlet.stop()
        self.outlet.close()
        self.lost.set()

    def stuff(self) -> int:
        """Write until the system takes no more; how many frames that were."""
        count = 0
        while not self.transport.get_write_buffer_size():
            self.outlet.write(FRAME)
            count += 1
        return count


@asynccontextmanager
async def connected(
    burst_bytes: int = 16 * KIB * KIB, **limits: float
) -> AsyncIterator[tuple[Held, socket.socket]]:
    ours, peer = socket.socketpair()
    peer.setblocking(False)
    found = Held(Limits(**limits), burst_bytes)  # type: ignore[arg-type]
    await asyncio.get_running_loop().connect_accepted_socket(lambda: found, ours)
    with peer:
        yield found, peer
        if not found.lost.is_set():
            found.transport.abort()
        await within(found.lost.wait())


async def read(peer: socket.socket, size: int) -> bytes:
    """So many bytes, or what there is until the end."""
    loop, found = asyncio.get_running_loop(), bytearray()
    while len(found) < size and (data := await within(loop.sock_recv(peer, size - len(found)))):
        found += data
    return bytes(found)


async def test_what_a_peer_does_not_take_is_held_and_the_transport_left_alone() -> None:
    async with connected() as (one, peer):
        sent = one.stuff() * FRAME
        behind = one.transport.get_write_buffer_size()
        assert 0 < behind <= KIB
        more = [b"%06d" % number for number in range(50_000)]
        for frame in more:
            one.outlet.write(frame)
        assert one.transport.get_write_buffer_size() == behind
        assert one.outlet.waiting == behind + 300_000
        everything = sent + b"".join(more)
        assert await read(peer, len(everything)) == everything
        while one.outlet.waiting:
            await asyncio.sleep(0)
        one.outlet.write(b"again")
        assert await read(peer, 5) == b"again"


async def test_more_than_the_burst_cuts_a_peer_off() -> None:
    async with connected(burst_bytes=512 * KIB, queue_bytes=64 * KIB) as (one, _):
        one.stuff()
        while one.outlet.waiting < 511 * KIB:
            one.outlet.write(FRAME)
        assert not one.transport.is_closing()
        one.outlet.write(FRAME)
        one.outlet.write(FRAME)
        assert [one.transport.is_closing()] == [True]
        one.outlet.write(FRAME)
        await within(one.lost.wait())


async def test_patience_counts_what_is_held() -> None:
    async with connected(queue_bytes=64 * KIB, patience_s=0.05) as (one, _):
        one.stuff()
        found = [one.outlet.is_stuck]
        for _ in range(65):
            one.outlet.write(FRAME)
        found.append(one.outlet.is_stuck)
        assert found == [False, True]
        await within(one.lost.wait())


async def test_a_peer_that_reads_in_time_keeps_its_connection() -> None:
    async with connected(queue_bytes=64 * KIB, patience_s=0.05) as (one, peer):
        size = one.stuff() * KIB
        for _ in range(65):
            one.outlet.write(FRAME)
        assert len(await read(peer, size + 65 * KIB)) == size + 65 * KIB
        assert not one.outlet.is_stuck
        with pytest.raises(TimeoutError):
            await within(one.lost.wait(), 0.2)


async def test_what_waits_leaves_before_a_goodbye_and_nothing_after_it() -> None:
    async with connected() as (one, peer):
        sent = one.stuff() * FRAME
        one.outlet.write(b"last")
        one.outlet.finish()
        one.outlet.write(b"too late")
        one.transport.write(b"goodbye")
        one.transport.close()
        assert await read(peer, len(sent) + 100) == sent + b"lastgoodbye"
        await within(one.lost.wait())
