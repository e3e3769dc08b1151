from __future__ import annotations

import asyncio

import pytest

from gatewright.transport.base import Limits
from gatewright.transport.pipe_ends import Backlog, End
from tests.transport.collecting import Collector, within


class Peer:
    """A peer that takes what the test says, and a backlog that judges it."""

    def __init__(self, limits: Limits) -> None:
        self.waiting = 0
        self.slow = asyncio.Event()
        self.backlog = Backlog(limits, lambda: self.waiting, self.slow.set)

    def send(self, size: int) -> bool:
        admitted = self.backlog.admit(size)
        self.waiting += size if admitted else 0
        return admitted


async def test_a_receiver_learns_the_end_once_and_nothing_after_it() -> None:
    collector = Collector()
    end = End(collector)
    end.deliver(b"1")
    end.finish("first")
    end.finish("second")
    end.deliver(b"2")
    assert (collector.messages, collector.ends) == ([b"1"], [])  # not from inside `finish`
    assert await within(end.wait()) == end.reason == "first"
    assert collector.ends == ["first"]


async def test_a_receiver_that_raises_is_logged_and_the_pipe_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken:
        def message(self, data: bytes) -> None:
            raise RuntimeError(data.decode())

        def closed(self, reason: str) -> None:
            raise RuntimeError(reason)

    end = End(Broken())
    end.deliver(b"one")
    end.deliver(b"two")
    end.finish("over")
    assert await within(end.wait()) == "over"
    raised = [str(record.exc_info[1]) for record in caplog.records if record.exc_info]
    assert raised == ["one", "two", "over"]


async def test_one_message_of_any_size_is_admitted_to_a_reading_peer() -> None:
    peer = Peer(Limits(queue_bytes=10, burst_bytes=20))
    assert peer.send(1000)


async def test_a_burst_is_admitted_up_to_its_own_limit() -> None:
    peer = Peer(Limits(queue_bytes=10, burst_bytes=40))
    assert [peer.send(10) for _ in range(6)] == [True, True, True, True, False, False]
    peer.waiting = 0
    assert peer.send(10)
    peer.backlog.stop()


async def test_equal_limits_leave_no_room_for_a_burst() -> None:
    peer = Peer(Limits(queue_bytes=10, burst_bytes=10))
    assert [peer.send(6), peer.send(6), peer.send(6)] == [True, True, False]
    peer.backlog.stop()


async def test_a_peer_that_takes_nothing_runs_out_of_patience() -> None:
    peer = Peer(Limits(queue_bytes=10, patience_s=0.01))
    peer.send(11)
    await within(peer.slow.wait())


async def test_a_peer_that_keeps_reading_is_never_slow() -> None:
    patience = 0.08
    peer = Peer(Limits(queue_bytes=10, patience_s=patience))
    loop = asyncio.get_running_loop()
    done = asyncio.Event()
    peer.send(100)

    def read() -> None:
        """A tenth at four times the speed asked for, so that the peer is judged twice meanwhile."""
        peer.waiting -= 10
        if peer.waiting <= 10:
            done.set()
        else:
            loop.call_later(patience / 4, read)

    read()
    await within(done.wait())
    peer.backlog.stop()
    assert not peer.slow.is_set()


async def test_a_peer_that_reads_a_little_once_is_slow_all_the_same() -> None:
    peer = Peer(Limits(queue_bytes=10, patience_s=0.01))
    peer.send(100)
    peer.waiting -= 9
    await within(peer.slow.wait())


async def test_a_backlog_within_the_limit_never_runs_out_of_patience() -> None:
    peer = Peer(Limits(queue_bytes=10, patience_s=0.001))
    other = Peer(Limits(queue_bytes=10, patience_s=0.01))
    peer.send(10)
    other.send(11)
    await within(other.slow.wait())
    assert not peer.slow.is_set()


async def test_a_stopped_backlog_judges_no_longer() -> None:
    peer = Peer(Limits(queue_bytes=10, patience_s=0.001))
    other = Peer(Limits(queue_bytes=10, patience_s=0.01))
    peer.send(11)
    peer.backlog.stop()
    other.send(11)
    await within(other.slow.wait())
    assert not peer.slow.is_set()
