"""One sink that follows a record that is a list."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from gatewright.audit.chain import GENESIS, seal
from gatewright.audit.sinks.follow import BATCH_BYTES, Follower, SinkRefused
from gatewright.audit.sinks.positions import Position
from tests.audit.parts import body, until
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


class Narrow(Fragile):
    """Takes so many bytes at once."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most
        self.largest = 0

    async def deliver(self, lines: Sequence[bytes]) -> None:
        """Refuse more."""
        size = sum(map(len, lines))
        self.largest = max(self.largest, size)
        if size > self.most:
            self.tries += 1
            raise SinkRefused("the endpoint answered HTTP 413")
        await super().deliver(lines)


def long_lines(count: int, size: int) -> list[tuple[int, bytes]]:
    """Recorded lines that callers made long, each of another length."""
    found = []
    for seq in range(1, count + 1):
        record = body(seq, method="m" * (size + seq), details={"access": "x" * 100, "reason": "no"})
        found.append((seq, seal(seq, [record], GENESIS)[0].removesuffix(b"\n")))
    return found


async def took(sink: Fragile, record: list[tuple[int, bytes]], place: Path) -> Follower:
    """Follow a record to its end, once."""
    follower = Follower("one", sink, Position(place))
    stopping = asyncio.Event()
    stopping.set()
    await follower.follow(lambda after, most: record[after : after + most], stopping)
    return follower


async def test_a_batch_is_bounded_in_bytes(tmp_path: Path) -> None:
    record, sink = long_lines(300, 3_000), Narrow(1 << 30)
    follower = await took(sink, record, tmp_path / "place.json")
    assert sink.got == [line for _, line in record]
    assert sink.largest <= BATCH_BYTES
    assert follower.taken == 300


async def test_a_sink_that_takes_less_at_once_gets_less_and_nothing_is_lost(tmp_path: Path) -> None:
    """Without a wait between: nothing of it depends on time."""
    record, sink = long_lines(300, 300), Narrow(4_000)
    follower = await took(sink, record, tmp_path / "place.json")
    assert sink.got == [line for _, line in record]
    assert (follower.taken, follower.problem, follower.shortened) == (300, None, 0)


async def test_one_record_that_is_too_long_comes_shortened_and_holds_up_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    record, sink = long_lines(40, 300), Narrow(4_000)
    record[19] = long_lines(20, 9_000)[-1]
    follower = await took(sink, record, tmp_path / "place.json")
    got = [msgspec.json.decode(line) for line in sink.got]
    assert [one["seq"] for one in got] == list(range(1, 41))
    assert [one["seq"] for one in got if "cut" in one["details"]] == [20]
    assert got[19]["details"] == {"reason": "no", "cut": True}
    assert got[19]["hash"] == msgspec.json.decode(record[19][1])["hash"], "of the whole record"
    assert (follower.taken, follower.problem, follower.shortened) == (40, None, 1)
    assert [one.getMessage().count("shortened") for one in caplog.records] == [1]


async def test_of_many_shortened_records_the_log_says_a_few_lines(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sink = Narrow(2_000)
    follower = await took(sink, long_lines(200, 9_000), tmp_path / "place.json")
    assert (follower.taken, follower.shortened, len(caplog.records)) == (200, 200, 8)


async def test_a_sink_that_refuses_everything_gets_no_record_taken_away(tmp_path: Path) -> None:
    """A wrong address answers so too: nothing counts as delivered, and the problem is seen."""
    sink = Narrow(0)
    follower = await took(sink, long_lines(600, 100), tmp_path / "place.json")
    assert (follower.taken, sink.got) == (0, [])
    assert follower.problem == "the endpoint answered HTTP 413"
    assert sink.tries < 15


async def test_a_sink_that_refuses_again_and_again_has_rests_between(tmp_path: Path) -> None:
    """A collector that is told off by its own limit is not asked nine times in a row."""
    at: list[float] = []

    class Timed(Narrow):
        async def deliver(self, lines: Sequence[bytes]) -> None:
            at.append(asyncio.get_running_loop().time())
            await super().deliver(lines)

    record, sink = long_lines(300, 300), Timed(1_000)
    follower = Follower("one", sink, Position(tmp_path / "place.json"))
    stopping = asyncio.Event()
    task = asyncio.create_task(
        follower.follow(lambda after, most: record[after : after + most], stopping)
    )
    await until(lambda: follower.taken > 0)
    refused = [later - before for before, later in itertools.pairwise(at)][:6]
    stopping.set()
    await task
    assert follower.taken == 300
    assert all(rest >= 0.045 * 2**number for number, rest in enumerate(refused[1:5])), refused
