"""One sink that follows a record that is a list."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from gatewright.audit.sinks.follow import Follower
from gatewright.audit.sinks.positions import Position
from tests.audit.parts import until
from tests.audit.sinks.parts import Fragile, lines

RECORD = list(enumerate(lines(1, 1_300), 1))


def read(after: int, most: int) -> Sequence[tuple[int, bytes]]:
    """The record."""
    return RECORD[after : after + most]


async def followed(follower: Follower) -> None:
    """Everything there is, once."""
    stopping = asyncio.Event()
    stopping.set()
    await follower.follow(read, stopping)


async def test_everything_arrives_in_order_and_the_place_is_remembered(tmp_path: Path) -> None:
    sink = Fragile()
    follower = Follower("one", sink, Position(tmp_path / "place.json"))
    await followed(follower)
    assert sink.got == [line for _, line in RECORD]
    assert (follower.taken, follower.delivered, sink.closed) == (1_300, 1_300, True)
    again = Fragile()
    await followed(Follower("one", again, Position(tmp_path / "place.json")))
    assert again.got == []


async def test_a_batch_that_fails_is_tried_again_and_nothing_is_lost(tmp_path: Path) -> None:
    sink = Fragile()
    sink.down = True
    follower = Follower("one", sink, Position(tmp_path / "place.json"))
    stopping = asyncio.Event()
    task = asyncio.create_task(follower.follow(read, stopping))
    await until(lambda: sink.tries >= 2)
    assert (follower.problem, follower.taken) == ("it is down", 0)
    sink.down = False
    await until(lambda: follower.taken == 1_300)
    stopping.set()
    await task
    assert follower.problem is None
    assert sink.got == [line for _, line in RECORD]


async def test_a_batch_whose_place_was_not_written_comes_once_more(tmp_path: Path) -> None:
    """At least once: a crash behind the delivery and before the place."""
    place = tmp_path / "place.json"
    await followed(Follower("one", Fragile(), Position(place)))
    place.write_bytes(b'{"taken":1000}')
    sink = Fragile()
    await followed(Follower("one", sink, Position(place)))
    assert sink.got == [line for _, line in RECORD[1_000:]]


@pytest.mark.parametrize("content", [b"", b"nonsense", b'{"taken":"x"}'])
async def test_a_place_that_cannot_be_read_means_everything_once_more(
    tmp_path: Path, content: bytes
) -> None:
    place = tmp_path / "place.json"
    place.write_bytes(content)
    assert Follower("one", Fragile(), Position(place)).taken == 0
