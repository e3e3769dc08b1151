from __future__ import annotations

import asyncio

import pytest

from gatewright.transport.base import SLOW_READER, Closed, Limits
from gatewright.transport.memory import pair
from tests.transport.collecting import Collector, within


async def test_messages_cross_in_order_and_never_inside_the_send() -> None:
    here, there = Collector(), Collector()
    left, right = pair(here, there)
    left.send(b"1")
    left.send(b"2")
    right.send(b"3")
    assert (here.messages, there.messages) == ([], [])
    await there.count(2)
    await here.count(1)
    assert (here.messages, there.messages) == ([b"3"], [b"1", b"2"])


async def test_closing_one_side_closes_both_after_the_last_message() -> None:
    here, there = Collector(), Collector()
    left, right = pair(here, there)
    left.send(b"last")
    left.close()
    left.close()
    with pytest.raises(Closed, match="closed"):
        left.send(b"late")
    with pytest.raises(Closed, match="closed by the peer"):
        right.send(b"late")
    assert await within(left.wait_closed()) == "closed"
    assert await within(right.wait_closed()) == "closed by the peer"
    assert there.messages == [b"last"]
    assert (here.ends, there.ends) == (["closed"], ["closed by the peer"])


async def test_both_sides_may_close_at_once() -> None:
    here, there = Collector(), Collector()
    left, right = pair(here, there)
    left.close()
    right.close()
    await within(asyncio.gather(left.wait_closed(), right.wait_closed()))
    assert (len(here.ends), len(there.ends)) == (1, 1)


async def test_a_side_that_does_not_read_is_a_slow_reader() -> None:
    here, there = Collector(), Collector()
    left, right = pair(here, there, Limits(queue_bytes=10, burst_bytes=20))
    right.pause_reading()
    left.send(b"x" * 15)
    with pytest.raises(Closed) as caught:
        left.send(b"x" * 15)
    assert caught.value.reason == SLOW_READER
    assert await here.end() == SLOW_READER
    assert await there.end() == "closed by the peer"
    assert there.messages == []


async def test_patience_with_a_side_that_does_not_read_ends() -> None:
    here, there = Collector(), Collector()
    left, right = pair(here, there, Limits(queue_bytes=10, patience_s=0.01))
    right.pause_reading()
    left.send(b"x" * 15)
    assert await here.end() == SLOW_READER


async def test_a_side_that_reads_again_gets_everything() -> None:
    here, there = Collector(), Collector()
    left, right = pair(here, there)
    right.pause_reading()
    left.send(b"1")
    right.send(b"meanwhile")
    await here.count(1)
    assert there.messages == []
    right.resume_reading()
    assert await there.count(1) == [b"1"]


async def test_a_side_paused_by_its_own_receiver_stops_in_the_middle() -> None:
    here = Collector()
    there = Collector(lambda _: right.pause_reading())
    left, right = pair(here, there)
    for _ in range(3):
        left.send(b"x")
    await there.count(1)
    right.send(b"meanwhile")
    await here.count(1)
    assert len(there.messages) == 1
    right.resume_reading()
    await there.count(2)


async def test_a_message_over_the_limit_ends_the_connection() -> None:
    here, there = Collector(), Collector()
    left, _ = pair(here, there, Limits(frame_bytes=10))
    left.send(b"x" * 10)
    left.send(b"x" * 11)
    assert await there.end() == "a message longer than 10 bytes"
    assert await here.end() == "closed by the peer"
    assert there.messages == [b"x" * 10]


async def test_many_messages_are_handed_on_in_portions() -> None:
    here, there = Collector(), Collector()
    left, _ = pair(here, there, Limits(turn_messages=10))
    for _ in range(25):
        left.send(b"x")
    seen = []
    for _ in range(3):
        await asyncio.sleep(0)
        seen.append(len(there.messages))
    assert seen == [10, 20, 25]
